"""Runs three agents in parallel: one is cancelled while it starts, the daemon is killed, and nothing is lost or left."""

import asyncio
import os
import signal

from kennel_client import Kennel

# Stands for an agent such as ["claude", "-p", "…"]: it prints lines, and starts a process that outlives it.
AGENT = ["sh", "-c", 'setsid sleep 1000 & i=0; while :; do i=$((i+1)); echo "$0 says $i"; sleep 0.1; done']


async def work(kennel: Kennel, name: str, printed: "asyncio.Queue[str]") -> None:
    async with kennel.run([*AGENT, name], name=name) as session:  # leaving this block ends the whole process tree
        async for chunk in session.output(follow=True):
            print(chunk.text, end="", flush=True)
            printed.put_nowait(chunk.text)


async def main() -> None:
    printed: "asyncio.Queue[str]" = asyncio.Queue()
    async with Kennel.connect(program=os.environ.get("KENNEL_PROGRAM", "kennel")) as kennel:
        tasks = {name: asyncio.create_task(work(kennel, name, printed)) for name in ("anna", "bert", "carl")}
        while not await kennel.sessions(name="carl"):
            pass  # a session is recorded before its process exists
        tasks["carl"].cancel()  # during the start: its processes are ended before the task ends
        await printed.get()
        os.kill((await kennel.daemon())["pid"], signal.SIGKILL)  # the agents keep running
        while "anna says 9" not in await printed.get():  # and the output continues
            pass
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)  # returns when every process has ended
        print("sessions:", await kennel.sessions(), "strays:", (await kennel.strays())["strays"])


if __name__ == "__main__":
    asyncio.run(main())

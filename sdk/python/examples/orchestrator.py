"""Three agents at once; one is cancelled in mid-start, the daemon is killed, and nothing is left or lost."""

import asyncio
import os
import signal

from kennel_client import Kennel

# Stands for an agent, as ["claude", "-p", "…"]: it talks, and starts a server that outlives it.
AGENT = ["sh", "-c", 'setsid sleep 1000 & i=0; while :; do i=$((i+1)); echo "$0 says $i"; sleep 0.1; done']


async def work(kennel: Kennel, name: str, said: "asyncio.Queue[str]") -> None:
    async with kennel.run([*AGENT, name], name=name) as session:  # leaving this block stops the whole tree
        async for chunk in session.output(follow=True):
            print(chunk.text, end="", flush=True)
            said.put_nowait(chunk.text)


async def main() -> None:
    said: "asyncio.Queue[str]" = asyncio.Queue()
    async with Kennel.connect(program=os.environ.get("KENNEL_PROGRAM", "kennel")) as kennel:
        tasks = {name: asyncio.create_task(work(kennel, name, said)) for name in ("anna", "bert", "carl")}
        while not await kennel.sessions(name="carl"):
            pass  # it is on record before it exists
        tasks["carl"].cancel()  # in mid-start: what has come of it is ended, and then the cancel goes on
        await said.get()
        os.kill((await kennel.daemon())["pid"], signal.SIGKILL)  # the agents don't notice
        while "anna says 9" not in await said.get():  # nor does whoever follows them
            pass
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)  # comes when every tree is gone
        print("sessions:", await kennel.sessions(), "strays:", (await kennel.strays())["strays"])


if __name__ == "__main__":
    asyncio.run(main())

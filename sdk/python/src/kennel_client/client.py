"""The client: one daemon, and what can be asked of it."""

from __future__ import annotations

import os
import ssl as tls
import uuid
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, AsyncGenerator, List, Literal, Mapping, Sequence, Tuple, cast

from . import answer as answers
from . import events as log_of
from . import surroundings
from .address import SOCKET, Socket, Url, default_home
from .answer import Answer, Part
from .calls import Calls, Starter
from .errors import KennelError
from .events import Event
from .http import Request, path
from .plan import Plan, PlanBlock
from .session import Block, Session, live, numbers
from .start import Start
from .types import (
    DaemonView,
    MemberAnswer,
    Permissions,
    PlanSpec,
    PlanView,
    SessionPage,
    SessionView,
    StraysEnded,
    StraysView,
)

SESSIONS = "/v1/sessions"
ASK = "/v1/ask"

Until = Literal["accepted", "started", "ready"]


class Kennel:
    """A daemon, as an async context manager. Several tasks may use one at once."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._home_id: str | None = None

    @classmethod
    def connect(
        cls,
        *,
        home: str | os.PathLike[str] | None = None,
        url: str | None = None,
        token: str | None = None,
        ssl: tls.SSLContext | None = None,
        patience: float = 15.0,
        program: str | None = "kennel",
    ) -> Kennel:
        """The daemon of this home (`$KENNEL_HOME`, or that of the user), or the one at this address with this token.

        The daemon of a home is started by `program` if it does not run; None: it is not. A request that meets no
        daemon, or whose daemon dies over it, is made again for `patience` seconds, if it does no harm twice.
        """
        if url is not None:
            if home is not None:
                raise ValueError("either a home or a url")
            return cls(Calls(Url.parse(url, token, ssl), patience))
        folder = default_home() if home is None else Path(home).absolute()
        starter = Starter(program, folder) if program is not None else None
        return cls(Calls(Socket(folder / SOCKET), patience, starter))

    async def __aenter__(self) -> Kennel:
        self._home_id = (await self.daemon())["home_id"]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held: each request has its own connection, and each block its own session."""

    async def daemon(self) -> DaemonView:
        """The daemon itself."""
        return cast(DaemonView, await self._calls.get("/v1/daemon"))

    # Sessions

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        key: str | None = None,
        stdin: Literal["null", "pipe"] = "null",
        terminal: Tuple[int, int] | None = None,
        grace: float | None = None,
        timeout: float | None = None,
        until: Until = "started",
        spec: Mapping[str, Any] | None = None,
    ) -> Block:
        """A session for the length of an `async with`: leaving the block, in whatever way, stops it wholly.

        Folder and environment are ours if not given (at a `url`, the folder must be, and the environment is bare).
        `terminal` has columns and rows; times are in seconds; `spec` may have whatever else `CreateRequest` knows.
        Every request has a key: one that is repeated since a daemon died over it is the same session. A cancel
        while it starts ends what has come of it before it goes on.
        """
        request = self._command(argv, cwd, env, name, key, stdin, terminal, grace, timeout, spec)
        return Block(lambda: self._create(request, SESSIONS, until), grace)

    async def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        name: str | None = None,
        key: str | None = None,
        stdin: Literal["null", "pipe"] = "null",
        terminal: Tuple[int, int] | None = None,
        grace: float | None = None,
        timeout: float | None = None,
        until: Until = "started",
        spec: Mapping[str, Any] | None = None,
    ) -> Session:
        """The same without a block: it goes on until it ends by itself or is stopped, whatever becomes of us."""
        request = self._command(argv, cwd, env, name, key, stdin, terminal, grace, timeout, spec)
        return await self._create(request, SESSIONS, until)

    async def session(self, reference: str) -> Session:
        """The one with this id, this name, or with an id that begins so."""
        return Session(self._calls, cast(SessionView, await self._calls.get(path("v1", "sessions", reference))))

    async def sessions(
        self, *, all: bool = False, name: str | None = None, key: str | None = None, phase: str | None = None
    ) -> List[Session]:
        """Those that are not over, or all; those of this name, key or phase."""
        found: List[Session] = []
        after: str | None = None
        while True:
            page = cast(
                SessionPage,
                await self._calls.get(SESSIONS, all=all or None, name=name, key=key, phase=phase, after=after),
            )
            found += [Session(self._calls, view) for view in page["sessions"]]
            after = page.get("next")
            if after is None:
                return found

    # Prompts

    async def ask(
        self,
        prompt: str,
        *,
        agent: str | None = None,
        member: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        key: str | None = None,
        model: str | None = None,
        permissions: Permissions = "default",
        fresh: bool = False,
        conversation: str | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        queue: bool = False,
        check: bool = False,
        spec: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Asks an agent (`claude`, `codex`, …) or a member, and waits for the answer. A cancel stops the agent wholly.

        What became of it is in the answer's verdict; with `check`, all but a success is raised as `PromptFailed`.
        """
        request = self._prompt(
            prompt, agent, member, cwd, env, key, model, permissions, fresh, conversation, retries, timeout, queue, spec
        )
        async with Block(lambda: self._create(request, ASK), None) as session:
            place = path("v1", "sessions", session.id, "answer")
            answer = Answer.of(await self._calls.get(place, wait=True))
        return answer.check() if check else answer

    async def ask_stream(
        self,
        prompt: str,
        *,
        agent: str | None = None,
        member: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        key: str | None = None,
        model: str | None = None,
        permissions: Permissions = "default",
        fresh: bool = False,
        conversation: str | None = None,
        retries: int | None = None,
        timeout: float | None = None,
        queue: bool = False,
        spec: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Part, None]:
        """The same as it comes: what the agent says and does, and as the last part what became of it.

        Closing the iterator before its end (`contextlib.aclosing`) stops the agent wholly.
        """
        request = self._prompt(
            prompt, agent, member, cwd, env, key, model, permissions, fresh, conversation, retries, timeout, queue, spec
        )
        async with Block(lambda: self._create(request, ASK), None) as session:
            place = path("v1", "sessions", session.id, "answer")
            async with aclosing(answers.parts(self._calls, place)) as parts:
                async for part in parts:
                    yield part

    # Members

    async def members(self) -> List[MemberAnswer]:
        """All members: named seats, which keep their conversation."""
        return cast(List[MemberAnswer], await self._calls.get("/v1/members"))

    async def member(self, name: str) -> MemberAnswer:
        """This one."""
        return cast(MemberAnswer, await self._calls.get(path("v1", "members", name)))

    async def add_member(
        self,
        name: str,
        *,
        agent: str,
        cwd: str | os.PathLike[str] | None = None,
        model: str | None = None,
        permissions: Permissions = "default",
        args: Sequence[str] = (),
    ) -> MemberAnswer:
        """Adds one."""
        seat = {"agent": agent, "model": model, "permissions": permissions, "args": list(args)}
        member = {"name": name, "seat": seat, "cwd": self._folder(cwd)}
        return cast(MemberAnswer, await self._calls.post("/v1/members", member))

    async def remove_member(self, name: str) -> None:
        """Removes one."""
        await self._calls.delete(path("v1", "members", name))

    # Plans

    def run_plan(
        self,
        spec: PlanSpec,
        *,
        inputs: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> PlanBlock:
        """Runs a plan for the length of an `async with`: leaving the block cancels what is left of it."""
        body = {**self._surroundings(cwd, env, None), "spec": spec, "inputs": dict(inputs or {})}
        body["by"] = surroundings.asked_by()

        async def end(made: object) -> None:
            if made is not None:
                await Plan(self._calls, cast(PlanView, made)).cancel()

        async def start() -> Plan:
            request = Request("POST", "/v1/plans", body=body)
            # Without a key, so it is never asked for twice.
            made = await Start(self._calls, request, again=False, end=end).run()
            return Plan(self._calls, cast(PlanView, made))

        return PlanBlock(start)

    async def plans(self) -> List[Plan]:
        """All plans."""
        return [Plan(self._calls, view) for view in cast(List[PlanView], await self._calls.get("/v1/plans"))]

    async def plan(self, reference: str) -> Plan:
        """This one."""
        return Plan(self._calls, cast(PlanView, await self._calls.get(path("v1", "plans", reference))))

    # What has happened, and what is left

    def events(
        self,
        *,
        since: int | None = None,
        session: str | None = None,
        kinds: Sequence[str] = (),
        follow: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """What has happened after that event (None: what is kept), and what happens, without end.

        Over the death of a daemon, none is lost and none comes twice; those that are not kept any more are told as
        one of kind `missed`.
        """
        query = {"since": since, "session": session, "kind": log_of.kinds(kinds)}
        return log_of.following(self._calls, query) if follow else log_of.so_far(self._calls, query)

    async def strays(self) -> StraysView:
        """Processes that belong to no live session."""
        return cast(StraysView, await self._calls.get("/v1/strays"))

    async def end_strays(self) -> StraysEnded:
        """Ends them."""
        return cast(StraysEnded, await self._calls.post("/v1/strays/end", again=True))

    # How requests are made

    async def _create(self, request: Mapping[str, Any], place: str, until: Until | None = None) -> Session:
        key = request["key"]
        parent = surroundings.parent(self._home_id) if self._home_id is not None else None
        body = {**request, "parent": request.get("parent", parent)}

        mine = body.get("asked_by", body.get("by"))

        def ours(session: Session) -> bool:
            # Another one may have been first with the same key: it is not ours to end.
            return session.view["spec"]["asked_by"] == mine

        async def end(made: object) -> None:
            found = await self.sessions(key=key)
            if made is not None:
                found.append(Session(self._calls, cast(SessionView, made)))
            for session in found:
                if ours(session) and (made is not None or live([session.view])):
                    await session.stop()

        start = Start(self._calls, Request("POST", place, {"until": until}, body), again=True, end=end)
        session = Session(self._calls, cast(SessionView, await start.run()))
        session.ours = ours(session)
        return session

    def _command(
        self,
        argv: Sequence[str],
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        name: str | None,
        key: str | None,
        stdin: str,
        terminal: Tuple[int, int] | None,
        grace: float | None,
        timeout: float | None,
        spec: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        if isinstance(argv, str):
            raise TypeError("argv is a list of words, not a line")
        size = {"terminal": {"columns": terminal[0], "rows": terminal[1]}} if terminal else {"stdin": stdin}
        return {
            **self._surroundings(cwd, env, name),
            **self._wishes(name, key, {"grace": grace, "timeout": timeout}),
            "asked_by": surroundings.asked_by(),
            "argv": [surroundings.text(os.fspath(word)) for word in argv],
            **size,
            **(spec or {}),
        }

    def _prompt(
        self,
        prompt: str,
        agent: str | None,
        member: str | None,
        cwd: str | os.PathLike[str] | None,
        env: Mapping[str, str] | None,
        key: str | None,
        model: str | None,
        permissions: Permissions,
        fresh: bool,
        conversation: str | None,
        retries: int | None,
        timeout: float | None,
        queue: bool,
        spec: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        if (agent is None) == (member is None):
            raise ValueError("either an agent or a member is asked")
        wishes = {
            "agent": agent,
            "member": member,
            "model": model,
            "permissions": permissions,
            "fresh": fresh,
            "resume": conversation,
            "retries": retries,
            "queue": queue,
            # It is stopped by whoever leaves the block, and goes on if only a connection is lost.
            "detach": True,
        }
        around = self._surroundings(cwd, env, None) if member is None or cwd is not None else self._around(env, None)
        # An agent's limits are not asked for.
        around.pop("limits", None)
        return {
            **around,
            **self._wishes(None, key, {"timeout": timeout}),
            "by": surroundings.asked_by(),
            "prompt": prompt,
            **{name: value for name, value in wishes.items() if value is not None},
            **(spec or {}),
        }

    def _wishes(self, name: str | None, key: str | None, times: Mapping[str, float | None]) -> dict[str, Any]:
        # A key of our own: a repeated request is the same session, and one that is cancelled is found by it.
        key = f"kennel_client-{uuid.uuid4()}" if key is None else key
        return {"key": key, **({"name": name} if name else {}), **numbers(times)}

    def _surroundings(
        self, cwd: str | os.PathLike[str] | None, env: Mapping[str, str] | None, name: str | None
    ) -> dict[str, Any]:
        return {"cwd": surroundings.text(self._folder(cwd)), **self._around(env, name)}

    def _around(self, env: Mapping[str, str] | None, name: str | None) -> dict[str, Any]:
        """All but the folder."""
        if not self._calls.address.local:
            return {} if env is None else {"env": surroundings.environment(env, name)}
        return {
            "env": surroundings.environment(env, name),
            "umask": surroundings.umask(),
            "limits": surroundings.limits(),
        }

    def _folder(self, cwd: str | os.PathLike[str] | None) -> str:
        if self._calls.address.local:
            return os.path.abspath(os.getcwd() if cwd is None else cwd)
        if cwd is None:
            raise KennelError("at a url, cwd must be given: our own folder need not be there")
        return os.fspath(cwd)


__all__ = ["Kennel"]

"""The client."""

from __future__ import annotations

import os
import ssl as tls
import uuid
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, AsyncGenerator, List, Literal, Mapping, Sequence, Tuple, cast

from . import answer as answers
from . import events as event_log
from . import client_environment
from .address import SOCKET, Socket, Url, default_home
from .answer import Answer, Part
from .api import ApiClient, DaemonStarter
from .errors import KennelError
from .events import Event
from .http import Request, path
from .plan import Plan, PlanBlock
from .session import SessionBlock, Session, is_live, milliseconds
from .start import CancellableStart
from .types import (
    DaemonView,
    MemberView,
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
    """A connection to a daemon, as an async context manager. Several tasks may share it."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self._home_id: str | None = None

    @classmethod
    def connect(
        cls,
        *,
        home: str | os.PathLike[str] | None = None,
        url: str | None = None,
        token: str | None = None,
        ssl: tls.SSLContext | None = None,
        reconnect_timeout: float = 15.0,
        program: str | None = "kennel",
    ) -> Kennel:
        """Connects to the daemon of a home (default: `$KENNEL_HOME`, or the user's), or to a `url` with a `token`.

        If the daemon of a home is not running, `program` starts it; with None it is not started. When the daemon is
        down, requests that are safe to repeat are repeated for `reconnect_timeout` seconds.
        """
        if url is not None:
            if home is not None:
                raise ValueError("`home` and `url` are mutually exclusive")
            return cls(ApiClient(Url.parse(url, token, ssl), reconnect_timeout))
        folder = default_home() if home is None else Path(home).absolute()
        starter = DaemonStarter(program, folder) if program is not None else None
        return cls(ApiClient(Socket(folder / SOCKET), reconnect_timeout, starter))

    async def __aenter__(self) -> Kennel:
        self._home_id = (await self.daemon())["home_id"]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Does nothing: each request has its own connection, and each block stops its own session."""

    async def daemon(self) -> DaemonView:
        """Returns the state of the daemon."""
        return cast(DaemonView, await self._api.get("/v1/daemon"))

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
    ) -> SessionBlock:
        """Runs a session for the duration of an `async with` block. Leaving the block in any way stops it.

        The working directory and environment default to this process's (with a `url`, `cwd` is required, and the environment
        contains only a default `PATH`). `terminal` is (columns, rows); times are in seconds; `spec` takes any other field of
        `CreateRequest`. Every request has an idempotency key, so that a repeated request returns the same session.
        If it is cancelled during the start, its processes are ended before `CancelledError` is raised.
        """
        request = self._command(argv, cwd, env, name, key, stdin, terminal, grace, timeout, spec)
        return SessionBlock(lambda: self._create(request, SESSIONS, until), grace)

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
        """Starts a session without a block: it runs until it ends or is stopped, even if this program exits."""
        request = self._command(argv, cwd, env, name, key, stdin, terminal, grace, timeout, spec)
        return await self._create(request, SESSIONS, until)

    async def session(self, reference: str) -> Session:
        """Returns the session with this id, id prefix or name."""
        return Session(self._api, cast(SessionView, await self._api.get(path("v1", "sessions", reference))))

    async def sessions(
        self, *, all: bool = False, name: str | None = None, key: str | None = None, phase: str | None = None
    ) -> List[Session]:
        """Lists live sessions, or all; filtered by name, key or phase."""
        found: List[Session] = []
        after: str | None = None
        while True:
            page = cast(
                SessionPage,
                await self._api.get(SESSIONS, all=all or None, name=name, key=key, phase=phase, after=after),
            )
            found += [Session(self._api, view) for view in page["sessions"]]
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
        """Sends a prompt to an agent (`claude`, `codex`, …) or a member, and waits for the answer.

        Cancelling it stops the agent with every process it started. The answer's verdict shows how it ended; with
        `check`, everything but success raises `PromptFailed`.
        """
        request = self._prompt(
            prompt, agent, member, cwd, env, key, model, permissions, fresh, conversation, retries, timeout, queue, spec
        )
        async with SessionBlock(lambda: self._create(request, ASK), None) as session:
            answer_path = path("v1", "sessions", session.id, "answer")
            answer = Answer.of(await self._api.get(answer_path, wait=True))
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
        """Sends a prompt and yields the steps of the agent; the last one is the verdict.

        Closing the iterator early (`contextlib.aclosing`) stops the agent with every process it started.
        """
        request = self._prompt(
            prompt, agent, member, cwd, env, key, model, permissions, fresh, conversation, retries, timeout, queue, spec
        )
        async with SessionBlock(lambda: self._create(request, ASK), None) as session:
            answer_path = path("v1", "sessions", session.id, "answer")
            async with aclosing(answers.parts(self._api, answer_path)) as parts:
                async for part in parts:
                    yield part

    # Members

    async def members(self) -> List[MemberView]:
        """Lists the members: saved agents that keep their conversation."""
        return cast(List[MemberView], await self._api.get("/v1/members"))

    async def member(self, name: str) -> MemberView:
        """Returns a member."""
        return cast(MemberView, await self._api.get(path("v1", "members", name)))

    async def add_member(
        self,
        name: str,
        *,
        agent: str,
        cwd: str | os.PathLike[str] | None = None,
        model: str | None = None,
        permissions: Permissions = "default",
        args: Sequence[str] = (),
    ) -> MemberView:
        """Adds a member."""
        settings = {"agent": agent, "model": model, "permissions": permissions, "args": list(args)}
        member = {"name": name, "settings": settings, "cwd": self._folder(cwd)}
        return cast(MemberView, await self._api.post("/v1/members", member))

    async def remove_member(self, name: str) -> None:
        """Removes a member."""
        await self._api.delete(path("v1", "members", name))

    # Plans

    def run_plan(
        self,
        spec: PlanSpec,
        *,
        inputs: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> PlanBlock:
        """Runs a plan for the duration of an `async with` block. Leaving the block cancels the plan."""
        body = {**self._process_context(cwd, env, None), "spec": spec, "inputs": dict(inputs or {})}
        body["by"] = client_environment.asked_by()

        async def end(made: object) -> None:
            if made is not None:
                await Plan(self._api, cast(PlanView, made)).cancel()

        async def start() -> Plan:
            request = Request("POST", "/v1/plans", body=body)
            # The request has no key, so it must not be repeated.
            made = await CancellableStart(self._api, request, repeatable=False, end=end).run()
            return Plan(self._api, cast(PlanView, made))

        return PlanBlock(start)

    async def plans(self) -> List[Plan]:
        """Lists the plans."""
        return [Plan(self._api, view) for view in cast(List[PlanView], await self._api.get("/v1/plans"))]

    async def plan(self, reference: str) -> Plan:
        """Returns a plan."""
        return Plan(self._api, cast(PlanView, await self._api.get(path("v1", "plans", reference))))

    # Events and strays

    def events(
        self,
        *,
        since: int | None = None,
        session: str | None = None,
        kinds: Sequence[str] = (),
        follow: bool = True,
    ) -> AsyncGenerator[Event, None]:
        """Yields recorded events after `since` (default: all), and with `follow` new ones without end.

        Across daemon crashes no event is lost or repeated. An event of kind `missed` reports events that are no
        longer recorded.
        """
        query = {"since": since, "session": session, "kind": event_log.kinds(kinds)}
        return event_log.following(self._api, query) if follow else event_log.recorded(self._api, query)

    async def strays(self) -> StraysView:
        """Finds processes that belong to no live session."""
        return cast(StraysView, await self._api.get("/v1/strays"))

    async def end_strays(self) -> StraysEnded:
        """Ends all strays."""
        return cast(StraysEnded, await self._api.post("/v1/strays/end", repeatable=True))

    # Requests

    async def _create(self, request: Mapping[str, Any], endpoint: str, until: Until | None = None) -> Session:
        key = request["key"]
        parent = client_environment.parent(self._home_id) if self._home_id is not None else None
        body = {**request, "parent": request.get("parent", parent)}

        actor = body.get("asked_by", body.get("by"))

        def is_ours(session: Session) -> bool:
            # Another request may have created it with the same key. Then this one must not stop it.
            return session.view["spec"]["asked_by"] == actor

        async def end(made: object) -> None:
            found = await self.sessions(key=key)
            if made is not None:
                found.append(Session(self._api, cast(SessionView, made)))
            for session in found:
                if is_ours(session) and (made is not None or is_live(session.view)):
                    await session.stop()

        start = CancellableStart(self._api, Request("POST", endpoint, {"until": until}, body), repeatable=True, end=end)
        session = Session(self._api, cast(SessionView, await start.run()))
        session.created_by_request = is_ours(session)
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
            raise TypeError("argv must be a list of words, not a string")
        size = {"terminal": {"columns": terminal[0], "rows": terminal[1]}} if terminal else {"stdin": stdin}
        return {
            **self._process_context(cwd, env, name),
            **self._common(name, key, {"grace": grace, "timeout": timeout}),
            "asked_by": client_environment.asked_by(),
            "argv": [client_environment.text(os.fspath(word)) for word in argv],
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
            raise ValueError("pass either `agent` or `member`")
        options = {
            "agent": agent,
            "member": member,
            "model": model,
            "permissions": permissions,
            "fresh": fresh,
            "resume": conversation,
            "retries": retries,
            "queue": queue,
            # The block stops the prompt; a lost connection must not.
            "detach": True,
        }
        context = self._process_context(cwd, env, None) if member is None or cwd is not None else self._environment(env, None)
        # A prompt has no resource limits of the client.
        context.pop("limits", None)
        return {
            **context,
            **self._common(None, key, {"timeout": timeout}),
            "by": client_environment.asked_by(),
            "prompt": prompt,
            **{name: value for name, value in options.items() if value is not None},
            **(spec or {}),
        }

    def _common(self, name: str | None, key: str | None, times: Mapping[str, float | None]) -> dict[str, Any]:
        # A generated key: a repeated request returns the same session, and a cancelled one is found by its key.
        key = f"kennel_client-{uuid.uuid4()}" if key is None else key
        return {"key": key, **({"name": name} if name else {}), **milliseconds(times)}

    def _process_context(
        self, cwd: str | os.PathLike[str] | None, env: Mapping[str, str] | None, name: str | None
    ) -> dict[str, Any]:
        return {"cwd": client_environment.text(self._folder(cwd)), **self._environment(env, name)}

    def _environment(self, env: Mapping[str, str] | None, name: str | None) -> dict[str, Any]:
        """Returns everything but the working directory."""
        if not self._api.address.local:
            return {} if env is None else {"env": client_environment.environment(env, name)}
        return {
            "env": client_environment.environment(env, name),
            "umask": client_environment.umask(),
            "limits": client_environment.limits(),
        }

    def _folder(self, cwd: str | os.PathLike[str] | None) -> str:
        if self._api.address.local:
            return os.path.abspath(os.getcwd() if cwd is None else cwd)
        if cwd is None:
            raise KennelError("cwd is required with a url")
        return os.fspath(cwd)


__all__ = ["Kennel"]

"""What the API sends and takes. Made from its description by `tools/generate_types.py`: not to be edited."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Tuple, TypedDict, Union


class AdoptAnswer(TypedDict):
    """What it can report with, as an agent that Kennel has started can."""
    session: SessionView
    """The session that follows it."""
    socket: str
    """The daemon's socket."""
    token: LaunchToken
    """The secret for its reports."""
    token_file: str
    """A file with the same, which only its owner can read."""


class _AdoptRequestRequired(TypedDict):
    pid: int
    """Its pid."""


class AdoptRequest(_AdoptRequestRequired, total=False):
    """A process that a user started, to be followed as a session."""
    by: str
    """Who asks, for the event log."""
    identity: str | None
    """Which process exactly, for those who have seen to it that the pid is nobody else's: as `boot namespace pid
    inode|tick number`. Without it whoever has the pid now is meant."""
    name: str | None
    """A name for people."""
    title: Title | None
    """What it is about."""


class _AgentSpecRequired(TypedDict):
    seat: Seat
    """Who is asked, and how."""


class AgentSpec(_AgentSpecRequired, total=False):
    """A prompt to an agent, or a person's chat with it. The prompt itself is not here: like the environment it goes
    by memory, and is on no record."""
    conversation: str | None
    """The conversation that this launch goes on with: what was made of the wish. None: it begins a new one."""
    interactive: bool
    """Whether it is no prompt: the agent is started on a terminal, for a person to talk to. It is not judged."""
    member: str | None
    """The member that is asked, if one is."""
    plan: PlanSeat | None
    """The plan that it is a part of, if it is."""
    prompt_sum: str
    """A sum of the prompt, by which the same request is known again."""
    replay: bool
    """Whether an attempt that did work, or may have, is tried again as well."""
    retries: int
    """How often it may be tried again by itself, if the provider is to blame."""
    retry_within_ms: int | None
    """How long it may take in all before no further try is begun, in milliseconds; none: for ever."""
    tied: bool
    """Whether it ends if whoever asked goes without a word: they wait for it, tied."""
    wish: Wish
    """Which conversation it belongs to, as it was asked."""


class AnswerView(TypedDict):
    """A prompt that is over. Field names are stable: added to, never changed."""
    agent: str
    """The agent."""
    answer: str | None
    """What it answered."""
    attempts: int
    """How many attempts there were."""
    conversation: str | None
    """The conversation that it belongs to."""
    evidence: str
    """By what that is known."""
    exit: Exit | None
    """How its process ended."""
    member: str | None
    """The member that was asked, if one was."""
    owed: List[Owed]
    """What of it could not be removed so far."""
    reason: Reason | None
    """Why it ended."""
    session: str
    """The session."""
    source: EvidenceSource
    """Where that was seen."""
    tools: int
    """How many tools it ran."""
    turns: int | None
    """How many turns it took, if it told."""
    usage: Usage
    """What it has used up; what it cost is in there."""
    verdict: VerdictKind
    """What became of it."""


class _AskRequestRequired(TypedDict):
    prompt: str
    """What is asked. Never written down."""


class AskRequest(_AskRequestRequired, total=False):
    """A prompt to a member, or to an agent."""
    agent: str | None
    """Which agent is asked, if no member is: `claude`, `codex`, `gemini`, `opencode`, or one that is described."""
    args: List[str]
    """Further arguments, as they are."""
    by: str
    """Who asks, for the event log."""
    cpu: int | None
    """The most CPU of its pen, in thousandths of a core."""
    cwd: Text | None
    """The folder it works in: absolute; a member's own if none."""
    description: str | None
    """The description of an agent that Kennel has no code for, as TOML."""
    detach: bool
    """Whether it goes on if whoever asks goes before it is answered."""
    env: Environment
    """As in `CreateRequest`."""
    fresh: bool
    """In a new conversation."""
    grace_ms: int | None
    """How long a stop waits before KILL."""
    key: str | None
    """The same key twice is the same prompt."""
    member: str | None
    """Which member is asked. It has its own folder, agent, model, turns, permissions and arguments."""
    memory: int | None
    """The most memory of its pen, in bytes."""
    model: str | None
    """Which model; the agent's own choice if none."""
    name: str | None
    """A name for people."""
    parent: SessionId | None
    """The session that asks, if one does."""
    pen: PenKind
    """Which pen."""
    permissions: Permissions
    """What it may do without asking."""
    pids: int | None
    """The most processes and threads of its pen."""
    queue: bool
    """Whether it waits in line if the member is busy or there is no room."""
    replay: bool
    """Whether an attempt that did work, or may have, is tried again as well."""
    resume: str | None
    """In this conversation, and no other."""
    retries: int | None
    """How often it may be tried again by itself, if the provider is to blame; 3 if not given."""
    retry_within_ms: int | None
    """How long it may take in all before no further try is begun; ten minutes if not given, 0: for ever."""
    timeout_ms: int | None
    """How long an attempt may take, awake; none: for ever."""
    turns: int | None
    """How many turns it may take; the agent's own choice if none."""
    umask: int
    """The client's umask."""
    worktree: str | None
    """A worktree that is made for it, on this branch; `""`: on one of its own."""


class ByRequest(TypedDict, total=False):
    """Who does it, for the event log."""
    by: str
    """Who."""


class _CheckViewRequired(TypedDict):
    name: str
    """Its name: stable."""
    passed: bool
    """Whether it is passed."""


class CheckView(_CheckViewRequired, total=False):
    """A check."""
    why: str | None
    """Why not, if not, for people."""


class CommitView(TypedDict):
    """A commit."""
    id: str
    """Its id."""
    subject: str
    """The first line of its message."""


class _CreateRequestRequired(TypedDict):
    cwd: Text
    """The folder to start in, exactly."""


class CreateRequest(_CreateRequestRequired, total=False):
    """A new session. All fields of the spec stand beside the others; what is left out is as on the command line."""
    agent: AgentSpec | None
    """Set if it is a prompt to an agent, or a chat: Kennel makes the command then, and judges what came of a
    prompt."""
    argv: List[Text]
    """The command, exactly."""
    asked_by: str
    """Who asked: a user, a program; for the event log."""
    best_effort: bool
    """Whether it runs without those limits where they can't be set."""
    cpu: int | None
    """The most CPU of its pen, in thousandths of a core."""
    env: Environment
    """Its environment, exactly: all of it but for Kennel's own cookie. Never written down. If it is left out, a
    `PATH` for the programs of the system is all of it."""
    grace_ms: int
    """How long a stop waits between TERM and KILL."""
    idle_ms: int | None
    """How long it may do nothing; none: for ever."""
    key: str | None
    """The same key twice is the same session."""
    lease_ms: int | None
    """How long it goes on without a daemon; none: for ever."""
    limits: List[Tuple[int, int, int]]
    """The client's limits: resource, soft, hard."""
    linger_ms: int
    """How long what it leaves behind may go on after its exit."""
    memory: int | None
    """The most memory of its pen, in bytes."""
    name: str | None
    """A name for people."""
    outlives_parent: bool
    """Whether it goes on when its parent has ended."""
    output_limit: int
    """The most bytes of output kept on disk: 128 KiB or more, which is what a journal needs."""
    parent: SessionId | None
    """The session that started this one."""
    pen: PenKind
    """Which pen."""
    pids: int | None
    """The most processes and threads of its pen."""
    prompt: str | None
    """What the agent is asked, if `agent` is set: then there is neither `argv` nor `stdin`. Never written down."""
    queue: bool
    """Whether it waits in line if it may not start at once."""
    ready: Readiness
    """By what it is known to be up."""
    ready_timeout_ms: int | None
    """How long it may take to be ready; none: for ever."""
    restart: RestartInput
    """Whether it is launched again when it fails."""
    restart_unknown: bool
    """Whether that goes for a launch whose end nobody knows too: it may have run."""
    silence_ms: int | None
    """How long it may print nothing; none: for ever."""
    stderr_apart: bool
    """Whether standard error is apart from the terminal."""
    stdin: StdinFrom
    """Where standard input comes from, if there is no terminal."""
    stop_signal: int | None
    """The signal that asks it to end, if it is not TERM."""
    terminal: Terminal | None
    """Set if it gets a terminal of its own."""
    terminal_settings: TerminalSettings | None
    """The settings of the client's terminal."""
    tethered: bool
    """Whether it ends when the client that started it goes without a word."""
    timeout_ms: int | None
    """How long it may take in all, awake; none: for ever."""
    umask: int
    """The client's umask."""
    worktree: WorktreeSpecInput | None
    """A worktree that is made for it."""


class DaemonView(TypedDict):
    """The daemon."""
    environment: Dict[str, str]
    """Where things are, for the `env` of requests: what it has of the environment of whoever started it (`PATH`,
    `HOME`, `LANG`, …). Nothing secret."""
    home: str
    """The home."""
    home_id: str
    """Its id."""
    listen: ListenView | None
    """The API over TCP, if it was asked for."""
    live: int
    """Sessions that are not cleaned."""
    pid: int
    """Its pid."""
    settings: SettingsView | None
    """What it was started with; none from an older version."""
    started_at: str
    """When it started."""
    total: int
    """All that are on record."""
    version: str
    """The program's version."""
    yard_pid: int | None
    """The yard's."""


class EndStraysRequest(TypedDict, total=False):
    """Which strays shall be ended."""
    only: List[StrayRef] | None
    """Only these, as they were shown: whoever has become one meanwhile is left alone. None: all there are."""


class EventView(TypedDict):
    """An entry of the event log."""
    by: str | None
    """Who asked."""
    cause: str
    """Why, or by what."""
    kind: str
    """What: `reserved`, `launching`, …, `wanted_stopped`, `daemon_started`, …"""
    seq: int
    """Its number: without gaps, growing."""
    session: str | None
    """Which session; none for the daemon itself."""
    time: str
    """When: RFC 3339."""


class ExitCode(TypedDict):
    """It exited with this code."""
    code: int
    """The code."""
    kind: Literal['code']


class ExitSignal(TypedDict):
    """A signal ended it."""
    core: bool
    """Whether a core was dumped."""
    kind: Literal['signal']
    oom: bool
    """Whether it was the OOM killer."""
    signal: int
    """Its number."""


class ExitNeverRan(TypedDict):
    """It never ran."""
    kind: Literal['never_ran']


class ExitUnknown(TypedDict):
    """Nobody can tell any more; it may have run."""
    kind: Literal['unknown']
    why: str
    """Why."""


class InputRequest(TypedDict, total=False):
    """Input."""
    eof: bool
    """Whether that is the end of it."""
    hex: str
    """The bytes, in hex."""


class InputSpec(TypedDict, total=False):
    """Something that whoever runs a plan says."""
    about: str | None
    """What it is, for people."""
    default: str | None
    """What it is if nobody says; none: somebody must."""


class InspectView(TypedDict):
    """Everything about a session."""
    keeper_pid: int | None
    """The keeper's pid, while there is one."""
    launch: LaunchView
    """Its launch."""
    launches: List[SessionView]
    """All launches of the session, the first one first."""
    members: List[MemberView]
    """Who is in its pen."""
    session: SessionView
    """The session."""
    timeline: List[EventView]
    """What happened to it."""
    trouble: List[str]
    """What could not be found out, and why."""
    usage: UsageView | None
    """What it uses, while it lives."""


class _JudgedRequired(TypedDict):
    verdict: Verdict
    """What became of it."""
    work: Work
    """Whether it did something."""


class Judged(_JudgedRequired, total=False):
    """How an attempt at a prompt was judged. The answer itself is in its output."""
    conversation: str | None
    """The conversation that it was, as the agent calls it."""
    tools: int
    """How many tools it ran."""
    turns: int | None
    """How many turns it took, if it told."""
    usage: Usage
    """What it has used up."""


class Kept(TypedDict):
    """Something that was made for a session, and outlives it."""
    what: OwedKind
    """What."""
    why: str
    """What of value is in it."""


class LaunchView(TypedDict):
    """A launch, in `inspect`."""
    granted: bool
    """Whether its gate was told to open."""
    identity: str | None
    """The identity of its process."""


class LinkRequest(TypedDict, total=False):
    """A link by which a browser gets in, once."""
    scope: Scope
    """What the browser may do."""


class LinkView(TypedDict):
    """The link."""
    url: str
    """It has a secret in it."""
    valid_s: int
    """For how many seconds it is good."""


class ListenRequest(TypedDict, total=False):
    """Have the API over TCP."""
    listen: str | None
    """Where: address and port, 0 for any. As configured, else at loopback, if not given."""


class ListenView(TypedDict):
    """The API over TCP."""
    address: str
    """Address and port; the port that was found, if none was named."""
    state: ListenState
    """Whether it is there."""
    url: str
    """The same as a browser takes it."""
    why: str | None
    """Why it is not there."""


class LossesView(TypedDict):
    """What would be lost with a worktree, or was."""
    changed: List[str]
    """The first few of them."""
    changes: int
    """How many files have changes that are not committed, at least."""
    commits: int
    """How many commits are on no other branch."""
    newest: List[CommitView]
    """The newest of them."""
    unknown: str | None
    """Set if it can't be told what is in it: why. Then there may be anything."""
    why: List[str]
    """Everything, each in a sentence with its figure; empty: nothing."""


class MeView(TypedDict):
    """Who asks, and whom."""
    home: str
    """The folder of the home."""
    host: str
    """The machine's name."""
    name: str | None
    """How your token, or browser, is called; at the socket it has no name."""
    scope: Scope
    """What you may do."""
    version: str
    """The daemon's version."""
    via: WayIn
    """How you got in."""


class MemberAnswer(TypedDict):
    """A member, as programs are shown it. Field names are stable: added to, never changed."""
    attempts: int
    """How many attempts at prompts were judged."""
    busy_since: str | None
    """Since when."""
    busy_with: str | None
    """The session of the prompt that it works on."""
    conversation: str | None
    """The conversation that it had last."""
    created_at: str
    """When it was added."""
    cwd: str
    """The folder that it works in."""
    last_at: str | None
    """When: RFC 3339."""
    last_session: str | None
    """Which session that was."""
    last_verdict: VerdictKind | None
    """What became of the last one."""
    name: str
    """Its name."""
    seat: Seat
    """Who sits there."""
    usage: Usage
    """What it has used up so far."""
    waiting: int
    """How many prompts wait for it in line."""


class MemberView(TypedDict):
    """A process of a session, in `inspect`."""
    command: str
    """Its command line."""
    name: str
    """Its program's short name."""
    parent: int
    """Its parent's."""
    pid: int
    """Its pid."""
    state: str
    """The kernel's state letter."""


class NewMember(TypedDict):
    """A new member."""
    cwd: str
    """The folder that it works in."""
    name: str
    """Its name."""
    seat: Seat
    """Who sits there."""


class NewToken(TypedDict, total=False):
    """A token that is wanted."""
    name: str | None
    """Its name; one is made up if not given."""
    scope: Scope
    """What it is to be good for."""


class Owed(TypedDict):
    """Something that must be removed once the tree is gone. Recorded before it is made."""
    failures: int
    """How often its removal has failed."""
    what: OwedKind
    """What."""
    why: str | None
    """The last failure."""


class OwedKindRuntimeFiles(TypedDict):
    """The keeper's socket, lock and identity file in the session's folder."""
    kind: Literal['runtime_files']


class OwedKindPenFolder(TypedDict):
    """The folder of the pen, if its keeper could not remove it."""
    kind: Literal['pen_folder']
    path: str
    """Its path."""


class OwedKindWorktree(TypedDict):
    """A worktree of a git repository, and its branch."""
    branch: str
    """Its branch."""
    kind: Literal['worktree']
    path: str
    """Where the worktree is."""
    record: str | None
    """What is needed to make and remove it, in the words of those who do."""
    repo: str
    """The repository."""


class _PlanAgentRequired(TypedDict):
    name: Name
    """What it is called in its stage."""
    prompt: Prompt
    """What it is asked."""
    who: Who
    """Who is asked."""


class PlanAgent(_PlanAgentRequired, total=False):
    """One prompt to one agent."""
    args: List[str]
    """Further arguments, as they are."""
    cwd: str | None
    """The folder it works in; none: that in which the plan is run, or the member's."""
    model: str | None
    """Which model; the agent's own choice if none."""
    on_failure: OnFailure | None
    """What its failure means; none: whatever its stage says, see `StageSpec::on_failure`."""
    permissions: Permissions | None
    """What it may do without asking; none: as the member has it, or its own settings say."""
    retries: int | None
    """How often it may be tried again by itself; none: as often as any prompt."""
    timeout_ms: int | None
    """How long it may take; none: for ever."""
    turns: int | None
    """How many turns it may take; the agent's own choice if none."""
    worktree: WorktreeWish | None
    """A worktree that is made for it."""


class PlanAgentView(TypedDict):
    """An agent of a plan."""
    agent: str | None
    """Who is asked, if it is no member."""
    asks: int
    """How often it was asked."""
    member: str | None
    """The member that is asked, if one is."""
    name: str
    """Its name in the stage."""
    session: str | None
    """The session, if there is one, or was."""
    state: PlanAgentStatus
    """How it stands."""
    usage: Usage
    """What it has used up, as far as it is known."""
    verdict: VerdictKind | None
    """What became of its prompt, once it was judged."""
    why: str
    """In a few words, for people."""


class _PlanRequestRequired(TypedDict):
    cwd: Text
    """The folder in which agents work that name none, exactly."""
    spec: PlanSpec
    """The plan, with all its prompts."""


class PlanRequest(_PlanRequestRequired, total=False):
    """A run of a plan, with the surroundings of whoever wants it."""
    by: str
    """Who asks, for the event log."""
    env: Environment
    """As in `CreateRequest`."""
    inputs: Dict[str, str]
    """A value for each of its inputs."""
    limits: List[Tuple[int, int, int]]
    """The client's limits: resource, soft, hard."""
    pen: PenKind
    """Which pen its sessions get."""
    tied: bool
    """Whether it is cancelled if whoever wants it goes without a word: they wait for it, tied."""
    umask: int
    """The client's umask."""


class PlanResumeRequest(TypedDict, total=False):
    """The same plan once more, for what is not done."""
    by: str
    """Who asks, for the event log."""
    env: Environment
    """As in `PlanRequest`."""
    limits: List[Tuple[int, int, int]]
    """The client's limits: resource, soft, hard."""
    replay: bool
    """That goes for what may have run, too."""
    tied: bool
    """As in `PlanRequest`."""
    umask: int
    """The client's umask."""


class PlanSeat(TypedDict):
    """A place in a plan."""
    ask: int
    """For the how manieth time it is asked."""
    name: str
    """The agent's name in it: `STAGE.AGENT`."""
    plan: str
    """The plan's id."""


class _PlanSpecRequired(TypedDict):
    name: Name
    """What it is called."""
    stages: List[StageSpec]
    """In their order."""


class PlanSpec(_PlanSpecRequired, total=False):
    """Stages of agents, one after the other. Fields are added only with a default, so that older records can be
    read; and one that a newer version has written is passed over, but not in a request: see `PlanSpec::asked`."""
    about: str | None
    """What it is for."""
    concurrency: int | None
    """How many agents may be at work at once; none: all of a stage."""
    inputs: Dict[str, InputSpec]
    """What its prompts may refer to, besides answers."""
    timeout_ms: int | None
    """How long it may take in all; none: for ever."""


class PlanView(TypedDict):
    """A plan, as `--json` and the API show it."""
    created_at: str
    """When it was begun: RFC 3339."""
    ended_at: str | None
    """When it was over."""
    id: str
    """The id of this run of it."""
    name: str
    """The plan's name."""
    stages: List[StageView]
    """Its stages, in their order."""
    state: PlanStatus
    """How it stands."""
    usage: Usage
    """What its agents have used up, all together, as far as it is known."""
    why: str | None
    """Why, for people, once it is to end or has ended."""


class _ProblemRequired(TypedDict):
    code: str
    """The kind for programs: `not_found`, `ambiguous`, `conflict`, `refused`, `invalid`, `busy`, `gone`,
    `internal`, … Stable."""
    detail: str
    """What was wrong this time, for people."""
    status: int
    """The status of the answer."""
    title: str
    """The kind in words: the same for all of its kind."""
    type: str
    """An address for this kind of problem: `urn:kennel:` and the code."""


class Problem(_ProblemRequired, total=False):
    """What went wrong: problem details, as RFC 9457 has them."""
    hint: str | None
    """What to do, if there is something."""


class PromptText(TypedDict):
    """This."""
    text: str


class PromptFile(TypedDict):
    """What is in this file, which was not read yet: see `PlanSpec::prompt_files`."""
    file: str


class PruneAnswer(TypedDict):
    """What was pruned."""
    removed: List[str]
    """The ids."""
    with_keys: List[str]
    """Those that stay on record since their key is still held: asked for again, they are the answer."""
    with_worktrees: List[str]
    """Those that stay on record since their worktree is kept."""


class PruneRequest(TypedDict, total=False):
    """What to prune; the query of a `GET`, which only says what would be."""
    older_than_ms: int | None
    """Only what ended longer ago than this."""


class ReadinessNone(TypedDict):
    """Nothing: it is not asked."""
    kind: Literal['none']


class ReadinessLine(TypedDict):
    """A line of its output matches this regular expression, which is not checked here."""
    kind: Literal['line']
    pattern: str
    """The expression."""


class ReadinessSocket(TypedDict):
    """This Unix socket accepts."""
    kind: Literal['socket']
    path: str
    """Its path."""


class ReadinessTcp(TypedDict):
    """This TCP port accepts."""
    host: str
    """Where; this machine if not given."""
    kind: Literal['tcp']
    port: int
    """Which."""


class ReadinessHttp(TypedDict):
    """This address answers with 2xx."""
    kind: Literal['http']
    url: str
    """The address."""


class ReadinessReport(TypedDict):
    """The agent says so."""
    kind: Literal['report']


class ReadyView(TypedDict):
    """Whether the daemon can do its work now."""
    checks: List[CheckView]
    """All of them."""
    ready: bool
    """Whether every check is passed."""


class ReasonExited(TypedDict):
    """The agent ended by itself."""
    kind: Literal['exited']


class ReasonStopped(TypedDict):
    """Somebody asked for it."""
    by: str
    """Who."""
    kind: Literal['stopped']


class ReasonClientGone(TypedDict):
    """The client that it was tied to went away."""
    kind: Literal['client_gone']


class ReasonParentEnded(TypedDict):
    """The session that started it ended."""
    kind: Literal['parent_ended']


class ReasonShutdown(TypedDict):
    """The daemon was told to end everything."""
    kind: Literal['shutdown']


class ReasonFailed(TypedDict):
    """It could not be started."""
    code: int
    """What failed, in the program's exit codes: 202 setup, 203 pen, 204 exec, 207 internal."""
    kind: Literal['failed']
    why: str
    """Why."""


class ReasonLeaseOver(TypedDict):
    """No daemon came back within the lease."""
    kind: Literal['lease_over']


class _ReasonNotReadyRequired(TypedDict):
    after_ms: int
    """The time it had."""
    kind: Literal['not_ready']


class ReasonNotReady(_ReasonNotReadyRequired, total=False):
    """It was not ready in time."""
    saw: str | None
    """What was seen last in place of the sign."""


class ReasonTimedOut(TypedDict):
    """It took longer than it may."""
    kind: Literal['timed_out']
    limit_ms: int
    """The limit."""


class ReasonIdle(TypedDict):
    """It did nothing for too long."""
    kind: Literal['idle']
    limit_ms: int
    """The limit."""


class ReasonSilent(TypedDict):
    """It printed nothing for too long."""
    kind: Literal['silent']
    limit_ms: int
    """The limit."""


class ReasonKeeperDied(TypedDict):
    """Its keeper died."""
    kind: Literal['keeper_died']


class ReasonRebooted(TypedDict):
    """The machine was restarted meanwhile."""
    kind: Literal['rebooted']


class ReasonForgotten(TypedDict):
    """A person gave it up: nobody saw it end."""
    by: str
    """Who."""
    kind: Literal['forgotten']


class RelaunchStateUndecided(TypedDict):
    """Nothing was decided."""
    relaunch: Literal['undecided']


class RelaunchStatePending(TypedDict):
    """It will be, after a pause."""
    relaunch: Literal['pending']


class RelaunchStateLaunched(TypedDict):
    """It was."""
    relaunch: Literal['launched']


class RelaunchStateCalledOff(TypedDict):
    """Somebody wanted the end: it will not, whatever the policy says."""
    by: str
    """Who, or what."""
    relaunch: Literal['called_off']


class ReplaceRequest(TypedDict, total=False):
    """A planned restart."""
    program: str | None
    """The program to start; the same one if not given."""


class _ReportRequestReadyRequired(TypedDict):
    report: Literal['ready']


class ReportRequestReady(_ReportRequestReadyRequired, total=False):
    """It is up."""
    session: str
    """The session that it is about, or the launch: `$KENNEL_SESSION`."""
    token: LaunchToken | None
    """The secret of its launch."""


class _ReportRequestBusyRequired(TypedDict):
    report: Literal['busy']


class ReportRequestBusy(_ReportRequestBusyRequired, total=False):
    """It works."""
    session: str
    """The session that it is about, or the launch: `$KENNEL_SESSION`."""
    token: LaunchToken | None
    """The secret of its launch."""


class _ReportRequestIdleRequired(TypedDict):
    report: Literal['idle']


class ReportRequestIdle(_ReportRequestIdleRequired, total=False):
    """It waits for somebody."""
    session: str
    """The session that it is about, or the launch: `$KENNEL_SESSION`."""
    token: LaunchToken | None
    """The secret of its launch."""


class _ReportRequestTitleRequired(TypedDict):
    report: Literal['title']
    title: Title
    """For people."""


class ReportRequestTitle(_ReportRequestTitleRequired, total=False):
    """What it is about."""
    session: str
    """The session that it is about, or the launch: `$KENNEL_SESSION`."""
    token: LaunchToken | None
    """The secret of its launch."""


class _ReportRequestProgressRequired(TypedDict):
    percent: PercentInput
    """Of 100."""
    report: Literal['progress']


class ReportRequestProgress(_ReportRequestProgressRequired, total=False):
    """How far it is."""
    session: str
    """The session that it is about, or the launch: `$KENNEL_SESSION`."""
    token: LaunchToken | None
    """The secret of its launch."""


class RestartNever(TypedDict):
    """Nothing."""
    policy: Literal['never']


class RestartOnFailure(TypedDict):
    """Another launch."""
    most: int | None
    """So often at most, however long it ran in between; none: for ever."""
    policy: Literal['on_failure']


class RestartInputNever(TypedDict):
    """Nothing."""
    policy: Literal['never']


class _RestartInputOnFailureRequired(TypedDict):
    policy: Literal['on_failure']


class RestartInputOnFailure(_RestartInputOnFailureRequired, total=False):
    """Another launch."""
    most: int | None
    """So often at most, however long it ran in between; none: for ever."""


class ResumeRequest(TypedDict, total=False):
    """Another launch of a session that has ended: its command, in its folder, with these surroundings."""
    after: SessionId | None
    """After which launch: if there is a later one already, that is the answer. The latest one if not given."""
    by: str
    """Who asks, for the event log."""
    env: Environment
    """As in `CreateRequest`."""
    limits: List[Tuple[int, int, int]]
    """The client's limits: resource, soft, hard."""
    parent: SessionId | None
    """The session that asks, if one does."""
    queue: bool
    """Whether it waits in line if it may not start at once."""
    stderr_apart: bool
    """Whether standard error is apart from the terminal."""
    stdin: StdinFrom
    """Where standard input comes from, if there is no terminal."""
    terminal_settings: TerminalSettings | None
    """The settings of the client's terminal."""
    tethered: bool
    """Whether it ends when the client goes without a word."""
    umask: int
    """The client's umask."""


class RevokeAnswer(TypedDict):
    """What came of a revocation."""
    cut: int
    """How many connections were cut."""


class _SeatRequired(TypedDict):
    agent: str
    """`claude`, `codex`, `gemini`, `opencode`, or the name of one that is described."""


class Seat(_SeatRequired, total=False):
    """An agent program, and how it is used."""
    args: List[str]
    """Further arguments, as they are."""
    description: str | None
    """The description of an agent that Kennel has no code for, as TOML."""
    model: str | None
    """Which model; the agent's own choice if none."""
    permissions: Permissions
    """What it may do without asking."""
    turns: int | None
    """How many turns it may take; the agent's own choice if none."""


class SecretView(TypedDict):
    """A token with its secret."""
    cut: int
    """How many connections of the former one were cut."""
    secret: str
    """What is to be said for it."""
    token: TokenView
    """The token."""


class SessionPage(TypedDict):
    """A part of a list."""
    next: SessionId | None
    """Where the next page goes on: its `after`. None: that was the last."""
    sessions: List[SessionView]
    """The sessions."""


class _SessionSpecRequired(TypedDict):
    asked_by: str
    """Who asked: a user, a program; for the event log."""
    grace_ms: int
    """How long a stop waits between TERM and KILL."""
    lease_ms: int | None
    """How long it goes on without a daemon; none: for ever."""
    linger_ms: int
    """How long what it leaves behind may go on after its exit."""
    outlives_parent: bool
    """Whether it goes on when its parent has ended."""
    output_limit: int
    """The most bytes of output kept on disk: 128 KiB or more, which is what a journal needs."""
    pen: PenKind
    """Which pen."""
    tethered: bool
    """Whether it ends when the client that started it goes without a word."""


class SessionSpec(_SessionSpecRequired, total=False):
    """A command, and how to run it. Fields are added only with a default, so that older rows can be read."""
    agent: AgentSpec | None
    """Set if it is a prompt to an agent, or a chat: Kennel makes the command then, and judges what came of a
    prompt."""
    argv: List[str]
    """The command and its arguments; bytes that are no UTF-8 are replaced here, for people to read."""
    best_effort: bool
    """Whether it runs without those limits where they can't be set."""
    cpu: int | None
    """The most CPU of its pen, in thousandths of a core."""
    cwd: str
    """The folder it starts in."""
    idle_ms: int | None
    """How long it may do nothing; none: for ever."""
    key: str | None
    """The same key twice is the same session."""
    memory: int | None
    """The most memory of its pen, in bytes."""
    name: str | None
    """A name for people."""
    parent: SessionId | None
    """The session that started this one."""
    pids: int | None
    """The most processes and threads of its pen."""
    ready: Readiness
    """By what it is known to be up."""
    ready_timeout_ms: int | None
    """How long it may take to be ready; none: for ever."""
    restart: Restart
    """Whether it is launched again when it fails."""
    restart_unknown: bool
    """Whether that goes for a launch whose end nobody knows too: it may have run."""
    silence_ms: int | None
    """How long it may print nothing; none: for ever."""
    stdin: bool
    """Whether its standard input can be written to (always so with a terminal)."""
    stop_signal: int | None
    """The signal that asks it to end, if it is not TERM."""
    terminal: Terminal | None
    """Set if it gets a terminal of its own."""
    timeout_ms: int | None
    """How long it may take in all, awake; none: for ever."""
    worktree: WorktreeSpec | None
    """A worktree that is made for it."""


class _SessionUsageRequired(TypedDict):
    id: str
    """Its id."""
    name: str | None
    """Its name."""
    phase: Phase
    """How far it has come."""
    usage: UsageView | None
    """What its pen uses, while there is one and its keeper can be asked."""


class SessionUsage(_SessionUsageRequired, total=False):
    """What a session uses now."""
    history: List[UsageSample] | None
    """What it has used lately, the earliest first, if that was asked for."""
    trouble: str | None
    """Why that is not known, if somebody should know it."""


class _SessionViewRequired(TypedDict):
    activity: Activity | None
    """Whether its agent works, by its own word."""
    attempt: int
    """Which launch of the session this is: 1 for the first."""
    created_at: str
    """When it was asked for: seconds since 1970 with milliseconds, in RFC 3339."""
    ended_at: str | None
    """When it was seen to be gone."""
    exit: Exit | None
    """How the agent ended, once it has."""
    exit_code: int | None
    """The code that a shell would show."""
    folder: str
    """The session's folder."""
    id: str
    """The id."""
    kept: List[Kept]
    """What was made for it and is kept, since it has something of value."""
    key: str | None
    """The key under which it was asked for."""
    launches: int
    """How many launches of the session there have been."""
    name: str | None
    """The name, if it has one."""
    owed: List[Owed]
    """What is left to be removed."""
    pen: str | None
    """The folder of its cgroup; `subtree` or `pidns` if it has none; nothing before there is a pen."""
    phase: Phase
    """What was seen of it last."""
    pid: int | None
    """The agent's pid, once it exists."""
    progress: Percent | None
    """How far it is, of 100, by its own word."""
    queue_place: int | None
    """Where it stands in line, if it does: 1 is next."""
    ready: ReadyState
    """Whether it is up."""
    reason: Reason | None
    """Why it ended."""
    relaunch: RelaunchState
    """Whether another launch follows."""
    session: str
    """The session's id, which all its launches share; `id` is this launch's."""
    spec: SessionSpec
    """What was asked for."""
    started_at: str | None
    """When the program began to run."""
    started_by: StartedBy
    """Who started it."""
    survivors: List[Survivor]
    """Those who could not be ended."""
    title: Title | None
    """What it is about, by its own word."""
    unrecorded: bool
    """Whether the outcome could not be put on record."""
    wanted: str
    """`running` or `stopped`."""


class SessionView(_SessionViewRequired, total=False):
    """A session, as `--json` and the API show it."""
    judged: Judged | None
    """What became of its prompt, if it is one and that is known."""
    trouble: List[str]
    """What went wrong in its launch and did not keep it from running, such as a limit that is not held: as far as
    the daemon that runs has heard it. The event log has all of it."""


class SettingsView(TypedDict):
    """The settings of a daemon, as they are in force: from kennel.toml and the environment of whoever started it.
    The names are those of the configuration."""
    ended_kept: int
    """How many that have ended stay on record."""
    key_retention_ms: int
    """How long the key of one that has ended stands for it."""
    max_launching: int | None
    """How many may be launched at once; none: any number."""
    max_live: int | None
    """How many sessions may live at once; none: any number."""
    max_live_by_name: Dict[str, int]
    """How many with such names may live at once."""
    min_free_disk: int
    """So many bytes must be free on the disk."""
    min_free_memory: int
    """So many bytes of memory must be free."""
    worktrees: str
    """Where worktrees go."""


class ShutdownLineDone(TypedDict):
    """That was all."""
    done: bool
    """Always true."""


class ShutdownRequest(TypedDict, total=False):
    """How the daemon shall go."""
    grace_ms: int | None
    """As for a stop."""
    keep: bool
    """Leave the sessions running."""


class SignalRequest(TypedDict):
    """A signal."""
    signal: int
    """Its number."""


class _StageSpecRequired(TypedDict):
    agents: List[PlanAgent]
    """Who."""
    name: Name
    """What it is called."""


class StageSpec(_StageSpecRequired, total=False):
    """Agents that are at work at the same time."""
    need: int | None
    """How many must succeed; none: those whose failure fails the plan."""
    stop_rest: bool
    """Whether the others are stopped once so many have succeeded."""


class StageView(TypedDict):
    """A stage of a plan."""
    agents: List[PlanAgentView]
    """Its agents, in their order."""
    name: str
    """Its name."""
    need: int | None
    """How many must succeed, if that is said."""


class StdinFromDepositDeposit(TypedDict):
    ticket: str
    """32 hex digits."""


class StdinFromDeposit(TypedDict):
    """From a descriptor that was left at the deposit under this ticket: only at the socket."""
    deposit: StdinFromDepositDeposit


class StopAnswer(TypedDict):
    """The answer to a stop."""
    result: StopResult
    """What came of it."""
    session: SessionView
    """The session now."""
    survivors: List[Survivor]
    """Who is left."""
    took_ms: int
    """How long it took."""


class StopRequest(TypedDict, total=False):
    """A wish for the end of a session."""
    by: str
    """Who asks, for the event log."""
    grace_ms: int | None
    """Between TERM and KILL; the session's own grace if not given."""
    now: bool
    """KILL at once."""
    wait_ms: int | None
    """How long to wait for the end; without it, as long as it may take. Then the answer is that somebody is left,
    and it goes on all the same."""


class StrayRef(TypedDict):
    """A stray: its number alone may be another's by now."""
    pid: int
    """Its pid."""
    session: str
    """The session that it is of."""


class StrayView(TypedDict):
    """A process that bears this home's mark and belongs to no live session."""
    command: str
    """Its command line."""
    mark: str
    """By what it is known: `pen` or `cookie`."""
    name: str
    """Its program's short name."""
    pid: int
    """Its pid."""
    session: str
    """The session whose mark it bears."""


class StraysEnded(TypedDict):
    """What came of ending strays."""
    ended: List[StrayView]
    """These are gone."""
    still_alive: List[StrayView]
    """These are not."""


class StraysView(TypedDict):
    """What was found."""
    outside: List[StrayView]
    """Those of a live session that are not in its pen: another daemon started them. Not owned."""
    strays: List[StrayView]
    """Those of no live session."""


class Survivor(TypedDict):
    """A process that could not be ended."""
    name: str
    """Its program."""
    pid: int
    """Its pid, for people to read."""
    why: str
    """Why it is still there."""


class Terminal(TypedDict):
    """The size of a terminal."""
    columns: int
    """Characters a line."""
    rows: int
    """Lines."""


class TerminalSettings(TypedDict):
    """What `termios` has, as numbers."""
    characters: List[int]
    """The special characters."""
    modes: List[int]
    """Input, output, control and local modes."""


class TextHex(TypedDict):
    hex: str


class TokenView(TypedDict):
    """Something that lets in, without its secret."""
    expires_at: str | None
    """When it is void by itself."""
    kind: TokenKind
    """What it is."""
    made_at: str | None
    """When it was made; unknown of the main one."""
    name: str
    """How it is called."""
    scope: Scope
    """What it is good for."""


class Usage(TypedDict):
    """What a prompt has used up."""
    cached_tokens: int
    """Tokens that it has read from a cache."""
    cost_micros: int
    """What it cost, in millionths of a dollar, as far as the agent tells."""
    input_tokens: int
    """Tokens that the model has read, without those that were cached."""
    output_tokens: int
    """Tokens that it has written."""


class UsageHistory(TypedDict):
    """What a session has used lately."""
    id: str
    """Its id; of a session that was launched again, that of its latest launch."""
    samples: List[UsageSample]
    """The earliest first."""


class UsageSample(TypedDict):
    """What a session used at a time."""
    at_ms: int
    """When, in milliseconds since 1970."""
    cpu_ms: int
    """CPU time of all its processes so far."""
    cpu_percent: float | None
    """CPU since the sample before, in percent of one core; unknown of the first."""
    memory_bytes: int
    """Memory then."""
    processes: int
    """Processes then."""


class UsageView(TypedDict):
    """What a pen uses."""
    cpu_ms: int
    """CPU time of all its processes."""
    memory_bytes: int
    """Memory now."""
    processes: int
    """Processes now."""


class _VerdictRequired(TypedDict):
    evidence: str
    """What was seen there, word for word; at most `MOST_EVIDENCE` bytes of it."""
    kind: VerdictKind
    """What became of it."""
    source: EvidenceSource
    """Where that was seen."""


class Verdict(_VerdictRequired, total=False):
    """A verdict, and what it was made from."""
    retry_after_ms: int | None
    """How long the provider says to wait before the next try."""


class WhoAgent(TypedDict):
    """Whoever answers to this: `claude`, `codex`, … In a new conversation."""
    agent: str


class WhoMember(TypedDict):
    """This member, in its own conversation."""
    member: str


class WishContinue(TypedDict):
    """The one that the member had last, if it had one: if that turns out not to be there any more, a new one."""
    conversation: Literal['continue']


class WishFresh(TypedDict):
    """A new one."""
    conversation: Literal['fresh']


class WishResume(TypedDict):
    """This one, and no other in its place."""
    conversation: Literal['resume']
    id: str
    """Which."""


class WorktreeLosses(TypedDict):
    """A worktree, and what would be lost with it or was."""
    losses: LossesView
    """What."""
    worktree: WorktreeView
    """The worktree."""


class WorktreeSpec(TypedDict):
    """A worktree of a git repository, and the branch in it. Whoever asks says which branch; the rest is what was
    decided on it, before the session was taken in."""
    asked: str | None
    """The branch that was asked for; none: one of its own, named for the session."""
    base: str | None
    """The commit that it starts from."""
    branch: str
    """Its branch."""
    path: str
    """Where the worktree will be."""
    record: str | None
    """What those who make and remove worktrees wrote down of it, in their own words; none: nothing is decided."""
    repo: str
    """The repository."""
    uncommitted: bool | None
    """Whether the checkout that it was asked from had changes that are not committed, and so are not in it; none:
    that could not be told."""


class WorktreeSpecInput(TypedDict, total=False):
    """A worktree of a git repository, and the branch in it. Whoever asks says which branch; the rest is what was
    decided on it, before the session was taken in."""
    asked: str | None
    """The branch that was asked for; none: one of its own, named for the session."""
    base: str | None
    """The commit that it starts from."""
    branch: str
    """Its branch."""
    path: str
    """Where the worktree will be."""
    record: str | None
    """What those who make and remove worktrees wrote down of it, in their own words; none: nothing is decided."""
    repo: str
    """The repository."""
    uncommitted: bool | None
    """Whether the checkout that it was asked from had changes that are not committed, and so are not in it; none:
    that could not be told."""


class WorktreeView(TypedDict):
    """A worktree that was made for a session, or is about to be."""
    branch: str
    """Its branch."""
    failed_because: str | None
    """Why, the last time."""
    failures: int
    """How often its removal has failed."""
    kept_because: str | None
    """Why it is kept; nothing while it is in use or to be removed."""
    name: str | None
    """That session's name, if it has one."""
    path: str
    """Where it is."""
    repo: str
    """The repository."""
    session: str
    """The launch that it was made for, or that has it now."""
    state: WorktreeState
    """How it stands."""


class WorktreeWishBranch(TypedDict):
    """On this branch."""
    branch: str


class WorktreesView(TypedDict):
    """The worktrees of sessions: those in use, and those that are kept."""
    worktrees: List[WorktreeView]
    """The worktrees."""


Activity = Literal['busy', 'idle']
"""Whether an agent works, by its own word."""


EvidenceSource = Literal['result', 'stdout', 'stderr', 'exit', 'kennel']
"""Where the evidence of a verdict was seen."""


Exit = Union[ExitCode, ExitSignal, ExitNeverRan, ExitUnknown]
"""How an agent ended: its own word, or unknown."""


LaunchToken = str
"""The secret of a launch."""


ListenState = Literal['open', 'failing']
"""Whether there is somebody at an address."""


Name = str
"""The name of a plan, a stage, an agent in it, or an input."""


OnFailure = Literal['fail_plan', 'continue']
"""What the failure of an agent means."""


OwedKind = Union[OwedKindRuntimeFiles, OwedKindPenFolder, OwedKindWorktree]
"""What can be owed."""


PenKind = Literal['auto', 'cgroup', 'subtree', 'pidns']
"""Which pen is wanted."""


Percent = int
"""From 0 to 100."""


PercentInput = int
"""From 0 to 100."""


Permissions = Literal['default', 'read_only', 'edit', 'all']
"""What an agent may do without asking; there is nobody to be asked."""


Phase = Literal['queued', 'making', 'reserved', 'launching', 'starting', 'running', 'stopping', 'lost', 'reaped', 'cleaned']
"""What was seen. The drawing is in the module of `Session::step`."""


PlanAgentStatus = Literal['waiting', 'asking', 'running', 'stopping', 'succeeded', 'failed', 'cancelled', 'skipped']
"""How an agent of a plan stands."""


PlanStatus = Literal['running', 'stopping', 'succeeded', 'failed', 'timed_out', 'cancelled']
"""How a plan stands."""


Prompt = Union[PromptText, PromptFile]
"""The prompt of an agent, with references in it: `{{STAGE.AGENT}}` and the like."""


Readiness = Union[ReadinessNone, ReadinessLine, ReadinessSocket, ReadinessTcp, ReadinessHttp, ReadinessReport]
"""What is waited for. Written as `none`, `line:REGEX`, `socket:PATH`, `tcp:PORT`, `tcp:HOST:PORT`,
`http://HOST/PATH`, `report`."""


ReadyState = Literal['unasked', 'waiting', 'ready', 'missed']
"""Whether a session is up. It never goes back."""


Reason = Union[ReasonExited, ReasonStopped, ReasonClientGone, ReasonParentEnded, ReasonShutdown, ReasonFailed, ReasonLeaseOver, ReasonNotReady, ReasonTimedOut, ReasonIdle, ReasonSilent, ReasonKeeperDied, ReasonRebooted, ReasonForgotten]
"""Why a session ended."""


RelaunchState = Union[RelaunchStateUndecided, RelaunchStatePending, RelaunchStateLaunched, RelaunchStateCalledOff]
"""How the next launch of a session stands, in its newest one."""


Restart = Union[RestartNever, RestartOnFailure]
"""What is wanted when a launch has failed. Written as `never`, `on-failure`, `on-failure:N`."""


RestartInput = Union[RestartInputNever, RestartInputOnFailure]
"""What is wanted when a launch has failed. Written as `never`, `on-failure`, `on-failure:N`."""


Scope = Literal['full', 'read_only']
"""What somebody may do."""


SessionId = str
"""The id of a session's launch: 12 characters, of which the first 8 are the time. A session that is launched again
keeps them, and the nth launch has `_n` behind them. Later ones sort later, and the launches of a session stand
together, in their order."""


ShutdownLine = Union[StopAnswer, ShutdownLineDone]
"""One line of the answer to a stop of the daemon."""


StartedBy = Literal['kennel', 'terminal']
"""Who started a session's process."""


StdinFrom = Union[Literal['null', 'pipe'], StdinFromDeposit]
"""Where standard input comes from."""


StopResult = Literal['stopped', 'already_gone', 'still_alive']
"""What came of a stop."""


Text = Union[str, TextHex]
"""Text that need not be UTF-8: a string where it is, else its bytes in hex."""


Title = str
"""A line for people."""


TokenKind = Literal['main', 'extra', 'browser']
"""What an entry on the list of tokens is."""


VerdictKind = Literal['succeeded', 'auth', 'stale_conversation', 'overloaded', 'rate_limited', 'server', 'unreachable', 'untrusted_folder', 'max_turns', 'refused_flags', 'cancelled', 'timed_out', 'killed', 'crashed', 'unknown']
"""What became of a prompt."""


WayIn = Literal['socket', 'token', 'browser']
"""How somebody got in."""


Who = Union[WhoAgent, WhoMember]
"""Who is asked."""


Wish = Union[WishContinue, WishFresh, WishResume]
"""Which conversation a prompt shall belong to."""


Work = Literal['none', 'unknown', 'tools']
"""Whether an attempt did something that a repetition would do twice."""


WorktreeState = Literal['in_use', 'owed', 'kept']
"""How a worktree stands."""


WorktreeWish = Union[Literal['own'], WorktreeWishBranch]
"""A worktree, as it is asked for."""


Environment = Union[Dict[str, Text], List[List[Text]]]
"""The environment of a command, exactly: an object of names and values, or a list of pairs."""


ReportRequest = Union[ReportRequestReady, ReportRequestBusy, ReportRequestIdle, ReportRequestTitle, ReportRequestProgress]
"""What an agent tells of itself."""

// Generated from the OpenAPI description by `npm run generate`. Do not edit.

/** Whether an agent works, by its own word. */
export type Activity = "busy" | "idle";

/** What it can report with, as an agent that Kennel has started can. */
export type AdoptAnswer = {
  /** The session that follows it. */
  session: SessionView;
  /** The daemon's socket. */
  socket: string;
  /** The secret for its reports. */
  token: LaunchToken;
  /** A file with the same, which only its owner can read. */
  token_file: string;
};

/** A process that a user started, to be followed as a session. */
export type AdoptRequest = {
  /** Who asks, for the event log. */
  by?: string | undefined;
  /**
   * Which process exactly, for those who have seen to it that the pid is nobody else's: as
   * `boot namespace pid inode|tick number`. Without it whoever has the pid now is meant.
   */
  identity?: string | null | undefined;
  /** A name for people. */
  name?: string | null | undefined;
  /** Its pid. */
  pid: number;
  /** What it is about. */
  title?: Title | null | undefined;
};

/**
 * A prompt to an agent, or a person's chat with it. The prompt itself is not here: like the environment it goes by memory,
 * and is on no record.
 */
export type AgentSpec = {
  /** The conversation that this launch goes on with: what was made of the wish. None: it begins a new one. */
  conversation?: string | null | undefined;
  /** Whether it is no prompt: the agent is started on a terminal, for a person to talk to. It is not judged. */
  interactive?: boolean | undefined;
  /** The member that is asked, if one is. */
  member?: string | null | undefined;
  /** The plan that it is a part of, if it is. */
  plan?: PlanSeat | null | undefined;
  /** A sum of the prompt, by which the same request is known again. */
  prompt_sum?: string | undefined;
  /** Whether an attempt that did work, or may have, is tried again as well. */
  replay?: boolean | undefined;
  /** How often it may be tried again by itself, if the provider is to blame. */
  retries?: number | undefined;
  /** How long it may take in all before no further try is begun, in milliseconds; none: for ever. */
  retry_within_ms?: number | null | undefined;
  /** Who is asked, and how. */
  seat: Seat;
  /** Whether it ends if whoever asked goes without a word: they wait for it, tied. */
  tied?: boolean | undefined;
  /** Which conversation it belongs to, as it was asked. */
  wish?: Wish | undefined;
};

/** A prompt that is over. Field names are stable: added to, never changed. */
export type AnswerView = {
  /** The agent. */
  agent: string;
  /** What it answered. */
  answer: string | null;
  /** How many attempts there were. */
  attempts: number;
  /** The conversation that it belongs to. */
  conversation: string | null;
  /** By what that is known. */
  evidence: string;
  /** How its process ended. */
  exit: Exit | null;
  /** The member that was asked, if one was. */
  member: string | null;
  /** What of it could not be removed so far. */
  owed: Owed[];
  /** Why it ended. */
  reason: Reason | null;
  /** The session. */
  session: string;
  /** Where that was seen. */
  source: EvidenceSource;
  /** How many tools it ran. */
  tools: number;
  /** How many turns it took, if it told. */
  turns: number | null;
  /** What it has used up; what it cost is in there. */
  usage: Usage;
  /** What became of it. */
  verdict: VerdictKind;
};

/** A prompt to a member, or to an agent. */
export type AskRequest = {
  /** Which agent is asked, if no member is: `claude`, `codex`, `gemini`, `opencode`, or one that is described. */
  agent?: string | null | undefined;
  /** Further arguments, as they are. */
  args?: string[] | undefined;
  /** Who asks, for the event log. */
  by?: string | undefined;
  /** The most CPU of its pen, in thousandths of a core. */
  cpu?: number | null | undefined;
  /** The folder it works in: absolute; a member's own if none. */
  cwd?: Text | null | undefined;
  /** The description of an agent that Kennel has no code for, as TOML. */
  description?: string | null | undefined;
  /** Whether it goes on if whoever asks goes before it is answered. */
  detach?: boolean | undefined;
  /** As in `CreateRequest`. */
  env?: Environment | undefined;
  /** In a new conversation. */
  fresh?: boolean | undefined;
  /** How long a stop waits before KILL. */
  grace_ms?: number | null | undefined;
  /** The same key twice is the same prompt. */
  key?: string | null | undefined;
  /** Which member is asked. It has its own folder, agent, model, turns, permissions and arguments. */
  member?: string | null | undefined;
  /** The most memory of its pen, in bytes. */
  memory?: number | null | undefined;
  /** Which model; the agent's own choice if none. */
  model?: string | null | undefined;
  /** A name for people. */
  name?: string | null | undefined;
  /** The session that asks, if one does. */
  parent?: SessionId | null | undefined;
  /** Which pen. */
  pen?: PenKind | undefined;
  /** What it may do without asking. */
  permissions?: Permissions | undefined;
  /** The most processes and threads of its pen. */
  pids?: number | null | undefined;
  /** What is asked. Never written down. */
  prompt: string;
  /** Whether it waits in line if the member is busy or there is no room. */
  queue?: boolean | undefined;
  /** Whether an attempt that did work, or may have, is tried again as well. */
  replay?: boolean | undefined;
  /** In this conversation, and no other. */
  resume?: string | null | undefined;
  /** How often it may be tried again by itself, if the provider is to blame; 3 if not given. */
  retries?: number | null | undefined;
  /** How long it may take in all before no further try is begun; ten minutes if not given, 0: for ever. */
  retry_within_ms?: number | null | undefined;
  /** How long an attempt may take, awake; none: for ever. */
  timeout_ms?: number | null | undefined;
  /** How many turns it may take; the agent's own choice if none. */
  turns?: number | null | undefined;
  /** The client's umask. */
  umask?: number | undefined;
  /** A worktree that is made for it, on this branch; `""`: on one of its own. */
  worktree?: string | null | undefined;
};

/** Who does it, for the event log. */
export type ByRequest = {
  /** Who. */
  by?: string | undefined;
};

/** A check. */
export type CheckView = {
  /** Its name: stable. */
  name: string;
  /** Whether it is passed. */
  passed: boolean;
  /** Why not, if not, for people. */
  why?: string | null | undefined;
};

/** A commit. */
export type CommitView = {
  /** Its id. */
  id: string;
  /** The first line of its message. */
  subject: string;
};

/** A new session. All fields of the spec stand beside the others; what is left out is as on the command line. */
export type CreateRequest = {
  /** Set if it is a prompt to an agent, or a chat: Kennel makes the command then, and judges what came of a prompt. */
  agent?: AgentSpec | null | undefined;
  /** The command, exactly. */
  argv?: Text[] | undefined;
  /** Who asked: a user, a program; for the event log. */
  asked_by?: string | undefined;
  /** Whether it runs without those limits where they can't be set. */
  best_effort?: boolean | undefined;
  /** The most CPU of its pen, in thousandths of a core. */
  cpu?: number | null | undefined;
  /** The folder to start in, exactly. */
  cwd: Text;
  /**
   * Its environment, exactly: all of it but for Kennel's own cookie. Never written down. If it is left out, a `PATH`
   * for the programs of the system is all of it.
   */
  env?: Environment | undefined;
  /** How long a stop waits between TERM and KILL. */
  grace_ms?: number | undefined;
  /** How long it may do nothing; none: for ever. */
  idle_ms?: number | null | undefined;
  /** The same key twice is the same session. */
  key?: string | null | undefined;
  /** How long it goes on without a daemon; none: for ever. */
  lease_ms?: number | null | undefined;
  /** The client's limits: resource, soft, hard. */
  limits?: Array<[number, number, number]> | undefined;
  /** How long what it leaves behind may go on after its exit. */
  linger_ms?: number | undefined;
  /** The most memory of its pen, in bytes. */
  memory?: number | null | undefined;
  /** A name for people. */
  name?: string | null | undefined;
  /** Whether it goes on when its parent has ended. */
  outlives_parent?: boolean | undefined;
  /** The most bytes of output kept on disk: 128 KiB or more, which is what a journal needs. */
  output_limit?: number | undefined;
  /** The session that started this one. */
  parent?: SessionId | null | undefined;
  /** Which pen. */
  pen?: PenKind | undefined;
  /** The most processes and threads of its pen. */
  pids?: number | null | undefined;
  /** What the agent is asked, if `agent` is set: then there is neither `argv` nor `stdin`. Never written down. */
  prompt?: string | null | undefined;
  /** Whether it waits in line if it may not start at once. */
  queue?: boolean | undefined;
  /** By what it is known to be up. */
  ready?: Readiness | undefined;
  /** How long it may take to be ready; none: for ever. */
  ready_timeout_ms?: number | null | undefined;
  /** Whether it is launched again when it fails. */
  restart?: RestartInput | undefined;
  /** Whether that goes for a launch whose end nobody knows too: it may have run. */
  restart_unknown?: boolean | undefined;
  /** How long it may print nothing; none: for ever. */
  silence_ms?: number | null | undefined;
  /** Whether standard error is apart from the terminal. */
  stderr_apart?: boolean | undefined;
  /** Where standard input comes from, if there is no terminal. */
  stdin?: StdinFrom | undefined;
  /** The signal that asks it to end, if it is not TERM. */
  stop_signal?: number | null | undefined;
  /** Set if it gets a terminal of its own. */
  terminal?: Terminal | null | undefined;
  /** The settings of the client's terminal. */
  terminal_settings?: TerminalSettings | null | undefined;
  /** Whether it ends when the client that started it goes without a word. */
  tethered?: boolean | undefined;
  /** How long it may take in all, awake; none: for ever. */
  timeout_ms?: number | null | undefined;
  /** The client's umask. */
  umask?: number | undefined;
  /** A worktree that is made for it. */
  worktree?: WorktreeSpecInput | null | undefined;
};

/** The daemon. */
export type DaemonView = {
  /**
   * Where things are, for the `env` of requests: what it has of the environment of whoever started it (`PATH`, `HOME`,
   * `LANG`, …). Nothing secret.
   */
  environment: Record<string, string>;
  /** The home. */
  home: string;
  /** Its id. */
  home_id: string;
  /** The API over TCP, if it was asked for. */
  listen: ListenView | null;
  /** Sessions that are not cleaned. */
  live: number;
  /** Its pid. */
  pid: number;
  /** What it was started with; none from an older version. */
  settings: SettingsView | null;
  /** When it started. */
  started_at: string;
  /** All that are on record. */
  total: number;
  /** The program's version. */
  version: string;
  /** The yard's. */
  yard_pid: number | null;
};

/** Which strays shall be ended. */
export type EndStraysRequest = {
  /** Only these, as they were shown: whoever has become one meanwhile is left alone. None: all there are. */
  only?: StrayRef[] | null | undefined;
};

/** The environment of a command, exactly: an object of names and values, or a list of pairs. */
export type Environment = Record<string, Text> | Array<Text[]>;

/** An entry of the event log. */
export type EventView = {
  /** Who asked. */
  by: string | null;
  /** Why, or by what. */
  cause: string;
  /** What: `reserved`, `launching`, …, `wanted_stopped`, `daemon_started`, … */
  kind: string;
  /** Its number: without gaps, growing. */
  seq: number;
  /** Which session; none for the daemon itself. */
  session: string | null;
  /** When: RFC 3339. */
  time: string;
};

/** Where the evidence of a verdict was seen. */
export type EvidenceSource = "result" | "stdout" | "stderr" | "exit" | "kennel";

/** How an agent ended: its own word, or unknown. */
export type Exit = {
  /** The code. */
  code: number;
  kind: "code";
} | {
  /** Whether a core was dumped. */
  core: boolean;
  kind: "signal";
  /** Whether it was the OOM killer. */
  oom: boolean;
  /** Its number. */
  signal: number;
} | {
  kind: "never_ran";
} | {
  kind: "unknown";
  /** Why. */
  why: string;
};

/** Input. */
export type InputRequest = {
  /** Whether that is the end of it. */
  eof?: boolean | undefined;
  /** The bytes, in hex. */
  hex?: string | undefined;
};

/** Something that whoever runs a plan says. */
export type InputSpec = {
  /** What it is, for people. */
  about?: string | null | undefined;
  /** What it is if nobody says; none: somebody must. */
  default?: string | null | undefined;
};

/** Everything about a session. */
export type InspectView = {
  /** The keeper's pid, while there is one. */
  keeper_pid: number | null;
  /** Its launch. */
  launch: LaunchView;
  /** All launches of the session, the first one first. */
  launches: SessionView[];
  /** Who is in its pen. */
  members: MemberView[];
  /** The session. */
  session: SessionView;
  /** What happened to it. */
  timeline: EventView[];
  /** What could not be found out, and why. */
  trouble: string[];
  /** What it uses, while it lives. */
  usage: UsageView | null;
};

/** How an attempt at a prompt was judged. The answer itself is in its output. */
export type Judged = {
  /** The conversation that it was, as the agent calls it. */
  conversation?: string | null | undefined;
  /** How many tools it ran. */
  tools?: number | undefined;
  /** How many turns it took, if it told. */
  turns?: number | null | undefined;
  /** What it has used up. */
  usage?: Usage | undefined;
  /** What became of it. */
  verdict: Verdict;
  /** Whether it did something. */
  work: Work;
};

/** Something that was made for a session, and outlives it. */
export type Kept = {
  /** What. */
  what: OwedKind;
  /** What of value is in it. */
  why: string;
};

/** The secret of a launch. */
export type LaunchToken = string;

/** A launch, in `inspect`. */
export type LaunchView = {
  /** Whether its gate was told to open. */
  granted: boolean;
  /** The identity of its process. */
  identity: string | null;
};

/** A link by which a browser gets in, once. */
export type LinkRequest = {
  /** What the browser may do. */
  scope?: Scope | undefined;
};

/** The link. */
export type LinkView = {
  /** It has a secret in it. */
  url: string;
  /** For how many seconds it is good. */
  valid_s: number;
};

/** Have the API over TCP. */
export type ListenRequest = {
  /** Where: address and port, 0 for any. As configured, else at loopback, if not given. */
  listen?: string | null | undefined;
};

/** Whether there is somebody at an address. */
export type ListenState = "open" | "failing";

/** The API over TCP. */
export type ListenView = {
  /** Address and port; the port that was found, if none was named. */
  address: string;
  /** Whether it is there. */
  state: ListenState;
  /** The same as a browser takes it. */
  url: string;
  /** Why it is not there. */
  why: string | null;
};

/** What would be lost with a worktree, or was. */
export type LossesView = {
  /** The first few of them. */
  changed: string[];
  /** How many files have changes that are not committed, at least. */
  changes: number;
  /** How many commits are on no other branch. */
  commits: number;
  /** The newest of them. */
  newest: CommitView[];
  /** Set if it can't be told what is in it: why. Then there may be anything. */
  unknown: string | null;
  /** Everything, each in a sentence with its figure; empty: nothing. */
  why: string[];
};

/** Who asks, and whom. */
export type MeView = {
  /** The folder of the home. */
  home: string;
  /** The machine's name. */
  host: string;
  /** How your token, or browser, is called; at the socket it has no name. */
  name: string | null;
  /** What you may do. */
  scope: Scope;
  /** The daemon's version. */
  version: string;
  /** How you got in. */
  via: WayIn;
};

/** A member, as programs are shown it. Field names are stable: added to, never changed. */
export type MemberAnswer = {
  /** How many attempts at prompts were judged. */
  attempts: number;
  /** Since when. */
  busy_since: string | null;
  /** The session of the prompt that it works on. */
  busy_with: string | null;
  /** The conversation that it had last. */
  conversation: string | null;
  /** When it was added. */
  created_at: string;
  /** The folder that it works in. */
  cwd: string;
  /** When: RFC 3339. */
  last_at: string | null;
  /** Which session that was. */
  last_session: string | null;
  /** What became of the last one. */
  last_verdict: VerdictKind | null;
  /** Its name. */
  name: string;
  /** Who sits there. */
  seat: Seat;
  /** What it has used up so far. */
  usage: Usage;
  /** How many prompts wait for it in line. */
  waiting: number;
};

/** A process of a session, in `inspect`. */
export type MemberView = {
  /** Its command line. */
  command: string;
  /** Its program's short name. */
  name: string;
  /** Its parent's. */
  parent: number;
  /** Its pid. */
  pid: number;
  /** The kernel's state letter. */
  state: string;
};

/** The name of a plan, a stage, an agent in it, or an input. */
export type Name = string;

/** A new member. */
export type NewMember = {
  /** The folder that it works in. */
  cwd: string;
  /** Its name. */
  name: string;
  /** Who sits there. */
  seat: Seat;
};

/** A token that is wanted. */
export type NewToken = {
  /** Its name; one is made up if not given. */
  name?: string | null | undefined;
  /** What it is to be good for. */
  scope?: Scope | undefined;
};

/** What the failure of an agent means. */
export type OnFailure = "fail_plan" | "continue";

/** Something that must be removed once the tree is gone. Recorded before it is made. */
export type Owed = {
  /** How often its removal has failed. */
  failures: number;
  /** What. */
  what: OwedKind;
  /** The last failure. */
  why: string | null;
};

/** What can be owed. */
export type OwedKind = {
  kind: "runtime_files";
} | {
  kind: "pen_folder";
  /** Its path. */
  path: string;
} | {
  /** Its branch. */
  branch: string;
  kind: "worktree";
  /** Where the worktree is. */
  path: string;
  /** What is needed to make and remove it, in the words of those who do. */
  record: string | null;
  /** The repository. */
  repo: string;
};

/** Which pen is wanted. */
export type PenKind = "auto" | "cgroup" | "subtree" | "pidns";

/** From 0 to 100. */
export type Percent = number;

/** From 0 to 100. */
export type PercentInput = number;

/** What an agent may do without asking; there is nobody to be asked. */
export type Permissions = "default" | "read_only" | "edit" | "all";

/** What was seen. The drawing is in the module of `Session::step`. */
export type Phase = "queued" | "making" | "reserved" | "launching" | "starting" | "running" | "stopping" | "lost" | "reaped" | "cleaned";

/** One prompt to one agent. */
export type PlanAgent = {
  /** Further arguments, as they are. */
  args?: string[] | undefined;
  /** The folder it works in; none: that in which the plan is run, or the member's. */
  cwd?: string | null | undefined;
  /** Which model; the agent's own choice if none. */
  model?: string | null | undefined;
  /** What it is called in its stage. */
  name: Name;
  /** What its failure means; none: whatever its stage says, see `StageSpec::on_failure`. */
  on_failure?: OnFailure | null | undefined;
  /** What it may do without asking; none: as the member has it, or its own settings say. */
  permissions?: Permissions | null | undefined;
  /** What it is asked. */
  prompt: Prompt;
  /** How often it may be tried again by itself; none: as often as any prompt. */
  retries?: number | null | undefined;
  /** How long it may take; none: for ever. */
  timeout_ms?: number | null | undefined;
  /** How many turns it may take; the agent's own choice if none. */
  turns?: number | null | undefined;
  /** Who is asked. */
  who: Who;
  /** A worktree that is made for it. */
  worktree?: WorktreeWish | null | undefined;
};

/** How an agent of a plan stands. */
export type PlanAgentStatus = "waiting" | "asking" | "running" | "stopping" | "succeeded" | "failed" | "cancelled" | "skipped";

/** An agent of a plan. */
export type PlanAgentView = {
  /** Who is asked, if it is no member. */
  agent: string | null;
  /** How often it was asked. */
  asks: number;
  /** The member that is asked, if one is. */
  member: string | null;
  /** Its name in the stage. */
  name: string;
  /** The session, if there is one, or was. */
  session: string | null;
  /** How it stands. */
  state: PlanAgentStatus;
  /** What it has used up, as far as it is known. */
  usage: Usage;
  /** What became of its prompt, once it was judged. */
  verdict: VerdictKind | null;
  /** In a few words, for people. */
  why: string;
};

/** A run of a plan, with the surroundings of whoever wants it. */
export type PlanRequest = {
  /** Who asks, for the event log. */
  by?: string | undefined;
  /** The folder in which agents work that name none, exactly. */
  cwd: Text;
  /** As in `CreateRequest`. */
  env?: Environment | undefined;
  /** A value for each of its inputs. */
  inputs?: Record<string, string> | undefined;
  /** The client's limits: resource, soft, hard. */
  limits?: Array<[number, number, number]> | undefined;
  /** Which pen its sessions get. */
  pen?: PenKind | undefined;
  /** The plan, with all its prompts. */
  spec: PlanSpec;
  /** Whether it is cancelled if whoever wants it goes without a word: they wait for it, tied. */
  tied?: boolean | undefined;
  /** The client's umask. */
  umask?: number | undefined;
};

/** The same plan once more, for what is not done. */
export type PlanResumeRequest = {
  /** Who asks, for the event log. */
  by?: string | undefined;
  /** As in `PlanRequest`. */
  env?: Environment | undefined;
  /** The client's limits: resource, soft, hard. */
  limits?: Array<[number, number, number]> | undefined;
  /** That goes for what may have run, too. */
  replay?: boolean | undefined;
  /** As in `PlanRequest`. */
  tied?: boolean | undefined;
  /** The client's umask. */
  umask?: number | undefined;
};

/** A place in a plan. */
export type PlanSeat = {
  /** For the how manieth time it is asked. */
  ask: number;
  /** The agent's name in it: `STAGE.AGENT`. */
  name: string;
  /** The plan's id. */
  plan: string;
};

/**
 * Stages of agents, one after the other. Fields are added only with a default, so that older records can be read; and one
 * that a newer version has written is passed over, but not in a request: see `PlanSpec::asked`.
 */
export type PlanSpec = {
  /** What it is for. */
  about?: string | null | undefined;
  /** How many agents may be at work at once; none: all of a stage. */
  concurrency?: number | null | undefined;
  /** What its prompts may refer to, besides answers. */
  inputs?: Record<string, InputSpec> | undefined;
  /** What it is called. */
  name: Name;
  /** In their order. */
  stages: StageSpec[];
  /** How long it may take in all; none: for ever. */
  timeout_ms?: number | null | undefined;
};

/** How a plan stands. */
export type PlanStatus = "running" | "stopping" | "succeeded" | "failed" | "timed_out" | "cancelled";

/** A plan, as `--json` and the API show it. */
export type PlanView = {
  /** When it was begun: RFC 3339. */
  created_at: string;
  /** When it was over. */
  ended_at: string | null;
  /** The id of this run of it. */
  id: string;
  /** The plan's name. */
  name: string;
  /** Its stages, in their order. */
  stages: StageView[];
  /** How it stands. */
  state: PlanStatus;
  /** What its agents have used up, all together, as far as it is known. */
  usage: Usage;
  /** Why, for people, once it is to end or has ended. */
  why: string | null;
};

/** What went wrong: problem details, as RFC 9457 has them. */
export type Problem = {
  /**
   * The kind for programs: `not_found`, `ambiguous`, `conflict`, `refused`, `invalid`, `busy`, `gone`, `internal`, …
   * Stable.
   */
  code: string;
  /** What was wrong this time, for people. */
  detail: string;
  /** What to do, if there is something. */
  hint?: string | null | undefined;
  /** The status of the answer. */
  status: number;
  /** The kind in words: the same for all of its kind. */
  title: string;
  /** An address for this kind of problem: `urn:kennel:` and the code. */
  type: string;
};

/** The prompt of an agent, with references in it: `{{STAGE.AGENT}}` and the like. */
export type Prompt = {
  text: string;
} | {
  file: string;
};

/** What was pruned. */
export type PruneAnswer = {
  /** The ids. */
  removed: string[];
  /** Those that stay on record since their key is still held: asked for again, they are the answer. */
  with_keys: string[];
  /** Those that stay on record since their worktree is kept. */
  with_worktrees: string[];
};

/** What to prune; the query of a `GET`, which only says what would be. */
export type PruneRequest = {
  /** Only what ended longer ago than this. */
  older_than_ms?: number | null | undefined;
};

/**
 * What is waited for. Written as `none`, `line:REGEX`, `socket:PATH`, `tcp:PORT`, `tcp:HOST:PORT`,
 * `http://HOST/PATH`, `report`.
 */
export type Readiness = {
  kind: "none";
} | {
  kind: "line";
  /** The expression. */
  pattern: string;
} | {
  kind: "socket";
  /** Its path. */
  path: string;
} | {
  /** Where; this machine if not given. */
  host: string;
  kind: "tcp";
  /** Which. */
  port: number;
} | {
  kind: "http";
  /** The address. */
  url: string;
} | {
  kind: "report";
};

/** Whether a session is up. It never goes back. */
export type ReadyState = "unasked" | "waiting" | "ready" | "missed";

/** Whether the daemon can do its work now. */
export type ReadyView = {
  /** All of them. */
  checks: CheckView[];
  /** Whether every check is passed. */
  ready: boolean;
};

/** Why a session ended. */
export type Reason = {
  kind: "exited";
} | {
  /** Who. */
  by: string;
  kind: "stopped";
} | {
  kind: "client_gone";
} | {
  kind: "parent_ended";
} | {
  kind: "shutdown";
} | {
  /** What failed, in the program's exit codes: 202 setup, 203 pen, 204 exec, 207 internal. */
  code: number;
  kind: "failed";
  /** Why. */
  why: string;
} | {
  kind: "lease_over";
} | {
  /** The time it had. */
  after_ms: number;
  kind: "not_ready";
  /** What was seen last in place of the sign. */
  saw?: string | null | undefined;
} | {
  kind: "timed_out";
  /** The limit. */
  limit_ms: number;
} | {
  kind: "idle";
  /** The limit. */
  limit_ms: number;
} | {
  kind: "silent";
  /** The limit. */
  limit_ms: number;
} | {
  kind: "keeper_died";
} | {
  kind: "rebooted";
} | {
  /** Who. */
  by: string;
  kind: "forgotten";
};

/** How the next launch of a session stands, in its newest one. */
export type RelaunchState = {
  relaunch: "undecided";
} | {
  relaunch: "pending";
} | {
  relaunch: "launched";
} | {
  /** Who, or what. */
  by: string;
  relaunch: "called_off";
};

/** A planned restart. */
export type ReplaceRequest = {
  /** The program to start; the same one if not given. */
  program?: string | null | undefined;
};

/** What an agent tells of itself. */
export type ReportRequest = {
  /** The session that it is about, or the launch: `$KENNEL_SESSION`. */
  session?: string | undefined;
  /** The secret of its launch. */
  token?: LaunchToken | null | undefined;
} & ({
  report: "ready";
} | {
  report: "busy";
} | {
  report: "idle";
} | {
  report: "title";
  /** For people. */
  title: Title;
} | {
  /** Of 100. */
  percent: PercentInput;
  report: "progress";
});

/** What is wanted when a launch has failed. Written as `never`, `on-failure`, `on-failure:N`. */
export type Restart = {
  policy: "never";
} | {
  /** So often at most, however long it ran in between; none: for ever. */
  most: number | null;
  policy: "on_failure";
};

/** What is wanted when a launch has failed. Written as `never`, `on-failure`, `on-failure:N`. */
export type RestartInput = {
  policy: "never";
} | {
  /** So often at most, however long it ran in between; none: for ever. */
  most?: number | null | undefined;
  policy: "on_failure";
};

/** Another launch of a session that has ended: its command, in its folder, with these surroundings. */
export type ResumeRequest = {
  /** After which launch: if there is a later one already, that is the answer. The latest one if not given. */
  after?: SessionId | null | undefined;
  /** Who asks, for the event log. */
  by?: string | undefined;
  /** As in `CreateRequest`. */
  env?: Environment | undefined;
  /** The client's limits: resource, soft, hard. */
  limits?: Array<[number, number, number]> | undefined;
  /** The session that asks, if one does. */
  parent?: SessionId | null | undefined;
  /** Whether it waits in line if it may not start at once. */
  queue?: boolean | undefined;
  /** Whether standard error is apart from the terminal. */
  stderr_apart?: boolean | undefined;
  /** Where standard input comes from, if there is no terminal. */
  stdin?: StdinFrom | undefined;
  /** The settings of the client's terminal. */
  terminal_settings?: TerminalSettings | null | undefined;
  /** Whether it ends when the client goes without a word. */
  tethered?: boolean | undefined;
  /** The client's umask. */
  umask?: number | undefined;
};

/** What came of a revocation. */
export type RevokeAnswer = {
  /** How many connections were cut. */
  cut: number;
};

/** What somebody may do. */
export type Scope = "full" | "read_only";

/** An agent program, and how it is used. */
export type Seat = {
  /** `claude`, `codex`, `gemini`, `opencode`, or the name of one that is described. */
  agent: string;
  /** Further arguments, as they are. */
  args?: string[] | undefined;
  /** The description of an agent that Kennel has no code for, as TOML. */
  description?: string | null | undefined;
  /** Which model; the agent's own choice if none. */
  model?: string | null | undefined;
  /** What it may do without asking. */
  permissions?: Permissions | undefined;
  /** How many turns it may take; the agent's own choice if none. */
  turns?: number | null | undefined;
};

/** A token with its secret. */
export type SecretView = {
  /** How many connections of the former one were cut. */
  cut: number;
  /** What is to be said for it. */
  secret: string;
  /** The token. */
  token: TokenView;
};

/**
 * The id of a session's launch: 12 characters, of which the first 8 are the time. A session that is launched
 * again keeps them, and the nth launch has `_n` behind them. Later ones sort later, and the launches of a
 * session stand together, in their order.
 */
export type SessionId = string;

/** A part of a list. */
export type SessionPage = {
  /** Where the next page goes on: its `after`. None: that was the last. */
  next: SessionId | null;
  /** The sessions. */
  sessions: SessionView[];
};

/** A command, and how to run it. Fields are added only with a default, so that older rows can be read. */
export type SessionSpec = {
  /** Set if it is a prompt to an agent, or a chat: Kennel makes the command then, and judges what came of a prompt. */
  agent?: AgentSpec | null | undefined;
  /** The command and its arguments; bytes that are no UTF-8 are replaced here, for people to read. */
  argv?: string[] | undefined;
  /** Who asked: a user, a program; for the event log. */
  asked_by: string;
  /** Whether it runs without those limits where they can't be set. */
  best_effort?: boolean | undefined;
  /** The most CPU of its pen, in thousandths of a core. */
  cpu?: number | null | undefined;
  /** The folder it starts in. */
  cwd?: string | undefined;
  /** How long a stop waits between TERM and KILL. */
  grace_ms: number;
  /** How long it may do nothing; none: for ever. */
  idle_ms?: number | null | undefined;
  /** The same key twice is the same session. */
  key?: string | null | undefined;
  /** How long it goes on without a daemon; none: for ever. */
  lease_ms: number | null;
  /** How long what it leaves behind may go on after its exit. */
  linger_ms: number;
  /** The most memory of its pen, in bytes. */
  memory?: number | null | undefined;
  /** A name for people. */
  name?: string | null | undefined;
  /** Whether it goes on when its parent has ended. */
  outlives_parent: boolean;
  /** The most bytes of output kept on disk: 128 KiB or more, which is what a journal needs. */
  output_limit: number;
  /** The session that started this one. */
  parent?: SessionId | null | undefined;
  /** Which pen. */
  pen: PenKind;
  /** The most processes and threads of its pen. */
  pids?: number | null | undefined;
  /** By what it is known to be up. */
  ready?: Readiness | undefined;
  /** How long it may take to be ready; none: for ever. */
  ready_timeout_ms?: number | null | undefined;
  /** Whether it is launched again when it fails. */
  restart?: Restart | undefined;
  /** Whether that goes for a launch whose end nobody knows too: it may have run. */
  restart_unknown?: boolean | undefined;
  /** How long it may print nothing; none: for ever. */
  silence_ms?: number | null | undefined;
  /** Whether its standard input can be written to (always so with a terminal). */
  stdin?: boolean | undefined;
  /** The signal that asks it to end, if it is not TERM. */
  stop_signal?: number | null | undefined;
  /** Set if it gets a terminal of its own. */
  terminal?: Terminal | null | undefined;
  /** Whether it ends when the client that started it goes without a word. */
  tethered: boolean;
  /** How long it may take in all, awake; none: for ever. */
  timeout_ms?: number | null | undefined;
  /** A worktree that is made for it. */
  worktree?: WorktreeSpec | null | undefined;
};

/** What a session uses now. */
export type SessionUsage = {
  /** What it has used lately, the earliest first, if that was asked for. */
  history?: UsageSample[] | null | undefined;
  /** Its id. */
  id: string;
  /** Its name. */
  name: string | null;
  /** How far it has come. */
  phase: Phase;
  /** Why that is not known, if somebody should know it. */
  trouble?: string | null | undefined;
  /** What its pen uses, while there is one and its keeper can be asked. */
  usage: UsageView | null;
};

/** A session, as `--json` and the API show it. */
export type SessionView = {
  /** Whether its agent works, by its own word. */
  activity: Activity | null;
  /** Which launch of the session this is: 1 for the first. */
  attempt: number;
  /** When it was asked for: seconds since 1970 with milliseconds, in RFC 3339. */
  created_at: string;
  /** When it was seen to be gone. */
  ended_at: string | null;
  /** How the agent ended, once it has. */
  exit: Exit | null;
  /** The code that a shell would show. */
  exit_code: number | null;
  /** The session's folder. */
  folder: string;
  /** The id. */
  id: string;
  /** What became of its prompt, if it is one and that is known. */
  judged?: Judged | null | undefined;
  /** What was made for it and is kept, since it has something of value. */
  kept: Kept[];
  /** The key under which it was asked for. */
  key: string | null;
  /** How many launches of the session there have been. */
  launches: number;
  /** The name, if it has one. */
  name: string | null;
  /** What is left to be removed. */
  owed: Owed[];
  /** The folder of its cgroup; `subtree` or `pidns` if it has none; nothing before there is a pen. */
  pen: string | null;
  /** What was seen of it last. */
  phase: Phase;
  /** The agent's pid, once it exists. */
  pid: number | null;
  /** How far it is, of 100, by its own word. */
  progress: Percent | null;
  /** Where it stands in line, if it does: 1 is next. */
  queue_place: number | null;
  /** Whether it is up. */
  ready: ReadyState;
  /** Why it ended. */
  reason: Reason | null;
  /** Whether another launch follows. */
  relaunch: RelaunchState;
  /** The session's id, which all its launches share; `id` is this launch's. */
  session: string;
  /** What was asked for. */
  spec: SessionSpec;
  /** When the program began to run. */
  started_at: string | null;
  /** Who started it. */
  started_by: StartedBy;
  /** Those who could not be ended. */
  survivors: Survivor[];
  /** What it is about, by its own word. */
  title: Title | null;
  /**
   * What went wrong in its launch and did not keep it from running, such as a limit that is not held: as far as
   * the daemon that runs has heard it. The event log has all of it.
   */
  trouble?: string[] | undefined;
  /** Whether the outcome could not be put on record. */
  unrecorded: boolean;
  /** `running` or `stopped`. */
  wanted: string;
};

/**
 * The settings of a daemon, as they are in force: from kennel.toml and the environment of whoever started it. The names
 * are those of the configuration.
 */
export type SettingsView = {
  /** How many that have ended stay on record. */
  ended_kept: number;
  /** How long the key of one that has ended stands for it. */
  key_retention_ms: number;
  /** How many may be launched at once; none: any number. */
  max_launching: number | null;
  /** How many sessions may live at once; none: any number. */
  max_live: number | null;
  /** How many with such names may live at once. */
  max_live_by_name: Record<string, number>;
  /** So many bytes must be free on the disk. */
  min_free_disk: number;
  /** So many bytes of memory must be free. */
  min_free_memory: number;
  /** Where worktrees go. */
  worktrees: string;
};

/** One line of the answer to a stop of the daemon. */
export type ShutdownLine = StopAnswer | {
  /** Always true. */
  done: boolean;
};

/** How the daemon shall go. */
export type ShutdownRequest = {
  /** As for a stop. */
  grace_ms?: number | null | undefined;
  /** Leave the sessions running. */
  keep?: boolean | undefined;
};

/** A signal. */
export type SignalRequest = {
  /** Its number. */
  signal: number;
};

/** Agents that are at work at the same time. */
export type StageSpec = {
  /** Who. */
  agents: PlanAgent[];
  /** What it is called. */
  name: Name;
  /** How many must succeed; none: those whose failure fails the plan. */
  need?: number | null | undefined;
  /** Whether the others are stopped once so many have succeeded. */
  stop_rest?: boolean | undefined;
};

/** A stage of a plan. */
export type StageView = {
  /** Its agents, in their order. */
  agents: PlanAgentView[];
  /** Its name. */
  name: string;
  /** How many must succeed, if that is said. */
  need: number | null;
};

/** Who started a session's process. */
export type StartedBy = "kennel" | "terminal";

/** Where standard input comes from. */
export type StdinFrom = "null" | "pipe" | {
  deposit: {
    /** 32 hex digits. */
    ticket: string;
  };
};

/** The answer to a stop. */
export type StopAnswer = {
  /** What came of it. */
  result: StopResult;
  /** The session now. */
  session: SessionView;
  /** Who is left. */
  survivors: Survivor[];
  /** How long it took. */
  took_ms: number;
};

/** A wish for the end of a session. */
export type StopRequest = {
  /** Who asks, for the event log. */
  by?: string | undefined;
  /** Between TERM and KILL; the session's own grace if not given. */
  grace_ms?: number | null | undefined;
  /** KILL at once. */
  now?: boolean | undefined;
  /**
   * How long to wait for the end; without it, as long as it may take. Then the answer is that somebody is left, and it goes
   * on all the same.
   */
  wait_ms?: number | null | undefined;
};

/** What came of a stop. */
export type StopResult = "stopped" | "already_gone" | "still_alive";

/** A stray: its number alone may be another's by now. */
export type StrayRef = {
  /** Its pid. */
  pid: number;
  /** The session that it is of. */
  session: string;
};

/** A process that bears this home's mark and belongs to no live session. */
export type StrayView = {
  /** Its command line. */
  command: string;
  /** By what it is known: `pen` or `cookie`. */
  mark: string;
  /** Its program's short name. */
  name: string;
  /** Its pid. */
  pid: number;
  /** The session whose mark it bears. */
  session: string;
};

/** What came of ending strays. */
export type StraysEnded = {
  /** These are gone. */
  ended: StrayView[];
  /** These are not. */
  still_alive: StrayView[];
};

/** What was found. */
export type StraysView = {
  /** Those of a live session that are not in its pen: another daemon started them. Not owned. */
  outside: StrayView[];
  /** Those of no live session. */
  strays: StrayView[];
};

/** A process that could not be ended. */
export type Survivor = {
  /** Its program. */
  name: string;
  /** Its pid, for people to read. */
  pid: number;
  /** Why it is still there. */
  why: string;
};

/** The size of a terminal. */
export type Terminal = {
  /** Characters a line. */
  columns: number;
  /** Lines. */
  rows: number;
};

/** What `termios` has, as numbers. */
export type TerminalSettings = {
  /** The special characters. */
  characters: number[];
  /** Input, output, control and local modes. */
  modes: number[];
};

/** Text that need not be UTF-8: a string where it is, else its bytes in hex. */
export type Text = string | {
  hex: string;
};

/** A line for people. */
export type Title = string;

/** What an entry on the list of tokens is. */
export type TokenKind = "main" | "extra" | "browser";

/** Something that lets in, without its secret. */
export type TokenView = {
  /** When it is void by itself. */
  expires_at: string | null;
  /** What it is. */
  kind: TokenKind;
  /** When it was made; unknown of the main one. */
  made_at: string | null;
  /** How it is called. */
  name: string;
  /** What it is good for. */
  scope: Scope;
};

/** What a prompt has used up. */
export type Usage = {
  /** Tokens that it has read from a cache. */
  cached_tokens: number;
  /** What it cost, in millionths of a dollar, as far as the agent tells. */
  cost_micros: number;
  /** Tokens that the model has read, without those that were cached. */
  input_tokens: number;
  /** Tokens that it has written. */
  output_tokens: number;
};

/** What a session has used lately. */
export type UsageHistory = {
  /** Its id; of a session that was launched again, that of its latest launch. */
  id: string;
  /** The earliest first. */
  samples: UsageSample[];
};

/** What a session used at a time. */
export type UsageSample = {
  /** When, in milliseconds since 1970. */
  at_ms: number;
  /** CPU time of all its processes so far. */
  cpu_ms: number;
  /** CPU since the sample before, in percent of one core; unknown of the first. */
  cpu_percent: number | null;
  /** Memory then. */
  memory_bytes: number;
  /** Processes then. */
  processes: number;
};

/** What a pen uses. */
export type UsageView = {
  /** CPU time of all its processes. */
  cpu_ms: number;
  /** Memory now. */
  memory_bytes: number;
  /** Processes now. */
  processes: number;
};

/** A verdict, and what it was made from. */
export type Verdict = {
  /** What was seen there, word for word; at most `MOST_EVIDENCE` bytes of it. */
  evidence: string;
  /** What became of it. */
  kind: VerdictKind;
  /** How long the provider says to wait before the next try. */
  retry_after_ms?: number | null | undefined;
  /** Where that was seen. */
  source: EvidenceSource;
};

/** What became of a prompt. */
export type VerdictKind = "succeeded" | "auth" | "stale_conversation" | "overloaded" | "rate_limited" | "server" | "unreachable" | "untrusted_folder" | "max_turns" | "refused_flags" | "cancelled" | "timed_out" | "killed" | "crashed" | "unknown";

/** How somebody got in. */
export type WayIn = "socket" | "token" | "browser";

/** Who is asked. */
export type Who = {
  agent: string;
} | {
  member: string;
};

/** Which conversation a prompt shall belong to. */
export type Wish = {
  conversation: "continue";
} | {
  conversation: "fresh";
} | {
  conversation: "resume";
  /** Which. */
  id: string;
};

/** Whether an attempt did something that a repetition would do twice. */
export type Work = "none" | "unknown" | "tools";

/** A worktree, and what would be lost with it or was. */
export type WorktreeLosses = {
  /** What. */
  losses: LossesView;
  /** The worktree. */
  worktree: WorktreeView;
};

/**
 * A worktree of a git repository, and the branch in it. Whoever asks says which branch; the rest is what was decided
 * on it, before the session was taken in.
 */
export type WorktreeSpec = {
  /** The branch that was asked for; none: one of its own, named for the session. */
  asked: string | null;
  /** The commit that it starts from. */
  base: string | null;
  /** Its branch. */
  branch: string;
  /** Where the worktree will be. */
  path: string;
  /** What those who make and remove worktrees wrote down of it, in their own words; none: nothing is decided. */
  record: string | null;
  /** The repository. */
  repo: string;
  /**
   * Whether the checkout that it was asked from had changes that are not committed, and so are not in it; none: that
   * could not be told.
   */
  uncommitted: boolean | null;
};

/**
 * A worktree of a git repository, and the branch in it. Whoever asks says which branch; the rest is what was decided
 * on it, before the session was taken in.
 */
export type WorktreeSpecInput = {
  /** The branch that was asked for; none: one of its own, named for the session. */
  asked?: string | null | undefined;
  /** The commit that it starts from. */
  base?: string | null | undefined;
  /** Its branch. */
  branch?: string | undefined;
  /** Where the worktree will be. */
  path?: string | undefined;
  /** What those who make and remove worktrees wrote down of it, in their own words; none: nothing is decided. */
  record?: string | null | undefined;
  /** The repository. */
  repo?: string | undefined;
  /**
   * Whether the checkout that it was asked from had changes that are not committed, and so are not in it; none: that
   * could not be told.
   */
  uncommitted?: boolean | null | undefined;
};

/** How a worktree stands. */
export type WorktreeState = "in_use" | "owed" | "kept";

/** A worktree that was made for a session, or is about to be. */
export type WorktreeView = {
  /** Its branch. */
  branch: string;
  /** Why, the last time. */
  failed_because: string | null;
  /** How often its removal has failed. */
  failures: number;
  /** Why it is kept; nothing while it is in use or to be removed. */
  kept_because: string | null;
  /** That session's name, if it has one. */
  name: string | null;
  /** Where it is. */
  path: string;
  /** The repository. */
  repo: string;
  /** The launch that it was made for, or that has it now. */
  session: string;
  /** How it stands. */
  state: WorktreeState;
};

/** A worktree, as it is asked for. */
export type WorktreeWish = "own" | {
  branch: string;
};

/** The worktrees of sessions: those in use, and those that are kept. */
export type WorktreesView = {
  /** The worktrees. */
  worktrees: WorktreeView[];
};

/** The parameters and the response of each operation. The response of a stream is `never`. */
export interface Operations {
  /** Returns `ok` if the daemon answers */
  getHealth: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: never;
  };
  /** Returns metrics for Prometheus */
  getMetrics: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: never;
  };
  /** Checks whether the daemon can do its work; 503 if it can't */
  getReadiness: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: ReadyView;
  };
  /** Creates a link that signs a browser in once; only at the socket */
  makeLink: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: LinkRequest;
    answer: LinkView;
  };
  /** Serves the API over TCP, too; only at the socket in the home */
  listen: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ListenRequest;
    answer: ListenView;
  };
  /** Signs a browser out: revokes its cookie */
  logOut: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: undefined;
  };
  /** Shows the client's own identity, scope and home */
  getMe: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: MeView;
  };
  /** Shows the main token; only at the socket */
  getToken: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: SecretView;
  };
  /** Lists tokens without their secrets; only at the socket */
  listTokens: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: TokenView[];
  };
  /** Creates a token; only at the socket */
  addToken: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewToken;
    answer: SecretView;
  };
  /** Revokes a token and cuts its connections; only at the socket */
  revokeToken: {
    path: {
      /** The name */
      name: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: RevokeAnswer;
  };
  /** Gives a token a new secret; only at the socket */
  rotateToken: {
    path: {
      /** The name */
      name: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: SecretView;
  };
  /** Adopts a process that a user started as a session */
  adopt: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: AdoptRequest;
    answer: AdoptAnswer;
  };
  /** Sends a prompt to a member or an agent; as events, streams the answer */
  ask: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: AskRequest;
    answer: SessionView;
  };
  /** Shows the daemon */
  getDaemon: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: DaemonView;
  };
  /** Replaces the daemon with a new one, which takes over all sessions */
  replaceDaemon: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ReplaceRequest;
    answer: undefined;
  };
  /** Stops the daemon, with or without its sessions, and reports the progress */
  stopDaemon: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ShutdownRequest;
    answer: never;
  };
  /** Examines what this machine supports by trying it */
  examine: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: unknown;
  };
  /** Returns the event log; with `follow`, also new events */
  listEvents: {
    path: Record<string, never>;
    query: {
      follow?: boolean | undefined;
      /** The format of the response. */
      format?: "ndjson" | "sse" | undefined;
      /** Kinds of events, separated by commas; empty: all. */
      kind?: string | undefined;
      session?: string | undefined;
      /** Events after this number. */
      since?: number | undefined;
      /** Only events among the last so many of the log; 0: only new ones. */
      tail?: number | undefined;
      /** Events up to and including this number; then `follow` has no effect. */
      until?: number | undefined;
    };
    body: undefined;
    answer: never;
  };
  /** Lists members */
  listMembers: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: MemberAnswer[];
  };
  /** Adds a member */
  addMember: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: NewMember;
    answer: MemberAnswer;
  };
  /** Shows a member */
  getMember: {
    path: {
      /** The name */
      name: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: MemberAnswer;
  };
  /** Removes a member */
  removeMember: {
    path: {
      /** The name */
      name: string;
    };
    query: {
      /** The client's name, for the event log. */
      by?: string | undefined;
      /** Remove it even if it is in use or something is lost. */
      force?: boolean | undefined;
    };
    body: undefined;
    answer: undefined;
  };
  /** Returns this document */
  getDescription: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: unknown;
  };
  /** Lists plans */
  listPlans: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: PlanView[];
  };
  /** Runs a plan */
  runPlan: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: PlanRequest;
    answer: PlanView;
  };
  /** Shows a plan */
  getPlan: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: PlanView;
  };
  /** Cancels a plan and stops its agents */
  cancelPlan: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: ByRequest;
    answer: PlanView;
  };
  /** Runs the unfinished steps of a plan */
  resumePlan: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: PlanResumeRequest;
    answer: PlanView;
  };
  /** Waits until a plan is over */
  waitForPlan: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** Whether disconnecting before the end stops what is waited for. */
      tied?: boolean | undefined;
    };
    body: undefined;
    answer: PlanView;
  };
  /** Lists the sessions that a prune would remove */
  previewPrune: {
    path: Record<string, never>;
    query: {
      /** Only what ended longer ago than this. */
      older_than_ms?: number | undefined;
    };
    body: undefined;
    answer: PruneAnswer;
  };
  /** Removes ended sessions from the record */
  prune: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: PruneRequest;
    answer: PruneAnswer;
  };
  /** Reports the state of an agent, sent by the agent itself */
  report: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ReportRequest;
    answer: undefined;
  };
  /** Lists sessions, a page at a time */
  listSessions: {
    path: Record<string, never>;
    query: {
      /** Those that come after this one: what the page before has as `next`. */
      after?: string | undefined;
      /** Also those that are over. */
      all?: boolean | undefined;
      /** Asked for under this key. */
      key?: string | undefined;
      /** At most so many: 1 to 1,000, which it is if nothing is said. */
      limit?: number | undefined;
      /** Prompts of this member. */
      member?: string | undefined;
      /** Of this name. */
      name?: string | undefined;
      /** Which come first. */
      order?: "oldest" | "newest" | undefined;
      /** Started by this session. */
      parent?: string | undefined;
      /** In this phase. */
      phase?: "queued" | "making" | "reserved" | "launching" | "starting" | "running" | "stopping" | "lost" | "reaped" | "cleaned" | undefined;
      /** Parts of this plan. */
      plan?: string | undefined;
    };
    body: undefined;
    answer: SessionPage;
  };
  /** Creates a session, from a command or from a prompt to an agent, and launches it */
  createSession: {
    path: Record<string, never>;
    query: {
      /** The session that the same request created before the daemon was killed: the client reconnects to it. */
      rejoin?: string | undefined;
      /** How far a new session has come when its client gets the answer. */
      until?: "accepted" | "started" | "ready" | "over" | undefined;
    };
    body: CreateRequest;
    answer: SessionView;
  };
  /** Shows a session */
  getSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: SessionView;
  };
  /** Removes an ended session from the record */
  removeSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: undefined;
  };
  /** Returns the answer of an agent; as events, everything the agent does */
  getAnswer: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      format?: "json" | "sse" | undefined;
      /** Whether disconnecting from the stream cancels the prompt: for the client that asked and lost its daemon. */
      tied?: boolean | undefined;
      /** Whether to wait until the prompt is over. */
      wait?: boolean | undefined;
    };
    body: undefined;
    answer: AnswerView;
  };
  /** Gives up a lost session: one that can't be observed any more */
  forgetSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: ByRequest;
    answer: SessionView;
  };
  /** Writes to the standard input of a session */
  sendInput: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: InputRequest;
    answer: undefined;
  };
  /** Shows a session with its processes, their resource usage and its history */
  inspectSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: InspectView;
  };
  /** Returns the output of a session; with `follow`, until it ends */
  readOutput: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** Whether the response continues until the session ends. */
      follow?: boolean | undefined;
      format?: "raw" | "ndjson" | "sse" | undefined;
      /** The offset of the first byte. */
      from?: number | undefined;
      /** Which streams. A terminal has one, which counts as standard output. */
      stream?: "both" | "stdout" | "stderr" | undefined;
      /** Only the last so many lines. */
      tail?: number | undefined;
      /** The offset after the last byte. */
      to?: number | undefined;
    };
    body: undefined;
    answer: never;
  };
  /** Launches an ended session again */
  resumeSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** The session that the same request created before the daemon was killed: the client reconnects to it. */
      rejoin?: string | undefined;
      /** How far a new session has come when its client gets the answer. */
      until?: "accepted" | "started" | "ready" | "over" | undefined;
    };
    body: ResumeRequest;
    answer: SessionView;
  };
  /** Sends a signal to every process of a session */
  signalSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: SignalRequest;
    answer: undefined;
  };
  /** Stops all processes of a session and reports the outcome */
  stopSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: StopRequest;
    answer: StopAnswer;
  };
  /** Attaches to the terminal of a session */
  attach: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** The width of the client's window. */
      cols?: number | undefined;
      /** Begin with the output from this offset on. */
      from?: number | undefined;
      read_only?: boolean | undefined;
      /** Otherwise, what to begin with. */
      replay?: "screen" | "none" | "all" | undefined;
      /** The height of the client's window. */
      rows?: number | undefined;
      /** Otherwise, begin with so many of the last lines. */
      tail?: number | undefined;
    };
    body: undefined;
    answer: undefined;
  };
  /** Returns the resource usage of a session */
  getUsage: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: SessionUsage;
  };
  /** Returns the recent resource usage of a session, sampled while clients request it */
  getUsageHistory: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: UsageHistory;
  };
  /** Waits until a session is over; a prompt is over when its verdict is on record */
  waitForSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** Whether disconnecting before the end stops what is waited for. */
      tied?: boolean | undefined;
    };
    body: undefined;
    answer: SessionView;
  };
  /** Finds processes that belong to no live session */
  findStrays: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: StraysView;
  };
  /** Ends strays: all, or the ones that are named */
  endStrays: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: EndStraysRequest;
    answer: StraysEnded;
  };
  /** Returns the resource usage of live sessions */
  listUsage: {
    path: Record<string, never>;
    query: {
      /** The last so many samples of each, too; at most 300. They are taken while somebody asks for them. */
      history?: number | undefined;
    };
    body: undefined;
    answer: SessionUsage[];
  };
  /** Lists the worktrees of sessions */
  listWorktrees: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: WorktreesView;
  };
  /** Removes a kept worktree */
  removeWorktree: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** The client's name, for the event log. */
      by?: string | undefined;
      /** Remove it even if it is in use or something is lost. */
      force?: boolean | undefined;
    };
    body: undefined;
    answer: WorktreeLosses;
  };
  /** Lists what would be lost if a worktree were removed */
  getWorktreeLosses: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: WorktreeLosses;
  };
}

/** The method and path of each operation. */
export const ROUTES = {
  getHealth: { method: "GET", path: "/healthz" },
  getMetrics: { method: "GET", path: "/metrics" },
  getReadiness: { method: "GET", path: "/readyz" },
  makeLink: { method: "POST", path: "/v1/access/links" },
  listen: { method: "POST", path: "/v1/access/listen" },
  logOut: { method: "POST", path: "/v1/access/logout" },
  getMe: { method: "GET", path: "/v1/access/me" },
  getToken: { method: "GET", path: "/v1/access/token" },
  listTokens: { method: "GET", path: "/v1/access/tokens" },
  addToken: { method: "POST", path: "/v1/access/tokens" },
  revokeToken: { method: "DELETE", path: "/v1/access/tokens/{name}" },
  rotateToken: { method: "POST", path: "/v1/access/tokens/{name}/rotate" },
  adopt: { method: "POST", path: "/v1/adopt" },
  ask: { method: "POST", path: "/v1/ask" },
  getDaemon: { method: "GET", path: "/v1/daemon" },
  replaceDaemon: { method: "POST", path: "/v1/daemon/replace" },
  stopDaemon: { method: "POST", path: "/v1/daemon/stop" },
  examine: { method: "GET", path: "/v1/doctor" },
  listEvents: { method: "GET", path: "/v1/events" },
  listMembers: { method: "GET", path: "/v1/members" },
  addMember: { method: "POST", path: "/v1/members" },
  getMember: { method: "GET", path: "/v1/members/{name}" },
  removeMember: { method: "DELETE", path: "/v1/members/{name}" },
  getDescription: { method: "GET", path: "/v1/openapi.json" },
  listPlans: { method: "GET", path: "/v1/plans" },
  runPlan: { method: "POST", path: "/v1/plans" },
  getPlan: { method: "GET", path: "/v1/plans/{reference}" },
  cancelPlan: { method: "POST", path: "/v1/plans/{reference}/cancel" },
  resumePlan: { method: "POST", path: "/v1/plans/{reference}/resume" },
  waitForPlan: { method: "GET", path: "/v1/plans/{reference}/wait" },
  previewPrune: { method: "GET", path: "/v1/prune" },
  prune: { method: "POST", path: "/v1/prune" },
  report: { method: "POST", path: "/v1/report" },
  listSessions: { method: "GET", path: "/v1/sessions" },
  createSession: { method: "POST", path: "/v1/sessions" },
  getSession: { method: "GET", path: "/v1/sessions/{reference}" },
  removeSession: { method: "DELETE", path: "/v1/sessions/{reference}" },
  getAnswer: { method: "GET", path: "/v1/sessions/{reference}/answer" },
  forgetSession: { method: "POST", path: "/v1/sessions/{reference}/forget" },
  sendInput: { method: "POST", path: "/v1/sessions/{reference}/input" },
  inspectSession: { method: "GET", path: "/v1/sessions/{reference}/inspect" },
  readOutput: { method: "GET", path: "/v1/sessions/{reference}/output" },
  resumeSession: { method: "POST", path: "/v1/sessions/{reference}/resume" },
  signalSession: { method: "POST", path: "/v1/sessions/{reference}/signal" },
  stopSession: { method: "POST", path: "/v1/sessions/{reference}/stop" },
  attach: { method: "GET", path: "/v1/sessions/{reference}/terminal" },
  getUsage: { method: "GET", path: "/v1/sessions/{reference}/usage" },
  getUsageHistory: { method: "GET", path: "/v1/sessions/{reference}/usage/history" },
  waitForSession: { method: "GET", path: "/v1/sessions/{reference}/wait" },
  findStrays: { method: "GET", path: "/v1/strays" },
  endStrays: { method: "POST", path: "/v1/strays/end" },
  listUsage: { method: "GET", path: "/v1/usage" },
  listWorktrees: { method: "GET", path: "/v1/worktrees" },
  removeWorktree: { method: "DELETE", path: "/v1/worktrees/{reference}" },
  getWorktreeLosses: { method: "GET", path: "/v1/worktrees/{reference}/losses" },
} as const;

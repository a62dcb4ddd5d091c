// Generated from the OpenAPI description by `npm run generate`. Do not edit.

/** How a caller is authenticated. */
export type AccessMethod = "socket" | "token" | "browser";

/** A request to adopt a process that a user started. */
export type AdoptRequest = {
  /** The name of the caller, for the event log. */
  by?: string | undefined;
  /**
   * The exact identity of the process, as `boot namespace pid inode|tick number`, for clients
   * that know it. Without it, the daemon takes the process that has the pid now.
   */
  identity?: string | null | undefined;
  /** A name for the session. */
  name?: string | null | undefined;
  /** The pid of the process. */
  pid: number;
  /** A title for the session. */
  title?: Title | null | undefined;
};

/** The new session of an adopted process, and the credentials for its reports. */
export type AdoptResponse = {
  /** The session that follows the process. */
  session: SessionView;
  /** The path of the daemon's Unix socket. */
  socket: string;
  /** The secret that the process sends with its reports. */
  token: LaunchToken;
  /** A file with the same secret, readable by its owner only. */
  token_file: string;
};

/** Whether an agent is working, as it reports. */
export type AgentActivity = "busy" | "idle";

/** An agent program and its settings. */
export type AgentSettings = {
  /** The agent: `claude`, `codex`, `gemini`, `opencode`, or the name of a described agent. */
  agent: string;
  /** Additional arguments, passed on unchanged. */
  args?: string[] | undefined;
  /** The description of an agent that Kennel has no code for, as TOML. */
  description?: string | null | undefined;
  /** The model. The default is the agent's own choice. */
  model?: string | null | undefined;
  /** What the agent may do without asking. */
  permissions?: Permissions | undefined;
  /** The maximum number of turns. The default is the agent's own choice. */
  turns?: number | null | undefined;
};

/**
 * An agent that a session runs: with a prompt, or interactively. The prompt itself is not part of
 * the spec; like the environment, it is passed on in memory and never stored with the session.
 */
export type AgentSpec = {
  /** Whether the session ends when the client disconnects. */
  cancel_on_disconnect?: boolean | undefined;
  /** The conversation that this launch continues. Null: it starts a new one. */
  conversation?: string | null | undefined;
  /** The requested conversation. */
  conversation_choice?: ConversationChoice | undefined;
  /**
   * Whether the agent runs interactively on a terminal, without a prompt. Kennel does not judge
   * it.
   */
  interactive?: boolean | undefined;
  /** The member that is asked, if any. */
  member?: string | null | undefined;
  /** The plan that the session is part of, if any. */
  plan?: PlanPosition | null | undefined;
  /** A hash of the prompt, by which a repeated request is recognized. */
  prompt_sum?: string | undefined;
  /** Whether to retry an attempt that may already have done some of its work. */
  replay?: boolean | undefined;
  /** How many times to retry if the provider fails. */
  retries?: number | undefined;
  /** The time within which retries may start, in milliseconds. Null: no limit. */
  retry_within_ms?: number | null | undefined;
  /** The agent program and its settings. */
  settings: AgentSettings;
};

/** A finished prompt. Field names are stable: fields are added, never renamed or removed. */
export type AnswerView = {
  /** The agent program. */
  agent: string;
  /** The agent's answer. */
  answer: string | null;
  /** The number of attempts. */
  attempts: number;
  /** The conversation that the prompt belongs to. */
  conversation: string | null;
  /** The text that the verdict is based on. */
  evidence: string;
  /** How the agent's process ended. */
  exit: Exit | null;
  /** The member that was asked, if any. */
  member: string | null;
  /** Resources of the session that could not be removed so far. */
  owed: Owed[];
  /** Why the session ended. */
  reason: Reason | null;
  /** The session id. */
  session: string;
  /** Where that text was found. */
  source: EvidenceSource;
  /** The number of tools that the agent ran. */
  tools: number;
  /** The number of turns, if the agent reported it. */
  turns: number | null;
  /** The tokens used, and their cost. */
  usage: TokenUsage;
  /** The verdict. */
  verdict: VerdictKind;
};

/** A prompt to a member or to an agent. */
export type AskRequest = {
  /**
   * The agent program to ask if no member is given: `claude`, `codex`, `gemini`, `opencode`, or
   * the name of a described agent.
   */
  agent?: string | null | undefined;
  /** Additional arguments, passed on unchanged. */
  args?: string[] | undefined;
  /** The name of the caller, for the event log. */
  by?: string | undefined;
  /** The CPU limit of the pen, in thousandths of a core. */
  cpu?: number | null | undefined;
  /** The absolute working directory. The default is the member's own. */
  cwd?: OsText | null | undefined;
  /** The description of an agent that Kennel has no code for, as TOML. */
  description?: string | null | undefined;
  /** Whether the prompt continues when the client disconnects before the answer. */
  detach?: boolean | undefined;
  /** The environment, as in `CreateRequest`. */
  env?: Environment | undefined;
  /** Whether to start a new conversation. */
  fresh?: boolean | undefined;
  /** The time between TERM and KILL in a stop. */
  grace_ms?: number | null | undefined;
  /** The idempotency key: two requests with the same key are one prompt. */
  key?: string | null | undefined;
  /**
   * The member to ask. A member has its own directory, agent, model, turns, permissions and
   * arguments.
   */
  member?: string | null | undefined;
  /** The memory limit of the pen, in bytes. */
  memory?: number | null | undefined;
  /** The model. The default is the agent's own choice. */
  model?: string | null | undefined;
  /** A name for the session. */
  name?: string | null | undefined;
  /** The session that sends the request, if one does. */
  parent?: SessionId | null | undefined;
  /** The kind of pen. */
  pen?: PenKind | undefined;
  /** What the agent may do without asking. */
  permissions?: Permissions | undefined;
  /** The limit on processes and threads of the pen. */
  pids?: number | null | undefined;
  /** The prompt. It is never stored. */
  prompt: string;
  /** Whether to queue the prompt if the member is busy or a limit is reached. */
  queue?: boolean | undefined;
  /** Whether to retry an attempt that may already have done some of its work. */
  replay?: boolean | undefined;
  /** The conversation to continue. If the agent does not know it any more, the prompt fails. */
  resume?: string | null | undefined;
  /** How many times to retry if the provider fails. The default is 3. */
  retries?: number | null | undefined;
  /** The time within which retries may start. The default is ten minutes; 0 means no limit. */
  retry_within_ms?: number | null | undefined;
  /** The timeout of an attempt, not counting time that the machine sleeps. Unlimited by default. */
  timeout_ms?: number | null | undefined;
  /** The maximum number of turns. The default is the agent's own choice. */
  turns?: number | null | undefined;
  /** The umask of the agent. */
  umask?: number | undefined;
  /** Create a git worktree on this branch; `""` means a new branch named for the session. */
  worktree?: string | null | undefined;
};

/** The name of the caller, for the event log. */
export type ByRequest = {
  /** The name of the caller. */
  by?: string | undefined;
};

/** The result of a check. */
export type CheckView = {
  /** The name of the check. Stable. */
  name: string;
  /** Whether the check passed. */
  passed: boolean;
  /** Why the check failed, as text for users. */
  why?: string | null | undefined;
};

/** A commit. */
export type CommitView = {
  /** The commit id. */
  id: string;
  /** The first line of the commit message. */
  subject: string;
};

/** The conversation that a prompt belongs to. */
export type ConversationChoice = {
  conversation: "continue";
} | {
  conversation: "fresh";
} | {
  conversation: "resume";
  /** The id of the conversation. */
  id: string;
};

/** A request to add a member. */
export type CreateMemberRequest = {
  /** The directory that the member works in. */
  cwd: string;
  /** The member's name. */
  name: string;
  /** The agent program that the member runs, and its settings. */
  settings: AgentSettings;
};

/**
 * A request for a new session. It contains the fields of the spec and the ones below. Fields that
 * are left out have the defaults of the command line.
 */
export type CreateRequest = {
  /**
   * Set if the session runs an agent. Kennel then builds the command, and judges the result of a
   * prompt.
   */
  agent?: AgentSpec | null | undefined;
  /** The command, as exact bytes. */
  argv?: OsText[] | undefined;
  /** The name of the caller (a user or a program), for the event log. */
  asked_by?: string | undefined;
  /** Whether to run without these limits where they can't be set. */
  best_effort?: boolean | undefined;
  /** The CPU limit of its pen, in thousandths of a core. */
  cpu?: number | null | undefined;
  /** The working directory, as exact bytes. */
  cwd: OsText;
  /**
   * The exact environment of the command; Kennel adds only its own cookie. It is never stored.
   * The default contains only a `PATH` for the programs of the system.
   */
  env?: Environment | undefined;
  /** The time between TERM and KILL in a stop. */
  grace_ms?: number | undefined;
  /** How long the session may do nothing. Null: no limit. */
  idle_ms?: number | null | undefined;
  /** The idempotency key: two requests with the same key are one session. */
  key?: string | null | undefined;
  /** How long the session runs without a daemon. Null: forever. */
  lease_ms?: number | null | undefined;
  /** The resource limits of the command: resource, soft limit, hard limit. */
  limits?: Array<[number, number, number]> | undefined;
  /** How long processes that the agent leaves behind may run after its exit. */
  linger_ms?: number | undefined;
  /** The memory limit of its pen, in bytes. */
  memory?: number | null | undefined;
  /** A name for the session. */
  name?: string | null | undefined;
  /** Whether the session continues after its parent has ended. */
  outlives_parent?: boolean | undefined;
  /** The maximum output to keep on disk, in bytes. At least 128 KiB, which a journal needs. */
  output_limit?: number | undefined;
  /** The session that started this one. */
  parent?: SessionId | null | undefined;
  /** The kind of pen. */
  pen?: PenKind | undefined;
  /** The limit on processes and threads of its pen. */
  pids?: number | null | undefined;
  /**
   * The prompt for the agent, if `agent` is set; then `argv` and `stdin` must be absent. It is
   * never stored.
   */
  prompt?: string | null | undefined;
  /** Whether to queue the session if it can't start immediately. */
  queue?: boolean | undefined;
  /** How Kennel recognizes that the session is ready. */
  ready?: Readiness | undefined;
  /** The timeout for the session to become ready. Null: no limit. */
  ready_timeout_ms?: number | null | undefined;
  /** Whether to launch the session again when it fails. */
  restart?: RestartInput | undefined;
  /** Whether to also restart after a launch whose exit status is unknown: it may have succeeded. */
  restart_unknown?: boolean | undefined;
  /** How long the session may print nothing. Null: no limit. */
  silence_ms?: number | null | undefined;
  /** Whether standard error is separate from the terminal. */
  stderr_apart?: boolean | undefined;
  /** The source of standard input, if there is no terminal. */
  stdin?: StdinFrom | undefined;
  /** The signal that asks the agent to end, if it is not TERM. */
  stop_signal?: number | null | undefined;
  /** The size of the session's terminal, if it has one. */
  terminal?: TerminalSize | null | undefined;
  /** The settings of the client's terminal. */
  terminal_settings?: TerminalSettings | null | undefined;
  /** Whether the session ends when the client that started it disconnects. */
  tethered?: boolean | undefined;
  /** The timeout of the session, not counting time that the machine sleeps. Null: no limit. */
  timeout_ms?: number | null | undefined;
  /** The umask of the command. */
  umask?: number | undefined;
  /** A git worktree to create for the session. */
  worktree?: WorktreeSpecInput | null | undefined;
};

/** A request for a new token. */
export type CreateTokenRequest = {
  /** The name of the token. By default, the daemon chooses one. */
  name?: string | null | undefined;
  /** The permissions of the token. */
  scope?: Scope | undefined;
};

/** The state of the daemon. */
export type DaemonView = {
  /**
   * Variables of the daemon's own environment that are useful in the `env` of requests (`PATH`,
   * `HOME`, `LANG`, …). They contain no secrets.
   */
  environment: Record<string, string>;
  /** The path of the home. */
  home: string;
  /** The id of the home. */
  home_id: string;
  /** The TCP listener, if it is enabled. */
  listen: ListenView | null;
  /** The number of sessions that are not cleaned. */
  live: number;
  /** The pid of the daemon. */
  pid: number;
  /** The effective settings. */
  settings: SettingsView | null;
  /** When the daemon started, in RFC 3339. */
  started_at: string;
  /** The number of all recorded sessions. */
  total: number;
  /** The version of the program. */
  version: string;
  /** The pid of the yard. */
  yard_pid: number | null;
};

/** A request to end strays. */
export type EndStraysRequest = {
  /**
   * End only these strays. Processes that became strays later are left alone. Null ends all
   * strays.
   */
  only?: StrayRef[] | null | undefined;
};

/** The exact environment of a command: an object of names and values, or a list of pairs. */
export type Environment = Record<string, OsText> | Array<OsText[]>;

/** An entry of the event log. */
export type EventView = {
  /** The name of the caller, if a request caused it. */
  by: string | null;
  /** The cause, as text for users. */
  cause: string;
  /** The kind: `reserved`, `launching`, …, `wanted_stopped`, `daemon_started`, … */
  kind: string;
  /** The sequence number. Numbers increase without gaps. */
  seq: number;
  /** The session. Null for events of the daemon itself. */
  session: string | null;
  /** When it happened, in RFC 3339. */
  time: string;
};

/** Where the evidence of a verdict was found. */
export type EvidenceSource = "result" | "stdout" | "stderr" | "exit" | "kennel";

/** How an agent's process ended. */
export type Exit = {
  /** The exit code. */
  code: number;
  kind: "code";
} | {
  /** Whether it dumped core. */
  core: boolean;
  kind: "signal";
  /** Whether the OOM killer sent the signal. */
  oom: boolean;
  /** The number of the signal. */
  signal: number;
} | {
  kind: "never_ran";
} | {
  kind: "unknown";
  /** Why it is unknown. */
  why: string;
};

/** Input for a session. */
export type InputRequest = {
  /** Whether to close the input after these bytes. */
  eof?: boolean | undefined;
  /** The bytes, in hex. */
  hex?: string | undefined;
};

/** An input of a plan. */
export type InputSpec = {
  /** A description. */
  about?: string | null | undefined;
  /** The default value. Null: the input is required. */
  default?: string | null | undefined;
};

/** All details of a session. */
export type InspectView = {
  /** The pid of the keeper, while it is alive. */
  keeper_pid: number | null;
  /** Its launch. */
  launch: LaunchView;
  /** All launches of the session, oldest first. */
  launches: SessionView[];
  /** The processes in its pen. */
  members: ProcessView[];
  /** The session. */
  session: SessionView;
  /** The events of the session. */
  timeline: EventView[];
  /** Details that could not be determined, and why. */
  trouble: string[];
  /** The resources that it uses, while it is live. */
  usage: UsageView | null;
};

/** The judged attempt at a prompt. The answer itself is in the session's output. */
export type Judged = {
  /** The id of the conversation, as the agent reports it. */
  conversation?: string | null | undefined;
  /** The number of tools that it ran. */
  tools?: number | undefined;
  /** The number of turns, if the agent reported it. */
  turns?: number | null | undefined;
  /** The tokens used, and their cost. */
  usage?: TokenUsage | undefined;
  /** The verdict. */
  verdict: Verdict;
  /** Whether it did work that a retry would repeat. */
  work: Work;
};

/** A resource of a session that is kept because it contains work. */
export type KeptItem = {
  /** The resource. */
  what: OwedKind;
  /** The work in it. */
  why: string;
};

/** What failed in a launch. In JSON it is the number that `kennel run` exits with. */
export type LaunchFailure = number;

/** The secret of a launch. */
export type LaunchToken = string;

/** A launch, in `inspect`. */
export type LaunchView = {
  /** Whether the gate was opened. */
  granted: boolean;
  /** The identity of the agent's process. */
  identity: string | null;
};

/** A request for a one-time sign-in link for a browser. */
export type LinkRequest = {
  /** The permissions of the browser. */
  scope?: Scope | undefined;
};

/** A sign-in link. */
export type LinkView = {
  /** The URL. It contains a secret. */
  url: string;
  /** For how many seconds the link is valid. */
  valid_s: number;
};

/** A request to open the API over TCP. */
export type ListenRequest = {
  /**
   * The address and port; port 0 means any. The default is the configured address, or else
   * loopback.
   */
  listen?: string | null | undefined;
};

/** The state of a listener. */
export type ListenState = "open" | "failing";

/** The TCP listener of the API. */
export type ListenView = {
  /** The address and port; the actual port, if any port was requested. */
  address: string;
  /** The state of the listener. */
  state: ListenState;
  /** The URL for browsers. */
  url: string;
  /** Why the listener is not open. */
  why: string | null;
};

/** The work that would be lost, or was lost, with a worktree. */
export type LossesView = {
  /** The first few of the changed files. */
  changed: string[];
  /** The number of uncommitted changes. A file with staged and unstaged changes counts twice. */
  changes: number;
  /** The number of commits that are on no other branch. */
  commits: number;
  /** The newest of these commits. */
  newest: CommitView[];
  /** Why the contents of the worktree are unknown, if they are. It may then contain anything. */
  unknown: string | null;
  /** One sentence for each kind of loss, with a count. Empty means that no loss is known. */
  why: string[];
};

/** The caller, and the daemon that it is connected to. */
export type MeView = {
  /** The path of the home. */
  home: string;
  /** The host name of the machine. */
  host: string;
  /** The name of the caller's token or browser. Null on the Unix socket. */
  name: string | null;
  /** The permissions of the caller. */
  scope: Scope;
  /** The version of the daemon. */
  version: string;
  /** How the caller is authenticated. */
  via: AccessMethod;
};

/** A member as programs see it. Field names are stable: fields are added, never renamed or removed. */
export type MemberView = {
  /** The number of judged attempts at prompts. */
  attempts: number;
  /** When that prompt started, in RFC 3339. */
  busy_since: string | null;
  /** The session of the prompt that the member works on now. */
  busy_with: string | null;
  /** The member's latest conversation. */
  conversation: string | null;
  /** When the member was added, in RFC 3339. */
  created_at: string;
  /** The directory that the member works in. */
  cwd: string;
  /** When the latest attempt was judged, in RFC 3339. */
  last_at: string | null;
  /** The session of the latest attempt. */
  last_session: string | null;
  /** The verdict of the latest attempt. */
  last_verdict: VerdictKind | null;
  /** The member's name. */
  name: string;
  /** The agent program that the member runs, and its settings. */
  settings: AgentSettings;
  /** The tokens and cost of all its prompts so far. */
  usage: TokenUsage;
  /** The number of prompts that are queued for this member. */
  waiting: number;
};

/** The name of a plan, a stage, an agent or an input. */
export type Name = string;

/** What happens when an agent fails. */
export type OnFailure = "fail_plan" | "continue";

/** A string that may not be valid UTF-8: a plain string if it is, or else its bytes in hex. */
export type OsText = string | {
  hex: string;
};

/** A resource that Kennel must remove after the session. It is on record before it is created. */
export type Owed = {
  /** How many times the removal failed. */
  failures: number;
  /** The resource. */
  what: OwedKind;
  /** The error of the last attempt. */
  why: string | null;
};

/** A resource that Kennel creates for a session. */
export type OwedKind = {
  kind: "runtime_files";
} | {
  kind: "pen_folder";
  /** The path. */
  path: string;
} | {
  /** The branch. */
  branch: string;
  kind: "worktree";
  /** The path of the worktree. */
  path: string;
  /** The worktree code's own record, needed to create and remove it. */
  record: string | null;
  /** The repository. */
  repo: string;
};

/** The kind of pen. */
export type PenKind = "auto" | "cgroup" | "subtree" | "pidns";

/** A number from 0 to 100. */
export type Percent = number;

/** A number from 0 to 100. */
export type PercentInput = number;

/** What an agent may do without asking. During a prompt there is no user to ask. */
export type Permissions = "default" | "read_only" | "edit" | "all";

/**
 * The phase of a session, as last observed. `kennel-core` has the state diagram, in its lifecycle
 * module.
 */
export type Phase = "queued" | "making" | "reserved" | "launching" | "starting" | "running" | "stopping" | "lost" | "reaped" | "cleaned";

/** One prompt to one agent. */
export type PlanAgent = {
  /** Additional arguments, passed on unchanged. */
  args?: string[] | undefined;
  /** The working directory. Null: the directory of the plan run, or the member's. */
  cwd?: string | null | undefined;
  /** The model. Null: the agent's own choice. */
  model?: string | null | undefined;
  /** The name of the agent in its stage. */
  name: Name;
  /**
   * What happens when the agent fails. Null: the default of its stage, see
   * `StageSpec::on_failure`.
   */
  on_failure?: OnFailure | null | undefined;
  /**
   * What the agent may do without asking. Null: the member's permissions, or the agent's own
   * settings.
   */
  permissions?: Permissions | null | undefined;
  /** The prompt. */
  prompt: Prompt;
  /** How many times to retry the prompt. Null: the default for prompts. */
  retries?: number | null | undefined;
  /** The timeout of the agent. Null: no limit. */
  timeout_ms?: number | null | undefined;
  /** The maximum number of turns. Null: the agent's own choice. */
  turns?: number | null | undefined;
  /** The agent or member to ask. */
  who: PlanTarget;
  /** A git worktree to create for the agent. */
  worktree?: PlanWorktree | null | undefined;
};

/** The status of an agent in a plan. */
export type PlanAgentStatus = "waiting" | "asking" | "running" | "stopping" | "succeeded" | "failed" | "cancelled" | "skipped";

/** An agent of a plan. */
export type PlanAgentView = {
  /** The agent program that is asked, if it is not a member. */
  agent: string | null;
  /** How many times the agent was asked. */
  asks: number;
  /** The member that is asked, if any. */
  member: string | null;
  /** The name of the agent in its stage. */
  name: string;
  /** The session, if it exists or existed. */
  session: string | null;
  /** The status of the agent. */
  state: PlanAgentStatus;
  /** The tokens and cost, as far as known. */
  usage: TokenUsage;
  /** The verdict, once the prompt is judged. */
  verdict: VerdictKind | null;
  /** A short explanation, as text for users. */
  why: string;
};

/** The position of a session in a plan. */
export type PlanPosition = {
  /** Which ask of this agent it is, from 1. */
  ask: number;
  /** The agent in the plan: `STAGE.AGENT`. */
  name: string;
  /** The id of the plan. */
  plan: string;
};

/** A request to run a plan, with the environment of the client. */
export type PlanRequest = {
  /** The name of the caller, for the event log. */
  by?: string | undefined;
  /** Whether the daemon cancels the plan when the client disconnects. */
  cancel_on_disconnect?: boolean | undefined;
  /** The directory for agents without one of their own, as exact bytes. */
  cwd: OsText;
  /** The environment of the agents, as in `CreateRequest`. */
  env?: Environment | undefined;
  /** A value for each input of the plan. */
  inputs?: Record<string, string> | undefined;
  /** The resource limits of the agents: resource, soft limit, hard limit. */
  limits?: Array<[number, number, number]> | undefined;
  /** The kind of pen for its sessions. */
  pen?: PenKind | undefined;
  /** The plan, with all its prompts. */
  spec: PlanSpec;
  /** The umask of the agents. */
  umask?: number | undefined;
};

/** A request to resume a plan: agents without an answer are asked again. */
export type PlanResumeRequest = {
  /** The name of the caller, for the event log. */
  by?: string | undefined;
  /** Whether the daemon cancels the plan when the client disconnects. */
  cancel_on_disconnect?: boolean | undefined;
  /** The environment of the agents, as in `PlanRequest`. */
  env?: Environment | undefined;
  /** The resource limits of the agents: resource, soft limit, hard limit. */
  limits?: Array<[number, number, number]> | undefined;
  /** Whether to repeat agents that may have run already. */
  replay?: boolean | undefined;
  /** The umask of the agents. */
  umask?: number | undefined;
};

/**
 * A plan: stages of agents, one stage after the other. New fields need a default, so that older
 * records stay readable. Records may contain fields of a newer version; requests may not, see
 * `PlanSpec::from_request`.
 */
export type PlanSpec = {
  /** A description. */
  about?: string | null | undefined;
  /** The maximum number of agents that work at the same time. Null: all agents of a stage. */
  concurrency?: number | null | undefined;
  /** The inputs that prompts can refer to. */
  inputs?: Record<string, InputSpec> | undefined;
  /** The name of the plan. */
  name: Name;
  /** The stages, in order. */
  stages: StageSpec[];
  /** The time for the whole plan. Null: no limit. */
  timeout_ms?: number | null | undefined;
};

/** The status of a plan. */
export type PlanStatus = "running" | "stopping" | "succeeded" | "failed" | "timed_out" | "cancelled";

/** The agent or member to ask. */
export type PlanTarget = {
  agent: string;
} | {
  member: string;
};

/** A plan run, as `--json` and the API show it. */
export type PlanView = {
  /** When the run started, in RFC 3339. */
  created_at: string;
  /** When the run ended, in RFC 3339. */
  ended_at: string | null;
  /** The id of this run. */
  id: string;
  /** The name of the plan. */
  name: string;
  /** The stages, in order. */
  stages: StageView[];
  /** The status of the plan. */
  state: PlanStatus;
  /** The tokens and cost of all agents, as far as known. */
  usage: TokenUsage;
  /** Why the plan is stopping or has ended, as text for users. */
  why: string | null;
};

/** The branch of a worktree. */
export type PlanWorktree = "own" | {
  branch: string;
};

/** An error response: problem details as in RFC 9457. */
export type ProblemDetails = {
  /**
   * The type for programs: `not_found`, `ambiguous`, `conflict`, `refused`, `invalid`, `busy`,
   * `gone`, `internal`, … Stable.
   */
  code: string;
  /** What went wrong in this request, as text for users. */
  detail: string;
  /** What to do about it, if there is a suggestion. */
  hint?: string | null | undefined;
  /** The HTTP status. */
  status: number;
  /** A short description of the type, the same for all problems of this type. */
  title: string;
  /** The type of the problem: `urn:kennel:` and the code. */
  type: string;
};

/** A process of a session, in `inspect`. */
export type ProcessView = {
  /** The command line. */
  command: string;
  /** The short name of its program. */
  name: string;
  /** The pid of its parent. */
  parent: number;
  /** The pid. */
  pid: number;
  /** The kernel's state letter. */
  state: string;
};

/** The prompt of an agent. It can contain references such as `{{STAGE.AGENT}}`. */
export type Prompt = {
  text: string;
} | {
  file: string;
};

/** Selects the ended sessions to remove. In a `GET` request, the daemon only lists them. */
export type PruneRequest = {
  /** Remove only sessions that ended longer ago than this. */
  older_than_ms?: number | null | undefined;
};

/** The result of a prune. */
export type PruneResponse = {
  /** The ids of the removed sessions. */
  removed: string[];
  /** Sessions that were not removed because their idempotency key is still valid. */
  with_keys: string[];
  /** Sessions that were not removed because their worktree is kept. */
  with_worktrees: string[];
};

/**
 * The sign that a session is ready. Written as `none`, `line:REGEX`, `socket:PATH`, `tcp:PORT`,
 * `tcp:HOST:PORT`, `http://HOST/PATH`, `report`.
 */
export type Readiness = {
  kind: "none";
} | {
  kind: "line";
  /** The regular expression. */
  pattern: string;
} | {
  kind: "socket";
  /** The path of the socket. */
  path: string;
} | {
  /** The host. The default is this machine. */
  host: string;
  kind: "tcp";
  /** The port. */
  port: number;
} | {
  kind: "http";
  /** The URL. */
  url: string;
} | {
  kind: "report";
};

/** Whether a session is ready. It never changes back. */
export type ReadyState = "unasked" | "waiting" | "ready" | "missed";

/** Whether the daemon can do its work. */
export type ReadyView = {
  /** The checks. */
  checks: CheckView[];
  /** Whether all checks passed. */
  ready: boolean;
};

/** Why a session ended. */
export type Reason = {
  kind: "exited";
} | {
  /** The name of the caller. */
  by: string;
  kind: "stopped";
} | {
  kind: "client_gone";
} | {
  kind: "parent_ended";
} | {
  kind: "shutdown";
} | {
  /** What failed. */
  code: LaunchFailure;
  kind: "failed";
  /** The error message. */
  why: string;
} | {
  kind: "lease_over";
} | {
  /** The time that it had. */
  after_ms: number;
  kind: "not_ready";
  /** The last observation before the timeout. */
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
  /** The name of the caller. */
  by: string;
  kind: "forgotten";
};

/** Whether another launch follows the latest one. */
export type RelaunchState = {
  relaunch: "undecided";
} | {
  relaunch: "pending";
} | {
  relaunch: "launched";
} | {
  /** The name of the caller, or the cause. */
  by: string;
  relaunch: "called_off";
};

/** A request to restart the daemon in place. */
export type ReplaceRequest = {
  /** The program to start. The default is the same program. */
  program?: string | null | undefined;
};

/** A report that an agent sends about itself. */
export type ReportRequest = {
  /** The session or launch that the report is about: `$KENNEL_SESSION`. */
  session?: string | undefined;
  /** The secret of the launch. */
  token?: LaunchToken | null | undefined;
} & ({
  report: "ready";
} | {
  report: "busy";
} | {
  report: "idle";
} | {
  report: "title";
  /** The title, as text for users. */
  title: Title;
} | {
  /** The progress, in percent. */
  percent: PercentInput;
  report: "progress";
});

/** What to do when a launch failed. Written as `never`, `on-failure`, `on-failure:N`. */
export type Restart = {
  policy: "never";
} | {
  /** The maximum number of restarts. Null: no limit. */
  most: number | null;
  policy: "on_failure";
};

/** What to do when a launch failed. Written as `never`, `on-failure`, `on-failure:N`. */
export type RestartInput = {
  policy: "never";
} | {
  /** The maximum number of restarts. Null: no limit. */
  most?: number | null | undefined;
  policy: "on_failure";
};

/**
 * A request for another launch of an ended session: the same command in the same directory, with a
 * new environment.
 */
export type ResumeRequest = {
  /**
   * The launch to follow. If a later one already exists, the daemon returns that one. The default
   * is the latest launch.
   */
  after?: SessionId | null | undefined;
  /** The name of the caller, for the event log. */
  by?: string | undefined;
  /** The environment, as in `CreateRequest`. */
  env?: Environment | undefined;
  /** The resource limits of the command: resource, soft limit, hard limit. */
  limits?: Array<[number, number, number]> | undefined;
  /** The session that sends the request, if one does. */
  parent?: SessionId | null | undefined;
  /** Whether to queue the session if it can't start immediately. */
  queue?: boolean | undefined;
  /** Whether standard error is separate from the terminal. */
  stderr_apart?: boolean | undefined;
  /** The source of standard input, if there is no terminal. */
  stdin?: StdinFrom | undefined;
  /** The settings of the client's terminal. */
  terminal_settings?: TerminalSettings | null | undefined;
  /** Whether the session ends when the client disconnects. */
  tethered?: boolean | undefined;
  /** The umask of the command. */
  umask?: number | undefined;
};

/** The result of revoking a token. */
export type RevokeResponse = {
  /** The number of connections that were closed. */
  cut: number;
};

/** The permissions of a caller. */
export type Scope = "full" | "read_only";

/** A token with its secret. */
export type SecretView = {
  /** The number of connections of the previous token that were closed. */
  cut: number;
  /** The secret to send in requests. */
  secret: string;
  /** The token. */
  token: TokenView;
};

/**
 * The id of a launch: 12 characters, of which the first 8 encode the time. The first launch has
 * the id of its session; the nth launch has `_n` appended. Ids sort by time, and the launches of a
 * session stay together, in order.
 */
export type SessionId = string;

/** One page of a list of sessions. */
export type SessionPage = {
  /** The `after` of the next page. Null on the last page. */
  next: SessionId | null;
  /** The sessions. */
  sessions: SessionView[];
};

/** A command and how to run it. New fields need a default, so that older records stay readable. */
export type SessionSpec = {
  /**
   * Set if the session runs an agent. Kennel then builds the command, and judges the result of a
   * prompt.
   */
  agent?: AgentSpec | null | undefined;
  /** The command and its arguments, for display. Bytes that are not valid UTF-8 are replaced. */
  argv?: string[] | undefined;
  /** The name of the caller (a user or a program), for the event log. */
  asked_by: string;
  /** Whether to run without these limits where they can't be set. */
  best_effort?: boolean | undefined;
  /** The CPU limit of its pen, in thousandths of a core. */
  cpu?: number | null | undefined;
  /** The working directory. */
  cwd?: string | undefined;
  /** The time between TERM and KILL in a stop. */
  grace_ms: number;
  /** How long the session may do nothing. Null: no limit. */
  idle_ms?: number | null | undefined;
  /** The idempotency key: two requests with the same key are one session. */
  key?: string | null | undefined;
  /** How long the session runs without a daemon. Null: forever. */
  lease_ms: number | null;
  /** How long processes that the agent leaves behind may run after its exit. */
  linger_ms: number;
  /** The memory limit of its pen, in bytes. */
  memory?: number | null | undefined;
  /** A name for the session. */
  name?: string | null | undefined;
  /** Whether the session continues after its parent has ended. */
  outlives_parent: boolean;
  /** The maximum output to keep on disk, in bytes. At least 128 KiB, which a journal needs. */
  output_limit: number;
  /** The session that started this one. */
  parent?: SessionId | null | undefined;
  /** The kind of pen. */
  pen: PenKind;
  /** The limit on processes and threads of its pen. */
  pids?: number | null | undefined;
  /** How Kennel recognizes that the session is ready. */
  ready?: Readiness | undefined;
  /** The timeout for the session to become ready. Null: no limit. */
  ready_timeout_ms?: number | null | undefined;
  /** Whether to launch the session again when it fails. */
  restart?: Restart | undefined;
  /** Whether to also restart after a launch whose exit status is unknown: it may have succeeded. */
  restart_unknown?: boolean | undefined;
  /** How long the session may print nothing. Null: no limit. */
  silence_ms?: number | null | undefined;
  /** Whether clients can write to its standard input. Always true with a terminal. */
  stdin?: boolean | undefined;
  /** The signal that asks the agent to end, if it is not TERM. */
  stop_signal?: number | null | undefined;
  /** The size of the session's terminal, if it has one. */
  terminal?: TerminalSize | null | undefined;
  /** Whether the session ends when the client that started it disconnects. */
  tethered: boolean;
  /** The timeout of the session, not counting time that the machine sleeps. Null: no limit. */
  timeout_ms?: number | null | undefined;
  /** A git worktree to create for the session. */
  worktree?: WorktreeSpec | null | undefined;
};

/** The resources that a session uses now. */
export type SessionUsage = {
  /** Recent samples, oldest first, if they were requested. */
  history?: UsageSample[] | null | undefined;
  /** The session id. */
  id: string;
  /** The session name. */
  name: string | null;
  /** The phase of the session. */
  phase: Phase;
  /** Why the usage is unknown, if that is unexpected. */
  trouble?: string | null | undefined;
  /** The resources of its pen, while the pen exists and its keeper responds. */
  usage: UsageView | null;
};

/** A session, as `--json` and the API show it. */
export type SessionView = {
  /** Whether the agent is busy, as it reports. */
  activity: AgentActivity | null;
  /** The number of this launch: 1 for the first. */
  attempt: number;
  /** When it was requested, in RFC 3339 with milliseconds. */
  created_at: string;
  /** When Kennel saw the session end, in RFC 3339. */
  ended_at: string | null;
  /** How the agent ended. */
  exit: Exit | null;
  /** The exit code that a shell would show. */
  exit_code: number | null;
  /** The session's directory in the home. */
  folder: string;
  /** The id of this launch. */
  id: string;
  /** The result of the prompt, once it is judged. */
  judged?: Judged | null | undefined;
  /** Resources that are kept because they contain work. */
  kept: KeptItem[];
  /** The idempotency key. */
  key: string | null;
  /** The number of launches of the session. */
  launches: number;
  /** The name, if it has one. */
  name: string | null;
  /** Resources that Kennel still has to remove. */
  owed: Owed[];
  /**
   * The directory of its cgroup, or `subtree` or `pidns` for the other kinds. Null before the
   * pen exists.
   */
  pen: string | null;
  /** The phase, as last observed. */
  phase: Phase;
  /** The pid of the agent, once it exists. */
  pid: number | null;
  /** The progress that the agent reports, in percent. */
  progress: Percent | null;
  /** The position in the queue, if it is queued: 1 is next. */
  queue_position: number | null;
  /** Whether the session is ready. */
  ready: ReadyState;
  /** Why the session ended. */
  reason: Reason | null;
  /** Whether another launch follows. */
  relaunch: RelaunchState;
  /** The id of the session, which all its launches share. */
  session: string;
  /** The requested spec. */
  spec: SessionSpec;
  /** When the program started, in RFC 3339. */
  started_at: string | null;
  /** The origin of the process. */
  started_by: StartedBy;
  /** Processes that could not be ended. */
  survivors: Survivor[];
  /** The title that the agent reports. */
  title: Title | null;
  /**
   * Problems of the launch that did not prevent it, such as a limit that can't be enforced, as
   * far as the running daemon knows. The event log has all of them.
   */
  trouble?: string[] | undefined;
  /** Whether the outcome could not be stored. */
  unrecorded: boolean;
  /** The desired state: `running` or `stopped`. */
  wanted: string;
};

/**
 * The daemon's effective settings, from kennel.toml and the daemon's environment. The names are
 * those of the configuration file.
 */
export type SettingsView = {
  /** The number of ended sessions to keep on record. */
  ended_kept: number;
  /** How long an idempotency key stays valid after its session ended. */
  key_retention_ms: number;
  /** The maximum number of sessions that are launched at the same time. Null means no limit. */
  max_launching: number | null;
  /** The maximum number of live sessions. Null means no limit. */
  max_live: number | null;
  /** The maximum number of live sessions for each name pattern. */
  max_live_by_name: Record<string, number>;
  /** The free disk space that a launch requires, in bytes. */
  min_free_disk: number;
  /** The free memory that a launch requires, in bytes. */
  min_free_memory: number;
  /** The directory for worktrees. */
  worktrees: string;
};

/** One line of the response to a shutdown of the daemon. */
export type ShutdownLine = StopResponse | {
  /** Always true. */
  done: boolean;
};

/** A request to shut the daemon down. */
export type ShutdownRequest = {
  /** The time between TERM and KILL, as in `StopRequest`. */
  grace_ms?: number | null | undefined;
  /** Whether to leave the sessions running. */
  keep?: boolean | undefined;
};

/** A request to send a signal to every process in a session's pen. */
export type SignalRequest = {
  /** The number of the signal. */
  signal: number;
};

/** Agents that work at the same time. */
export type StageSpec = {
  /** The agents. */
  agents: PlanAgent[];
  /** The name of the stage. */
  name: Name;
  /** How many agents must succeed. Null: see `on_failure` of each agent. */
  need?: number | null | undefined;
  /** Whether to stop the other agents once enough have succeeded. */
  stop_rest?: boolean | undefined;
};

/** A stage of a plan. */
export type StageView = {
  /** The agents, in order. */
  agents: PlanAgentView[];
  /** The name of the stage. */
  name: string;
  /** How many agents must succeed, if the plan defines it. */
  need: number | null;
};

/** The origin of a session's process. */
export type StartedBy = "kennel" | "terminal";

/** The source of standard input. */
export type StdinFrom = "null" | "pipe" | {
  deposit: {
    /** The ticket: 32 hex digits. */
    ticket: string;
  };
};

/** A request to stop a session. */
export type StopRequest = {
  /** The name of the caller, for the event log. */
  by?: string | undefined;
  /** The time between TERM and KILL. The default is the session's own grace. */
  grace_ms?: number | null | undefined;
  /** Whether to send KILL immediately. */
  now?: boolean | undefined;
  /**
   * How long to wait for the end. The default is to wait as long as it takes. After this time
   * the response is `still_alive`, and the stop continues.
   */
  wait_ms?: number | null | undefined;
};

/** The response to a stop request. */
export type StopResponse = {
  /** The result. */
  result: StopResult;
  /** The session after the stop. */
  session: SessionView;
  /** The processes that are still alive. */
  survivors: Survivor[];
  /** How long the stop took. */
  took_ms: number;
};

/** The result of a stop. */
export type StopResult = "stopped" | "already_gone" | "still_alive";

/** A reference to a stray. The pid alone is not enough, because another process may have it by now. */
export type StrayRef = {
  /** The pid. */
  pid: number;
  /** The session whose mark the process carries. */
  session: string;
};

/** A process that carries this home's mark and belongs to no live session. */
export type StrayView = {
  /** The command line. */
  command: string;
  /** How Kennel recognized it: `pen` or `cookie`. */
  mark: string;
  /** The short name of its program. */
  name: string;
  /** The pid. */
  pid: number;
  /** The session whose mark it carries. */
  session: string;
};

/** The result of ending strays. */
export type StraysEnded = {
  /** The strays that ended. */
  ended: StrayView[];
  /** The strays that are still alive. */
  still_alive: StrayView[];
};

/** The strays of this home. */
export type StraysView = {
  /**
   * Processes of a live session that are outside its pen, because another daemon started them.
   * Kennel does not own them.
   */
  outside: StrayView[];
  /** Processes that belong to no live session. */
  strays: StrayView[];
};

/** A process that could not be ended. */
export type Survivor = {
  /** The short name of its program. */
  name: string;
  /** The pid. */
  pid: number;
  /** Why it is still alive. */
  why: string;
};

/** The contents of `termios`, as numbers. */
export type TerminalSettings = {
  /** The special characters. */
  characters: number[];
  /** The input, output, control and local modes. */
  modes: number[];
};

/** The size of a terminal. */
export type TerminalSize = {
  /** The number of characters in a line. */
  columns: number;
  /** The number of lines. */
  rows: number;
};

/** A title: one line of 1 to 200 characters, without control characters. */
export type Title = string;

/** The kind of an entry in the list of tokens. */
export type TokenKind = "main" | "extra" | "browser";

/** The tokens and cost of prompts. */
export type TokenUsage = {
  /** Tokens that the model read from a cache. */
  cached_tokens: number;
  /** The cost, in millionths of a dollar, as far as the agent reports it. */
  cost_micros: number;
  /** Tokens that the model read, without cached ones. */
  input_tokens: number;
  /** Tokens that the model wrote. */
  output_tokens: number;
};

/** A token, without its secret. */
export type TokenView = {
  /** When the token expires, in RFC 3339. */
  expires_at: string | null;
  /** The kind of the token. */
  kind: TokenKind;
  /** When the token was created, in RFC 3339. Unknown for the main token. */
  made_at: string | null;
  /** The name of the token. */
  name: string;
  /** The permissions of the token. */
  scope: Scope;
};

/** Recent samples of one session. */
export type UsageHistory = {
  /** The id of the session's latest launch. */
  id: string;
  /** The samples, oldest first. */
  samples: UsageSample[];
};

/** The resources that a session used at one time. */
export type UsageSample = {
  /** The time, in milliseconds since 1970. */
  at_ms: number;
  /** The CPU time of all its processes so far. */
  cpu_ms: number;
  /** The CPU usage since the previous sample, in percent of one core. Null in the first sample. */
  cpu_percent: number | null;
  /** The memory in use. */
  memory_bytes: number;
  /** The number of processes. */
  processes: number;
};

/** The resources that a pen uses. */
export type UsageView = {
  /** The CPU time of all its processes so far. */
  cpu_ms: number;
  /** The memory in use now. */
  memory_bytes: number;
  /** The number of processes now. */
  processes: number;
};

/** A verdict and its evidence. */
export type Verdict = {
  /** The evidence, verbatim, at most `MAX_EVIDENCE_BYTES` of it. */
  evidence: string;
  /** The verdict. */
  kind: VerdictKind;
  /** How long to wait before a retry, according to the provider. */
  retry_after_ms?: number | null | undefined;
  /** Where the evidence was found. */
  source: EvidenceSource;
};

/** The result of a prompt. */
export type VerdictKind = "succeeded" | "auth" | "stale_conversation" | "overloaded" | "rate_limited" | "server" | "unreachable" | "untrusted_folder" | "max_turns" | "refused_flags" | "cancelled" | "timed_out" | "killed" | "crashed" | "unknown";

/** Whether an attempt did work that a retry would repeat. */
export type Work = "none" | "unknown" | "tools";

/** A worktree, and the work that would be or was lost with it. */
export type WorktreeLosses = {
  /** The losses. */
  losses: LossesView;
  /** The worktree. */
  worktree: WorktreeView;
};

/**
 * A git worktree and its branch. The client chooses the branch; the daemon decides the rest before
 * it accepts the session.
 */
export type WorktreeSpec = {
  /** The requested branch. Null: a new branch named for the session. */
  asked: string | null;
  /** The commit that the worktree starts from. */
  base: string | null;
  /** The branch. */
  branch: string;
  /** The path of the worktree. */
  path: string;
  /** The worktree code's own record. Null: nothing is decided yet. */
  record: string | null;
  /** The repository. */
  repo: string;
  /**
   * Whether the client's checkout had uncommitted changes, which the worktree does not contain.
   * Null: unknown.
   */
  uncommitted: boolean | null;
};

/**
 * A git worktree and its branch. The client chooses the branch; the daemon decides the rest before
 * it accepts the session.
 */
export type WorktreeSpecInput = {
  /** The requested branch. Null: a new branch named for the session. */
  asked?: string | null | undefined;
  /** The commit that the worktree starts from. */
  base?: string | null | undefined;
  /** The branch. */
  branch?: string | undefined;
  /** The path of the worktree. */
  path?: string | undefined;
  /** The worktree code's own record. Null: nothing is decided yet. */
  record?: string | null | undefined;
  /** The repository. */
  repo?: string | undefined;
  /**
   * Whether the client's checkout had uncommitted changes, which the worktree does not contain.
   * Null: unknown.
   */
  uncommitted?: boolean | null | undefined;
};

/** The state of a worktree. */
export type WorktreeState = "in_use" | "owed" | "kept";

/** A worktree of a session. */
export type WorktreeView = {
  /** The branch. */
  branch: string;
  /** The error of the last attempt. */
  failed_because: string | null;
  /** How many times its removal failed. */
  failures: number;
  /** Why it is kept. Null while it is in use or to be removed. */
  kept_because: string | null;
  /** The name of the session, if it has one. */
  name: string | null;
  /** The path of the worktree. */
  path: string;
  /** The repository. */
  repo: string;
  /** The launch that has the worktree. */
  session: string;
  /** The state of the worktree. */
  state: WorktreeState;
};

/** The worktrees of sessions: in use, or kept. */
export type WorktreesView = {
  /** The worktrees. */
  worktrees: WorktreeView[];
};

/** The parameters and the response of each operation. The response of a stream is `never`. */
export interface Operations {
  /** Returns `ok` if the daemon responds */
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
  /** Creates a one-time sign-in link for a browser (Unix socket only) */
  makeLink: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: LinkRequest;
    answer: LinkView;
  };
  /** Serves the API over TCP as well (Unix socket only) */
  listen: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: ListenRequest;
    answer: ListenView;
  };
  /** Signs a browser out and revokes its cookie */
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
  /** Shows the main token (Unix socket only) */
  getToken: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: SecretView;
  };
  /** Lists tokens without their secrets (Unix socket only) */
  listTokens: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: undefined;
    answer: TokenView[];
  };
  /** Creates a token (Unix socket only) */
  addToken: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: CreateTokenRequest;
    answer: SecretView;
  };
  /** Revokes a token and closes its connections (Unix socket only) */
  revokeToken: {
    path: {
      /** The name */
      name: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: RevokeResponse;
  };
  /** Replaces the secret of a token (Unix socket only) */
  rotateToken: {
    path: {
      /** The name */
      name: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: SecretView;
  };
  /** Adopts a user's process as a session */
  adopt: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: AdoptRequest;
    answer: AdoptResponse;
  };
  /** Sends a prompt to a member or an agent; can stream the answer as events */
  ask: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: AskRequest;
    answer: SessionView;
  };
  /** Shows the state of the daemon */
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
  /** Shuts the daemon down, with or without its sessions, and reports the progress */
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
      /** Kinds of events, separated by commas. Empty: all kinds. */
      kind?: string | undefined;
      session?: string | undefined;
      /** Only events after this number. */
      since?: number | undefined;
      /** Only events among this many at the end of the log. 0: only new events. */
      tail?: number | undefined;
      /** Only events up to and including this number. Then `follow` has no effect. */
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
    answer: MemberView[];
  };
  /** Adds a member */
  addMember: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: CreateMemberRequest;
    answer: MemberView;
  };
  /** Shows a member */
  getMember: {
    path: {
      /** The name */
      name: string;
    };
    query: Record<string, never>;
    body: undefined;
    answer: MemberView;
  };
  /** Removes a member */
  removeMember: {
    path: {
      /** The name */
      name: string;
    };
    query: {
      /** The name of the caller, for the event log. */
      by?: string | undefined;
      /** Whether to remove it even if it is in use or work would be lost. */
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
  /** Runs the unfinished agents of a plan */
  resumePlan: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: Record<string, never>;
    body: PlanResumeRequest;
    answer: PlanView;
  };
  /** Waits until a plan ends */
  waitForPlan: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** Whether disconnecting before the end stops the session or plan. */
      cancel_on_disconnect?: boolean | undefined;
    };
    body: undefined;
    answer: PlanView;
  };
  /** Lists the sessions that a prune would remove */
  previewPrune: {
    path: Record<string, never>;
    query: {
      /** Remove only sessions that ended longer ago than this. */
      older_than_ms?: number | undefined;
    };
    body: undefined;
    answer: PruneResponse;
  };
  /** Removes ended sessions from the record */
  prune: {
    path: Record<string, never>;
    query: Record<string, never>;
    body: PruneRequest;
    answer: PruneResponse;
  };
  /** Receives a report from an agent about its own state */
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
      /** Only sessions after this one: the `next` of the previous page. */
      after?: string | undefined;
      /** Whether to include sessions that have ended. */
      all?: boolean | undefined;
      /** Only sessions with this idempotency key. */
      key?: string | undefined;
      /** The maximum number of sessions on a page, from 1 to 1,000. The default is 1,000. */
      limit?: number | undefined;
      /** Only prompts to this member. */
      member?: string | undefined;
      /** Only sessions with this name. */
      name?: string | undefined;
      /** The order of the list. The default is `oldest`. */
      order?: "oldest" | "newest" | undefined;
      /** Only sessions that this session started. */
      parent?: string | undefined;
      /** Only sessions in this phase. */
      phase?: "queued" | "making" | "reserved" | "launching" | "starting" | "running" | "stopping" | "lost" | "reaped" | "cleaned" | undefined;
      /** Only sessions of this plan. */
      plan?: string | undefined;
    };
    body: undefined;
    answer: SessionPage;
  };
  /** Creates a session, from a command or from a prompt to an agent, and launches it */
  createSession: {
    path: Record<string, never>;
    query: {
      /** The session that the same request created before the daemon was killed, if the client reconnects to it. */
      rejoin?: string | undefined;
      /** The state that a session must reach before the daemon responds. */
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
  /** Returns the answer of an agent, or streams everything it does as events */
  getAnswer: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** Whether disconnecting from the stream cancels the prompt, for a client that sent it and reconnects. */
      cancel_on_disconnect?: boolean | undefined;
      format?: "json" | "sse" | undefined;
      /** Whether to wait until the prompt is over. */
      wait?: boolean | undefined;
    };
    body: undefined;
    answer: AnswerView;
  };
  /** Forgets a lost session, which Kennel can no longer observe */
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
      /** The streams to return. A terminal has only one, which counts as standard output. */
      stream?: "both" | "stdout" | "stderr" | undefined;
      /** Only this many lines from the end. */
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
      /** The session that the same request created before the daemon was killed, if the client reconnects to it. */
      rejoin?: string | undefined;
      /** The state that a session must reach before the daemon responds. */
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
    answer: StopResponse;
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
      /** Begin with the output from this offset. */
      from?: number | undefined;
      read_only?: boolean | undefined;
      /** Without `from` and `tail`: the earlier output to begin with. */
      replay?: "screen" | "none" | "all" | undefined;
      /** The height of the client's window. */
      rows?: number | undefined;
      /** Without `from`: begin with this many lines from the end. */
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
  /** Waits until a session ends, or, for a prompt, until its verdict is on record */
  waitForSession: {
    path: {
      /** An id, a name, or an unambiguous prefix of an id */
      reference: string;
    };
    query: {
      /** Whether disconnecting before the end stops the session or plan. */
      cancel_on_disconnect?: boolean | undefined;
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
  /** Ends all strays, or only the given ones */
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
      /**
       * How many recent samples to include for each session, at most 300. The daemon takes samples
       * while clients request them.
       */
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
      /** The name of the caller, for the event log. */
      by?: string | undefined;
      /** Whether to remove it even if it is in use or work would be lost. */
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

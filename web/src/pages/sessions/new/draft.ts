/** The values of the new-session form, and the request made from them. */
import { BY, type ApiError } from "../../../api/http.ts";
import type { AskRequest, CreateRequest, Permissions, SessionView } from "../../../api/types.ts";
import { environment } from "../../../state/environment.ts";
import { split } from "./argv.ts";
import { cores, count, size, time } from "./quantities.ts";

export interface Draft {
  kind: "command" | "prompt";
  command: string;
  inShell: boolean;
  terminal: boolean;
  /** `member:NAME` or `agent:NAME`; `agent:` is a custom agent. */
  target: string;
  agentName: string;
  description: string;
  prompt: string;
  model: string;
  permissions: Permissions;
  fresh: boolean;
  folder: string;
  name: string;
  worktree: boolean;
  branch: string;
  memory: string;
  cpu: string;
  pids: string;
  timeout: string;
  idle: string;
  bestEffort: boolean;
  restart: boolean;
  restarts: string;
  queue: boolean;
  env: string;
}

export const BLANK: Draft = {
  kind: "command", command: "", inShell: false, terminal: true, target: "agent:claude", agentName: "", description: "", prompt: "",
  model: "", permissions: "default", fresh: false, folder: "", name: "", worktree: false, branch: "", memory: "", cpu: "", pids: "",
  timeout: "", idle: "", bestEffort: false, restart: false, restarts: "", queue: false, env: "",
};

/** Validation errors by field; `all` if an error belongs to no field. */
export type FieldErrors = Partial<Record<keyof Draft | "all", string>>;
export type Request = { path: "/v1/sessions"; body: CreateRequest } | { path: "/v1/ask"; body: AskRequest };

/** Returns the request, or all validation errors. */
export function buildRequest(draft: Draft, key: string, base: Record<string, string>): { request: Request } | { wrong: FieldErrors } {
  const wrong: FieldErrors = {};
  const shared = { ...limits(draft, wrong), ...common(draft, base, wrong), key };
  const request: Request =
    draft.kind === "command"
      ? { path: "/v1/sessions", body: { ...shared, ...command(draft, wrong), asked_by: BY } }
      : { path: "/v1/ask", body: { ...shared, ...prompt(draft, wrong), by: BY, detach: true } };
  return Object.keys(wrong).length > 0 ? { wrong } : { request };
}

function common(draft: Draft, base: Record<string, string>, wrong: FieldErrors) {
  const parsed = environment(draft.env, base);
  if ("wrong" in parsed) wrong.env = parsed.wrong;
  const env = "env" in parsed ? parsed.env : {};
  if (draft.kind === "command" && draft.terminal) env["TERM"] ??= "xterm-256color";
  return { env, queue: draft.queue, ...(draft.name.trim() ? { name: draft.name.trim() } : {}) };
}

/** Parses a number field; null if it is empty. */
function quantity(draft: Draft, field: keyof Draft, read: (text: string) => number | null, example: string, wrong: FieldErrors): number | null {
  const text = String(draft[field]).trim();
  if (text === "") return null;
  const value = read(text);
  if (value === null || value === 0) wrong[field] = `Enter a value such as ${example}, or leave it empty for no limit.`;
  return value;
}

function limits(draft: Draft, wrong: FieldErrors) {
  return {
    memory: quantity(draft, "memory", size, "512M or 4G", wrong),
    cpu: quantity(draft, "cpu", cores, "0.5 or 2", wrong),
    pids: quantity(draft, "pids", count, "100", wrong),
    timeout_ms: quantity(draft, "timeout", time, "90s, 10m or 2h", wrong),
  };
}

function folderOf(draft: Draft, wrong: FieldErrors, isNeeded: boolean): string {
  const folder = draft.folder.trim();
  if (folder === "" && isNeeded) wrong.folder = "Enter a folder.";
  else if (folder !== "" && !folder.startsWith("/")) wrong.folder = "Enter an absolute path that starts with /.";
  return folder;
}

function command(draft: Draft, wrong: FieldErrors): Pick<CreateRequest, "argv" | "cwd"> & Partial<CreateRequest> {
  const idle_ms = quantity(draft, "idle", time, "5m", wrong);
  const most = draft.restart ? quantity(draft, "restarts", count, "3", wrong) : null;
  return {
    argv: argvOf(draft, wrong),
    cwd: folderOf(draft, wrong, true),
    idle_ms,
    best_effort: draft.bestEffort,
    ...(draft.terminal ? { terminal: { rows: 30, columns: 100 } } : {}),
    ...(draft.restart ? { restart: { policy: "on_failure", most } } : {}),
    ...(draft.worktree ? { worktree: draft.branch.trim() ? { asked: draft.branch.trim() } : {} } : {}),
  };
}

/** Returns the command and its arguments. */
export function argvOf(draft: Draft, wrong: FieldErrors): string[] {
  if (draft.command.trim() === "") {
    wrong.command = "Enter a command.";
    return [];
  }
  if (draft.inShell) return ["/bin/sh", "-c", draft.command];
  const parsed = split(draft.command);
  if ("wrong" in parsed) wrong.command = parsed.wrong;
  return "argv" in parsed ? parsed.argv : [];
}

function prompt(draft: Draft, wrong: FieldErrors): Pick<AskRequest, "prompt"> & Partial<AskRequest> {
  const [kind, name = ""] = cutOnce(draft.target, ":");
  const isMember = kind === "member";
  if (draft.prompt.trim() === "") wrong.prompt = "Enter a prompt.";
  const folder = folderOf(draft, wrong, !isMember);
  const recipient: Partial<AskRequest> = isMember ? { member: name, fresh: draft.fresh } : agent(draft, name, wrong);
  return {
    prompt: draft.prompt,
    ...recipient,
    ...(folder ? { cwd: folder } : {}),
    ...(draft.worktree ? { worktree: draft.branch.trim() } : {}),
  };
}

function agent(draft: Draft, name: string, wrong: FieldErrors): Partial<AskRequest> {
  const isDescribed = name === "";
  if (isDescribed && draft.agentName.trim() === "") wrong.agentName = "Enter a name.";
  if (isDescribed && draft.description.trim() === "") wrong.description = "Enter a description in TOML.";
  return {
    agent: isDescribed ? draft.agentName.trim() : name,
    permissions: draft.permissions,
    ...(isDescribed ? { description: draft.description } : {}),
    ...(draft.model.trim() ? { model: draft.model.trim() } : {}),
  };
}

function cutOnce(text: string, at: string): [string, string] {
  const position = text.indexOf(at);
  return position < 0 ? [text, ""] : [text.slice(0, position), text.slice(position + at.length)];
}

/** Returns the field that an error of the daemon is about. */
export function fieldOf(detail: string, kind: Draft["kind"]): keyof Draft | "all" {
  const fields: [RegExp, keyof Draft][] = [
    [/\bname of a branch\b|\bbranch\b/i, "branch"],
    [/^cwd\b|in folder|not in a git repository/i, "folder"],
    [/^the name |name for a session|session name|^invalid name/, "name"],
    [/^env\b/, "env"],
    [/\bmember\b/, "target"],
    [/unknown agent/, "target"],
    [/\bprompt\b/, "prompt"],
    [/no program|^argv\b|can't start the program|not executable/, kind === "command" ? "command" : "target"],
    [/limit (on )?memory/, "memory"],
    [/limit (on )?pids/, "pids"],
    [/limit (on )?cpu/, "cpu"],
  ];
  return fields.find(([about]) => about.test(detail))?.[1] ?? "all";
}

/** Assigns an error of the daemon to its field. */
export function errorsByField(refusal: ApiError, kind: Draft["kind"]): FieldErrors {
  const text = refusal.hint ? `${sentence(refusal.message)} ${sentence(refusal.hint)}` : sentence(refusal.message);
  return { [fieldOf(refusal.message, kind)]: text };
}

/** Returns why a session failed to start; null if it ran. */
export function startErrors(session: SessionView, kind: Draft["kind"]): FieldErrors | null {
  if (session.exit?.kind !== "never_ran" || session.reason?.kind !== "failed") return null;
  return { [fieldOf(session.reason.why, kind)]: sentence(session.reason.why) };
}

function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

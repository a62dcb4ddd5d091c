/** The settings of a session as user-facing names and values. */
import type { Readiness, SessionSpec } from "../../../api/types.ts";
import { bytes, duration } from "../../../ui/format.ts";
import { signalName } from "../../../ui/labels.ts";

export type Fact = [name: string, value: string];

const PENS = { auto: "automatic", cgroup: "cgroup", subtree: "process tree below its keeper", pidns: "PID namespace" } as const;

export function facts(spec: SessionSpec): Fact[] {
  const found: Fact[] = [
    ["Streams", spec.terminal ? `terminal, ${spec.terminal.columns} × ${spec.terminal.rows}` : spec.stdin ? "pipes, with input" : "pipes, without input"],
    ["Stop", `${spec.stop_signal ? signalName(spec.stop_signal) : "SIGTERM"}, then SIGKILL after ${duration(spec.grace_ms)}`],
    ["Linger", `leftover processes are ended after ${duration(spec.linger_ms)}`],
    ["Lease", spec.lease_ms === null ? "keeps running without a daemon" : `keeps running for ${duration(spec.lease_ms)} without a daemon`],
    ["Restart", restart(spec)],
    ["Readiness", readiness(spec)],
    ["Pen", PENS[spec.pen]],
  ];
  const limit = (name: string, value: string | null) => value !== null && found.push([name, value]);
  const time = (value: number | null | undefined) => (value ? duration(value) : null);
  limit("Memory limit", spec.memory ? bytes(spec.memory) : null);
  limit("CPU limit", spec.cpu ? `${spec.cpu / 1000} ${spec.cpu === 1000 ? "core" : "cores"}` : null);
  limit("Process limit", spec.pids ? String(spec.pids) : null);
  if (spec.best_effort) found.push(["Limits", "ignored where they are not supported"]);
  limit("Timeout", time(spec.timeout_ms));
  limit("Idle timeout", time(spec.idle_ms));
  limit("Output timeout", time(spec.silence_ms));
  found.push(["Output limit", `${bytes(spec.output_limit)}`]);
  if (spec.tethered) found.push(["Tethered", "ends when its client disconnects without detaching"]);
  if (spec.parent) found.push(["Parent", spec.outlives_parent ? "keeps running when the parent ends" : "ends with its parent"]);
  if (spec.key) found.push(["Idempotency key", spec.key]);
  return [...found, ...agentFacts(spec)];
}

function agentFacts({ agent }: SessionSpec): Fact[] {
  if (!agent) return [];
  const found: Fact[] = [["Agent", agent.settings.agent]];
  if (agent.settings.model) found.push(["Model", agent.settings.model]);
  if (agent.settings.permissions) found.push(["Permissions", agent.settings.permissions.replaceAll("_", " ")]);
  if (agent.settings.turns) found.push(["Max. turns", String(agent.settings.turns)]);
  if (agent.settings.args?.length) found.push(["Arguments", agent.settings.args.join(" ")]);
  if (!agent.interactive) found.push(["Retries", agent.retries ? `up to ${agent.retries}, on provider errors` : "none"]);
  return found;
}

function restart({ restart: policy, restart_unknown }: SessionSpec): string {
  if (!policy || policy.policy === "never") return "never";
  const text = policy.most === null ? "on failure, without limit" : `on failure, up to ${policy.most} times`;
  return restart_unknown ? `${text}; also if the exit status is unknown` : text;
}

function readiness({ ready, ready_timeout_ms }: SessionSpec): string {
  const what = readyWhen(ready);
  return what && ready_timeout_ms ? `${what}, within ${duration(ready_timeout_ms)}` : (what ?? "not checked");
}

function readyWhen(ready: Readiness | undefined): string | null {
  switch (ready?.kind) {
    case "line":
      return `when a line of output matches ${ready.pattern}`;
    case "socket":
      return `when the socket ${ready.path} accepts connections`;
    case "tcp":
      return `when ${ready.host}:${ready.port} accepts connections`;
    case "http":
      return `when ${ready.url} responds`;
    case "report":
      return "when the session reports it";
    default:
      return null;
  }
}

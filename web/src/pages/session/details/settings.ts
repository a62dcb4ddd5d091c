/** What a session was asked for with, as facts for people. */
import type { Readiness, SessionSpec } from "../../../api/types.ts";
import { bytes, duration } from "../../../ui/format.ts";
import { signalName } from "../../../ui/words.ts";

export type Fact = [name: string, value: string];

const PENS = { auto: "the best there is", cgroup: "a cgroup", subtree: "all below its keeper", pidns: "a PID namespace" } as const;

export function facts(spec: SessionSpec): Fact[] {
  const found: Fact[] = [
    ["Streams", spec.terminal ? `a terminal, ${spec.terminal.columns} × ${spec.terminal.rows}` : spec.stdin ? "pipes, with input" : "pipes, no input"],
    ["Stop", `${spec.stop_signal ? signalName(spec.stop_signal) : "SIGTERM"}, then SIGKILL after ${duration(spec.grace_ms)}`],
    ["Left behind", `what it leaves may go on for ${duration(spec.linger_ms)}, then it is ended`],
    ["Without a daemon", spec.lease_ms === null ? "goes on for ever" : `goes on for ${duration(spec.lease_ms)}`],
    ["Launched again", restart(spec)],
    ["Readiness", readiness(spec)],
    ["Pen", PENS[spec.pen]],
  ];
  const limit = (name: string, value: string | null) => value !== null && found.push([name, value]);
  const time = (value: number | null | undefined) => (value ? duration(value) : null);
  limit("Most memory", spec.memory ? bytes(spec.memory) : null);
  limit("Most CPU", spec.cpu ? `${spec.cpu / 1000} ${spec.cpu === 1000 ? "core" : "cores"}` : null);
  limit("Most processes", spec.pids ? String(spec.pids) : null);
  if (spec.best_effort) found.push(["Limits", "where they can't be set, it runs without them"]);
  limit("May take", time(spec.timeout_ms));
  limit("May be idle", time(spec.idle_ms));
  limit("May be silent", time(spec.silence_ms));
  found.push(["Output kept", `at most ${bytes(spec.output_limit)}`]);
  if (spec.tethered) found.push(["Tied", "ends when whoever started it goes without a word"]);
  if (spec.parent) found.push(["Parent", spec.outlives_parent ? "goes on when it has ended" : "ends with it"]);
  if (spec.key) found.push(["Key", spec.key]);
  return [...found, ...agentFacts(spec)];
}

function agentFacts({ agent }: SessionSpec): Fact[] {
  if (!agent) return [];
  const found: Fact[] = [["Agent", agent.seat.agent]];
  if (agent.seat.model) found.push(["Model", agent.seat.model]);
  if (agent.seat.permissions) found.push(["Permissions", agent.seat.permissions.replaceAll("_", " ")]);
  if (agent.seat.turns) found.push(["Most turns", String(agent.seat.turns)]);
  if (agent.seat.args?.length) found.push(["Arguments", agent.seat.args.join(" ")]);
  if (!agent.interactive) found.push(["Retries", agent.retries ? `up to ${agent.retries}, if the provider is to blame` : "none"]);
  return found;
}

function restart({ restart: policy, restart_unknown }: SessionSpec): string {
  if (!policy || policy.policy === "never") return "never by itself";
  const most = policy.most === null ? "on failure, however often" : `on failure, up to ${policy.most} times`;
  return restart_unknown ? `${most}; also if nobody knows how it ended` : most;
}

function readiness({ ready, ready_timeout_ms }: SessionSpec): string {
  const what = readyWhen(ready);
  return what && ready_timeout_ms ? `${what}, within ${duration(ready_timeout_ms)}` : (what ?? "not asked for");
}

function readyWhen(ready: Readiness | undefined): string | null {
  switch (ready?.kind) {
    case "line":
      return `when it prints a line that matches ${ready.pattern}`;
    case "socket":
      return `when the socket ${ready.path} answers`;
    case "tcp":
      return `when ${ready.host}:${ready.port} answers`;
    case "http":
      return `when ${ready.url} answers`;
    case "report":
      return "when it says so itself";
    default:
      return null;
  }
}

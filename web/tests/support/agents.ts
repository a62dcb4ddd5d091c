/** Agents that execute their prompt line by line, so that a test controls every step. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Kennel } from "./kennel.ts";

/**
 * The lines of a prompt: `say TEXT` and `tool NAME` (JSON-escaped), `usage IN CACHED OUT COST`, `fail STATUS TEXT`, `once FILE`
 * (reports an overload and creates the file, unless it exists), `wait FILE` (until it exists), `child` (starts a process), `deaf`
 * (ignores signals), `hang`, `exit CODE`. At the end it reports `done`.
 */
const SCRIPTED = `#!/bin/sh
emit() { printf '%s\\n' "$1"; }
emit '{"id":"c-1"}'
cat > "$TMPDIR_OF_TEST/prompt.$$"
while IFS= read -r line || [ -n "$line" ]; do
  word=\${line%% *}
  rest=\${line#* }
  case $word in
    say) emit "{\\"text\\":\\"$rest\\"}" ;;
    tool) emit "{\\"type\\":\\"tool\\",\\"tool\\":\\"$rest\\"}" ;;
    usage) set -- $rest; emit "{\\"usage\\":{\\"in\\":$1,\\"cached\\":$2,\\"out\\":$3,\\"cost\\":$4}}" ;;
    fail) emit "{\\"error\\":{\\"status\\":\${rest%% *},\\"message\\":\\"\${rest#* }\\"}}"; exit 1 ;;
    once) if [ ! -e "$TMPDIR_OF_TEST/$rest" ]; then : > "$TMPDIR_OF_TEST/$rest"; emit '{"error":{"status":529,"message":"Overloaded"}}'; exit 1; fi ;;
    wait) while [ ! -e "$TMPDIR_OF_TEST/$rest" ]; do sleep 0.02; done ;;
    child) sleep 300 & ;;
    deaf) trap "" TERM INT ;;
    hang) sleep 300 ;;
    exit) exit "$rest" ;;
  esac
done < "$TMPDIR_OF_TEST/prompt.$$"
emit '{"type":"done"}'
`;

/** Prints the subset of Claude Code’s output that the dashboard shows. */
const CLAUDE = `#!/bin/sh
cat > /dev/null
emit() { printf '%s\\n' "$1"; }
id='"session_id":"00000000-0000-4000-8000-000000000001"'
emit '{"type":"system","subtype":"init","cwd":"/",'"$id}"
emit '{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Where might the tests be?"}]},'"$id}"
emit '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"make test"}}]},'"$id}"
emit '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no rule"}]},'"$id}"
emit '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"There are none in "},{"type":"text","text":"'"$HOME"'."}]},'"$id}"
printf '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"There are none.","total_cost_usd":0.0123,"usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":2000},%s}\\n' "$id"
`;

async function program(kennel: Kennel, name: string, text: string): Promise<string> {
  const bin = join(kennel.folder, "bin");
  await mkdir(bin, { recursive: true });
  const path = join(bin, name);
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}

/** Returns the description of the scripted agent. */
export async function scriptedAgent(kennel: Kennel): Promise<string> {
  const path = await program(kennel, "coder", SCRIPTED);
  return `program = "${path}"
args = [["--continue", "{conversation}"], ["--model", "{model}"], ["--turns", "{turns}"], "{args}"]
conversation = 'c-[0-9]+'
[stop]
whole_tree = true
[env]
TMPDIR_OF_TEST = "${kennel.folder}"
[output]
format = "json_lines"
text = "/text"
conversation = "/id"
error = "/error/message"
status = "/error/status"
usage = { input = "/usage/in", cached = "/usage/cached", output = "/usage/out", cost_usd = "/usage/cost" }
tool = { at = "/type", is = "tool", name = "/tool" }
done = { at = "/type", is = "done" }
`;
}

/** Installs a scripted `claude`; returns its folder for PATH. */
export async function scriptedClaude(kennel: Kennel): Promise<string> {
  await program(kennel, "claude", CLAUDE);
  return join(kennel.folder, "bin");
}

/** Adds a member with the scripted agent. */
export async function addMember(kennel: Kennel, name: string): Promise<void> {
  const description = await scriptedAgent(kennel);
  await kennel.api("POST", "/v1/members", { name, cwd: kennel.folder, settings: { agent: "coder", description } });
}

/** Creates the file that a `wait` line waits for. */
export async function release(kennel: Kennel, file: string): Promise<void> {
  await writeFile(join(kennel.folder, file), "");
}

/** Sends a prompt through the API; returns the session id. */
export async function ask(kennel: Kennel, member: string, prompt: string, more: object = {}): Promise<string> {
  const { session } = await kennel.api<{ session: string }>("POST", "/v1/ask", { member, prompt, detach: true, ...more });
  return session;
}

/** Agents that do what their prompt says, line by line, so that a test has them in its hand at every moment. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { Kennel } from "./kennel.ts";

/**
 * What a line of a prompt may be: `say TEXT` and `tool NAME` (as JSON has them in quotes), `usage IN CACHED OUT COST`,
 * `fail STATUS TEXT`, `once FILE` (fails as if overloaded, if there is none; then there is), `wait FILE` (until there is one), `child` (a process of its own), `deaf` (to signals), `hang`, `exit CODE`; `done` at the end
 * of all others.
 */
const OBEDIENT = `#!/bin/sh
tell() { printf '%s\\n' "$1"; }
tell '{"id":"c-1"}'
cat > "$TMPDIR_OF_TEST/prompt.$$"
while IFS= read -r line || [ -n "$line" ]; do
  word=\${line%% *}
  rest=\${line#* }
  case $word in
    say) tell "{\\"text\\":\\"$rest\\"}" ;;
    tool) tell "{\\"type\\":\\"tool\\",\\"tool\\":\\"$rest\\"}" ;;
    usage) set -- $rest; tell "{\\"usage\\":{\\"in\\":$1,\\"cached\\":$2,\\"out\\":$3,\\"cost\\":$4}}" ;;
    fail) tell "{\\"error\\":{\\"status\\":\${rest%% *},\\"message\\":\\"\${rest#* }\\"}}"; exit 1 ;;
    once) if [ ! -e "$TMPDIR_OF_TEST/$rest" ]; then : > "$TMPDIR_OF_TEST/$rest"; tell '{"error":{"status":529,"message":"Overloaded"}}'; exit 1; fi ;;
    wait) while [ ! -e "$TMPDIR_OF_TEST/$rest" ]; do sleep 0.02; done ;;
    child) sleep 300 & ;;
    deaf) trap "" TERM INT ;;
    hang) sleep 300 ;;
    exit) exit "$rest" ;;
  esac
done < "$TMPDIR_OF_TEST/prompt.$$"
tell '{"type":"done"}'
`;

/** Speaks as Claude Code does, as much of it as a dashboard shows. */
const CLAUDE = `#!/bin/sh
cat > /dev/null
tell() { printf '%s\\n' "$1"; }
id='"session_id":"00000000-0000-4000-8000-000000000001"'
tell '{"type":"system","subtype":"init","cwd":"/",'"$id}"
tell '{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Where might the tests be?"}]},'"$id}"
tell '{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"make test"}}]},'"$id}"
tell '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"no rule"}]},'"$id}"
tell '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"There are none in "},{"type":"text","text":"'"$HOME"'."}]},'"$id}"
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

/** The description of an agent that obeys. */
export async function obedient(kennel: Kennel): Promise<string> {
  const path = await program(kennel, "coder", OBEDIENT);
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

/** Puts a `claude` into the folder that it returns, for a PATH. */
export async function scriptedClaude(kennel: Kennel): Promise<string> {
  await program(kennel, "claude", CLAUDE);
  return join(kennel.folder, "bin");
}

/** Adds a member that obeys. */
export async function seat(kennel: Kennel, name: string): Promise<void> {
  const description = await obedient(kennel);
  await kennel.api("POST", "/v1/members", { name, cwd: kennel.folder, seat: { agent: "coder", description } });
}

/** Lets those go on who wait for this file. */
export async function release(kennel: Kennel, file: string): Promise<void> {
  await writeFile(join(kennel.folder, file), "");
}

/** Gives a prompt as another program would; the session's id. */
export async function ask(kennel: Kennel, member: string, prompt: string, more: object = {}): Promise<string> {
  const { session } = await kennel.api<{ session: string }>("POST", "/v1/ask", { member, prompt, detach: true, ...more });
  return session;
}

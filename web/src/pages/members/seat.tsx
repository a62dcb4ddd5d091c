/** The fields for who sits at a place: the agent, its folder, and how it is used. */
import type { Signal } from "@preact/signals";

import { Refusal } from "../../api/http.ts";
import type { Permissions, Seat } from "../../api/types.ts";
import { sessions } from "../../state/live.ts";
import { Field } from "../../ui/field.tsx";

export interface SeatDraft {
  agent: string;
  /** The name of one that is described. */
  other: string;
  description: string;
  cwd: string;
  model: string;
  permissions: Permissions;
  turns: string;
  args: string;
}

/** What is wrong, by field; `form` for what belongs to none. */
export type Wrong = Partial<Record<keyof SeatDraft | "name" | "prompt" | "timeout" | "env" | "form", string>>;

export const NO_SEAT: SeatDraft = { agent: "claude", other: "", description: "", cwd: "", model: "", permissions: "default", turns: "", args: "" };

/** One that Kennel has no code for. */
export const DESCRIBED = "described";
const AGENTS: [string, string][] = [
  ["claude", "Claude Code (claude)"],
  ["codex", "Codex (codex)"],
  ["gemini", "Gemini CLI (gemini)"],
  ["opencode", "OpenCode (opencode)"],
  [DESCRIBED, "Another, described here…"],
];

export const PERMISSIONS: [Permissions, string][] = [
  ["default", "What its own settings say"],
  ["read_only", "Look, and change nothing"],
  ["edit", "Change files in its folder"],
  ["all", "Anything"],
];

/** As the API takes it, or what is wrong with it. */
export function readSeat(draft: SeatDraft): { seat: Seat; wrong: Wrong } {
  const wrong: Wrong = {};
  const described = draft.agent === DESCRIBED;
  if (!draft.cwd.trim().startsWith("/")) wrong.cwd = draft.cwd.trim() ? "It has to begin with a slash." : "A folder is needed.";
  if (described && !draft.other.trim()) wrong.other = "It needs a name.";
  if (described && !draft.description.trim()) wrong.description = "A description is needed.";
  const turns = draft.turns.trim() ? Number(draft.turns) : null;
  if (turns !== null && !(Number.isInteger(turns) && turns > 0)) wrong.turns = "A whole number, 1 or more.";
  const seat: Seat = {
    agent: described ? draft.other.trim() : draft.agent,
    ...(described ? { description: draft.description } : {}),
    model: draft.model.trim() || null,
    permissions: draft.permissions,
    turns,
    args: draft.args.split("\n").filter((line) => line !== ""),
  };
  return { seat, wrong };
}

/** To which field a refusal belongs. */
export function wrongBy(error: unknown, draft: SeatDraft): Wrong {
  if (!(error instanceof Refusal)) return { form: String(error) };
  const text = error.hint ? `${error.message}; ${error.hint}` : error.message;
  if (error.code === "conflict") return { name: text };
  if (error.code !== "invalid") return { form: text };
  if (/\bcwd\b|folder/.test(error.message)) return { cwd: text };
  if (/\bturns?\b/.test(error.message)) return { turns: text };
  if (/\bmodel\b/.test(error.message)) return { model: text };
  if (/permission|may do|read_only/.test(error.message)) return { permissions: text };
  if (/\bname\b/.test(error.message)) return { name: text };
  return { [draft.agent === DESCRIBED ? "description" : "form"]: text };
}

export function SeatFields({ draft, wrong }: { draft: Signal<SeatDraft>; wrong: Wrong }) {
  const set = (change: Partial<SeatDraft>) => void (draft.value = { ...draft.value, ...change });
  const { agent, other, description, cwd, model, permissions, turns, args } = draft.value;
  return (
    <>
      <div class="field-pair">
        <Field label="Agent" wrong={wrong.agent}>
          {(control) => (
            <select class="input" {...control} value={agent} onChange={(event) => set({ agent: event.currentTarget.value })}>
              {AGENTS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Folder" wrong={wrong.cwd} help="Where it works, on the machine that runs Kennel.">
          {(control) => (
            <>
              <input class="input mono" {...control} list="known-folders" value={cwd} placeholder="/home/you/project" spellcheck={false} autocomplete="off" onInput={(event) => set({ cwd: event.currentTarget.value })} />
              <datalist id="known-folders">
                {knownFolders().map((folder) => (
                  <option key={folder} value={folder} />
                ))}
              </datalist>
            </>
          )}
        </Field>
      </div>
      {agent === DESCRIBED && (
        <>
          <Field label="Name of the agent" wrong={wrong.other}>
            {(control) => <input class="input" {...control} value={other} autocomplete="off" onInput={(event) => set({ other: event.currentTarget.value })} />}
          </Field>
          <Field label="Description" wrong={wrong.description} help="TOML: its program, arguments and output; docs/agents.md tells all of it.">
            {(control) => (
              <textarea class="input mono" rows={6} {...control} spellcheck={false} placeholder={'program = "my-agent"'} onInput={(event) => set({ description: event.currentTarget.value })} value={description} />
            )}
          </Field>
        </>
      )}
      <div class="field-pair">
        <Field label="Permissions" wrong={wrong.permissions} help="Nobody is there to be asked while it works.">
          {(control) => (
            <select class="input" {...control} value={permissions} onChange={(event) => set({ permissions: event.currentTarget.value as Permissions })}>
              {PERMISSIONS.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Model" wrong={wrong.model} help="Left out: the agent’s own choice.">
          {(control) => <input class="input" {...control} value={model} autocomplete="off" spellcheck={false} onInput={(event) => set({ model: event.currentTarget.value })} />}
        </Field>
      </div>
      <div class="field-pair">
        <Field label="Turns" wrong={wrong.turns} help="How many it may take, if the agent knows of turns.">
          {(control) => <input class="input" inputMode="numeric" {...control} value={turns} autocomplete="off" onInput={(event) => set({ turns: event.currentTarget.value })} />}
        </Field>
        <Field label="Further arguments" wrong={wrong.args} help="One on a line, handed on as they are.">
          {(control) => <textarea class="input mono" rows={2} {...control} spellcheck={false} value={args} onInput={(event) => set({ args: event.currentTarget.value })} />}
        </Field>
      </div>
    </>
  );
}

/** Where sessions were, the latest first. */
function knownFolders(): string[] {
  return [...new Set(sessions.value.flatMap((session) => session.spec.cwd ?? []))].slice(0, 20);
}

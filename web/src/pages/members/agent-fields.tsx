/** Form fields for an agent: its program, folder and settings. */
import type { Signal } from "@preact/signals";

import { ApiError } from "../../api/http.ts";
import type { Permissions, AgentSettings } from "../../api/types.ts";
import { sessions } from "../../state/live.ts";
import { Field } from "../../ui/field.tsx";

export interface AgentDraft {
  agent: string;
  /** The name of a custom agent. */
  other: string;
  description: string;
  cwd: string;
  model: string;
  permissions: Permissions;
  turns: string;
  args: string;
}

/** Validation errors by field; `form` if an error belongs to no field. */
export type FieldErrors = Partial<Record<keyof AgentDraft | "name" | "prompt" | "timeout" | "env" | "form", string>>;

export const EMPTY_AGENT_DRAFT: AgentDraft = { agent: "claude", other: "", description: "", cwd: "", model: "", permissions: "default", turns: "", args: "" };

/** A custom agent that Kennel has no built-in support for. */
export const CUSTOM_AGENT = "described";
const AGENTS: [string, string][] = [
  ["claude", "Claude Code (claude)"],
  ["codex", "Codex (codex)"],
  ["gemini", "Gemini CLI (gemini)"],
  ["opencode", "OpenCode (opencode)"],
  [CUSTOM_AGENT, "Custom agent…"],
];

export const PERMISSIONS: [Permissions, string][] = [
  ["default", "Agent default"],
  ["read_only", "Read only"],
  ["edit", "Edit files in its folder"],
  ["all", "Everything"],
];

/** Converts the form to an API request, with its validation errors. */
export function parseAgentDraft(draft: AgentDraft): { settings: AgentSettings; wrong: FieldErrors } {
  const wrong: FieldErrors = {};
  const described = draft.agent === CUSTOM_AGENT;
  if (!draft.cwd.trim().startsWith("/")) wrong.cwd = draft.cwd.trim() ? "Enter an absolute path that starts with /." : "Enter a folder.";
  if (described && !draft.other.trim()) wrong.other = "Enter a name.";
  if (described && !draft.description.trim()) wrong.description = "Enter a description.";
  const turns = draft.turns.trim() ? Number(draft.turns) : null;
  if (turns !== null && !(Number.isInteger(turns) && turns > 0)) wrong.turns = "Enter a whole number of 1 or more.";
  const settings: AgentSettings = {
    agent: described ? draft.other.trim() : draft.agent,
    ...(described ? { description: draft.description } : {}),
    model: draft.model.trim() || null,
    permissions: draft.permissions,
    turns,
    args: draft.args.split("\n").filter((line) => line !== ""),
  };
  return { settings, wrong };
}

/** Assigns an error of the daemon to a field. */
export function errorsByField(error: unknown, draft: AgentDraft): FieldErrors {
  if (!(error instanceof ApiError)) return { form: String(error) };
  const text = error.hint ? `${error.message}; ${error.hint}` : error.message;
  if (error.code === "conflict") return { name: text };
  if (error.code !== "invalid") return { form: text };
  if (/\bcwd\b|folder/.test(error.message)) return { cwd: text };
  if (/\bturns?\b/.test(error.message)) return { turns: text };
  if (/\bmodel\b/.test(error.message)) return { model: text };
  if (/permission/.test(error.message)) return { permissions: text };
  if (/\bname\b/.test(error.message)) return { name: text };
  return { [draft.agent === CUSTOM_AGENT ? "description" : "form"]: text };
}

export function AgentFields({ draft, wrong }: { draft: Signal<AgentDraft>; wrong: FieldErrors }) {
  const set = (change: Partial<AgentDraft>) => void (draft.value = { ...draft.value, ...change });
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
        <Field label="Folder" wrong={wrong.cwd} help="The working directory, on the machine that runs Kennel.">
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
      {agent === CUSTOM_AGENT && (
        <>
          <Field label="Agent name" wrong={wrong.other}>
            {(control) => <input class="input" {...control} value={other} autocomplete="off" onInput={(event) => set({ other: event.currentTarget.value })} />}
          </Field>
          <Field label="Description" wrong={wrong.description} help="TOML with its program, arguments and output format; see docs/agents.md.">
            {(control) => (
              <textarea class="input mono" rows={6} {...control} spellcheck={false} placeholder={'program = "my-agent"'} onInput={(event) => set({ description: event.currentTarget.value })} value={description} />
            )}
          </Field>
        </>
      )}
      <div class="field-pair">
        <Field label="Permissions" wrong={wrong.permissions} help="What the agent may do without asking. It can’t ask during a prompt.">
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
        <Field label="Model" wrong={wrong.model} help="Empty: the agent’s default.">
          {(control) => <input class="input" {...control} value={model} autocomplete="off" spellcheck={false} onInput={(event) => set({ model: event.currentTarget.value })} />}
        </Field>
      </div>
      <div class="field-pair">
        <Field label="Max. turns" wrong={wrong.turns} help="Only for agents that count turns.">
          {(control) => <input class="input" inputMode="numeric" {...control} value={turns} autocomplete="off" onInput={(event) => set({ turns: event.currentTarget.value })} />}
        </Field>
        <Field label="Additional arguments" wrong={wrong.args} help="One per line, passed on unchanged.">
          {(control) => <textarea class="input mono" rows={2} {...control} spellcheck={false} value={args} onInput={(event) => set({ args: event.currentTarget.value })} />}
        </Field>
      </div>
    </>
  );
}

/** Returns the folders of recent sessions, newest first. */
function knownFolders(): string[] {
  return [...new Set(sessions.value.flatMap((session) => session.spec.cwd ?? []))].slice(0, 20);
}

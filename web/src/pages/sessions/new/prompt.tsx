import type { MemberAnswer, Permissions } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { shortened } from "../../../ui/format.ts";
import { Check, Field, LineField } from "./field.tsx";
import type { Form } from "./form.ts";

const AGENTS = ["claude", "codex", "gemini", "opencode"];
const PERMISSIONS: Record<Permissions, string> = {
  default: "What its own settings say",
  read_only: "Look, and change nothing",
  edit: "Change files in its folder",
  all: "Anything",
};

/** Who is asked, and what. */
export function PromptFields({ form }: { form: Form }) {
  const { draft, wrong, set } = form;
  const members = useFetched<MemberAnswer[]>("/v1/members").value.value ?? [];
  const isMember = draft.value.whom.startsWith("member:");
  return (
    <>
      <Field label="Prompt" wrong={wrong.value.prompt} help="It is written down nowhere.">
        {(bound) => (
          <textarea {...bound} class="input" rows={4} autoFocus value={draft.value.prompt} onInput={(event) => set("prompt", event.currentTarget.value)} />
        )}
      </Field>
      <div class="columns">
        <Field label="To" wrong={wrong.value.whom}>
          {(bound) => (
            <select {...bound} class="input" value={draft.value.whom} onChange={(event) => set("whom", event.currentTarget.value)}>
              {members.length > 0 && (
                <optgroup label="Members">
                  {members.map(({ name, seat, busy_with }) => (
                    <option key={name} value={`member:${name}`}>
                      {shortened(name, 40)} ({seat.agent}
                      {busy_with === null ? "" : ", busy"})
                    </option>
                  ))}
                </optgroup>
              )}
              <optgroup label="Agents">
                {AGENTS.map((agent) => (
                  <option key={agent} value={`agent:${agent}`}>
                    {agent}
                  </option>
                ))}
                <option value="agent:">Another, described</option>
              </optgroup>
            </select>
          )}
        </Field>
        {!isMember && (
          <Field label="Without asking it may" wrong={wrong.value.permissions}>
            {(bound) => (
              <select
                {...bound}
                class="input"
                value={draft.value.permissions}
                onChange={(event) => set("permissions", event.currentTarget.value as Permissions)}
              >
                {Object.entries(PERMISSIONS).map(([value, title]) => (
                  <option key={value} value={value}>
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        {!isMember && <LineField form={form} field="model" label="Model" placeholder="The agent's own choice" />}
      </div>
      {isMember && <Check form={form} field="fresh" label="Begin a new conversation" />}
      {draft.value.whom === "agent:" && <Described form={form} />}
    </>
  );
}

function Described({ form }: { form: Form }) {
  return (
    <>
      <LineField form={form} field="agentName" label="Its name" />
      <Field label="Description" wrong={form.wrong.value.description} help="How it is called and what it prints, as TOML: see docs/agents.md.">
        {(bound) => (
          <textarea
            {...bound}
            class="input mono"
            rows={6}
            spellcheck={false}
            value={form.draft.value.description}
            onInput={(event) => form.set("description", event.currentTarget.value)}
          />
        )}
      </Field>
    </>
  );
}

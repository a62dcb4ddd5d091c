import type { MemberView, Permissions } from "../../../api/types.ts";
import { useFetched } from "../../../state/fetched.ts";
import { truncate } from "../../../ui/format.ts";
import { PERMISSIONS } from "../../members/agent-fields.tsx";
import { Check, Field, LineField } from "./field.tsx";
import type { Form } from "./form.ts";

const AGENTS = ["claude", "codex", "gemini", "opencode"];

/** The form fields for a prompt. */
export function PromptFields({ form }: { form: Form }) {
  const { draft, wrong, set } = form;
  const members = useFetched<MemberView[]>("/v1/members").value.value ?? [];
  const isMember = draft.value.target.startsWith("member:");
  return (
    <>
      <Field label="Prompt" wrong={wrong.value.prompt} help="The prompt is not stored.">
        {(bound) => (
          <textarea {...bound} class="input" rows={4} autoFocus value={draft.value.prompt} onInput={(event) => set("prompt", event.currentTarget.value)} />
        )}
      </Field>
      <div class="columns">
        <Field label="To" wrong={wrong.value.target}>
          {(bound) => (
            <select {...bound} class="input" value={draft.value.target} onChange={(event) => set("target", event.currentTarget.value)}>
              {members.length > 0 && (
                <optgroup label="Members">
                  {members.map(({ name, settings, busy_with }) => (
                    <option key={name} value={`member:${name}`}>
                      {truncate(name, 40)} ({settings.agent}
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
                <option value="agent:">Custom agent</option>
              </optgroup>
            </select>
          )}
        </Field>
        {!isMember && (
          <Field label="Permissions" wrong={wrong.value.permissions}>
            {(bound) => (
              <select
                {...bound}
                class="input"
                value={draft.value.permissions}
                onChange={(event) => set("permissions", event.currentTarget.value as Permissions)}
              >
                {PERMISSIONS.map(([value, title]) => (
                  <option key={value} value={value}>
                    {title}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
        {!isMember && <LineField form={form} field="model" label="Model" placeholder="Default" />}
      </div>
      {isMember && <Check form={form} field="fresh" label="New conversation" />}
      {draft.value.target === "agent:" && <CustomAgentFields form={form} />}
    </>
  );
}

function CustomAgentFields({ form }: { form: Form }) {
  return (
    <>
      <LineField form={form} field="agentName" label="Agent name" />
      <Field label="Description" wrong={form.wrong.value.description} help="TOML with its program, arguments and output format; see docs/agents.md.">
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

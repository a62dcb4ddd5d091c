import { environmentText, setEnvironmentText } from "../../state/surroundings.ts";
import { Field } from "../../ui/field.tsx";

/** The environment of whom this browser asks. */
export function EnvironmentField({ wrong }: { wrong?: string | undefined }) {
  return (
    <Field
      label="Environment"
      wrong={wrong}
      help="NAME=VALUE, a line each: all that the agent gets of it. It finds its program by PATH, and its login by HOME. Kept in this browser, so no place for secrets."
    >
      {(control) => (
        <textarea class="input mono" rows={3} {...control} spellcheck={false} value={environmentText.value} onInput={(event) => setEnvironmentText(event.currentTarget.value)} />
      )}
    </Field>
  );
}

import { daemon } from "../state/me.ts";
import { Field } from "./field.tsx";

/** A text field for additional environment variables. */
export function EnvironmentField(props: { value: string; change: (lines: string) => void; wrong?: string | null | undefined }) {
  const known = Object.keys(daemon.value?.environment ?? {}).join(", ");
  return (
    <Field
      label="Environment"
      wrong={props.wrong}
      help={
        <>
          One NAME=value per line, in addition to the daemon’s variables: <span class="foreign">{known || "none"}</span>. These values are not
          stored.
        </>
      }
    >
      {(control) => (
        <textarea
          {...control}
          class="input mono"
          rows={3}
          spellcheck={false}
          autocomplete="off"
          placeholder="NAME=value"
          value={props.value}
          onInput={(event) => props.change(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

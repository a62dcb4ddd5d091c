import { daemon } from "../state/me.ts";
import { Field } from "./field.tsx";

/** More variables for what is started. */
export function EnvironmentField(props: { value: string; change: (lines: string) => void; wrong?: string | null | undefined }) {
  const known = Object.keys(daemon.value?.environment ?? {}).join(", ");
  return (
    <Field
      label="Environment"
      wrong={props.wrong}
      help={
        <>
          NAME=value, one a line, beside what the daemon has: <span class="foreign">{known || "nothing"}</span>. A browser has no more to hand on.
          It is not remembered.
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

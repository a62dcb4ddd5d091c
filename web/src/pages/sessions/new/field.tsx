import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

import type { Draft } from "./draft.ts";
import type { Form } from "./form.ts";

/** The attributes that a field passes to its control. */
export interface Bound {
  id: string;
  "aria-invalid": boolean | undefined;
  "aria-describedby": string | undefined;
}

/** A control with its label, help text and validation error. */
export function Field(props: { label: string; help?: ComponentChildren; wrong?: string | undefined; children: (bound: Bound) => ComponentChildren }) {
  const id = useId();
  const described = [props.wrong && `${id}-wrong`, props.help && `${id}-help`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children({ id, "aria-invalid": props.wrong ? true : undefined, "aria-describedby": described || undefined })}
      {props.wrong && (
        <span class="wrong foreign" id={`${id}-wrong`}>
          {props.wrong}
        </span>
      )}
      {props.help && (
        <span class="help" id={`${id}-help`}>
          {props.help}
        </span>
      )}
    </div>
  );
}

type Switch = { [K in keyof Draft]: Draft[K] extends boolean ? K : never }[keyof Draft];
type Line = { [K in keyof Draft]: Draft[K] extends string ? K : never }[keyof Draft];

/** A checkbox. */
export function Check({ form, field, label }: { form: Form; field: Switch; label: string }) {
  return (
    <label class="check">
      <input type="checkbox" checked={form.draft.value[field]} onChange={(event) => form.set(field, event.currentTarget.checked)} />
      {label}
    </label>
  );
}

/** A text input. */
export function LineField(props: { form: Form; field: Exclude<Line, "kind" | "permissions">; label: string; placeholder?: string; help?: string; list?: string; mono?: boolean }) {
  const { form, field, label, placeholder, help, list, mono } = props;
  return (
    <Field label={label} help={help} wrong={form.wrong.value[field]}>
      {(bound) => (
        <input
          {...bound}
          class={mono ? "input mono" : "input"}
          autoComplete="off"
          autoCapitalize="off"
          spellcheck={false}
          list={list}
          placeholder={placeholder}
          value={form.draft.value[field]}
          onInput={(event) => form.set(field, event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

/** The attributes that a field passes to its control. */
export interface Control {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

interface Props {
  label: string;
  help?: ComponentChildren;
  /** The validation error. */
  wrong?: string | null | undefined;
  children: (control: Control) => ComponentChildren;
}

/** A control with its label, help text and validation error. */
export function Field({ label, help, wrong, children }: Props) {
  const id = useId();
  const about = [help && `${id}-help`, wrong && `${id}-wrong`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, "aria-describedby": about || undefined, "aria-invalid": wrong ? true : undefined })}
      {help && (
        <span class="help" id={`${id}-help`}>
          {help}
        </span>
      )}
      {wrong && (
        <span class="wrong foreign" id={`${id}-wrong`} role="alert">
          {wrong}
        </span>
      )}
    </div>
  );
}

import { type Signal, signal } from "@preact/signals";

import type { Draft, FieldErrors } from "./draft.ts";

/** The state of the form: its values and validation errors. */
export interface Form {
  draft: Signal<Draft>;
  wrong: Signal<FieldErrors>;
  /** Sets a field and clears its error. */
  set: <K extends keyof Draft>(field: K, value: Draft[K]) => void;
}

export function form(first: Draft): Form {
  const draft = signal(first);
  const wrong = signal<FieldErrors>({});
  return {
    draft,
    wrong,
    set(field, value) {
      draft.value = { ...draft.value, [field]: value };
      const { [field]: _, all: __, ...others } = wrong.value;
      wrong.value = others;
    },
  };
}

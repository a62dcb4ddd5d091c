import { type Signal, signal } from "@preact/signals";

import type { Draft, Wrong } from "./draft.ts";

/** What is being written, and what is wrong with it. */
export interface Form {
  draft: Signal<Draft>;
  wrong: Signal<Wrong>;
  /** Writes into a field; what was wrong there is not said any longer. */
  set: <K extends keyof Draft>(field: K, value: Draft[K]) => void;
}

export function form(first: Draft): Form {
  const draft = signal(first);
  const wrong = signal<Wrong>({});
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

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Button } from "../../../ui/button.tsx";

interface Props {
  label: string;
  text: string;
  /** The result of the search. */
  status: ComponentChildren;
  onText: (text: string) => void;
  step: (by: 1 | -1) => void;
  close: () => void;
  children?: ComponentChildren;
}

/** A search field for the output. Enter goes to the next match, Shift+Enter to the previous one, Escape closes it. */
export function FindBar({ label, text, status, onText, step, close, children }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") close();
    else if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  return (
    <search class="find-bar">
      <input
        ref={field}
        class="input mono"
        type="text"
        aria-label={label}
        placeholder={label}
        value={text}
        spellcheck={false}
        autocomplete="off"
        maxLength={500}
        onInput={(event) => onText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span class="status small muted" role="status">
        {status}
      </span>
      {children}
      <Button icon="up" kind="plain" label="Previous" title="Previous (Shift+Enter)" onClick={() => step(-1)} />
      <Button icon="down" kind="plain" label="Next" title="Next (Enter)" onClick={() => step(1)} />
      <Button icon="close" kind="plain" label="Close search" title="Close (Escape)" onClick={close} />
    </search>
  );
}

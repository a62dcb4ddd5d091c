import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { Button } from "../../../ui/button.tsx";

interface Props {
  label: string;
  text: string;
  /** What came of it, in words. */
  told: ComponentChildren;
  onText: (text: string) => void;
  step: (by: 1 | -1) => void;
  close: () => void;
  children?: ComponentChildren;
}

/** A field to find something in the output: Enter goes on, Shift and Enter back, Escape closes. */
export function FindBar({ label, text, told, onText, step, close, children }: Props) {
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
      <span class="told small muted" role="status">
        {told}
      </span>
      {children}
      <Button icon="up" kind="plain" label="Previous" title="Previous (Shift and Enter)" onClick={() => step(-1)} />
      <Button icon="down" kind="plain" label="Next" title="Next (Enter)" onClick={() => step(1)} />
      <Button icon="close" kind="plain" label="Close the search" title="Close (Escape)" onClick={close} />
    </search>
  );
}

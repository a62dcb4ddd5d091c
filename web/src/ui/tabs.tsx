import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export interface Tab {
  id: string;
  title: ComponentChildren;
}

/** Tabs over one panel; arrow keys move between them. */
export function Tabs(props: { label: string; tabs: Tab[]; chosen: string; choose: (id: string) => void; children: ComponentChildren }) {
  const base = useId();
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const at = props.tabs.findIndex((tab) => tab.id === props.chosen);
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: props.tabs.length - 1 - at }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = props.tabs[(at + step + props.tabs.length) % props.tabs.length];
    if (!next) return;
    props.choose(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  // If the tabs do not fit, scroll the selected one into view.
  useEffect(() => {
    const [row, tab] = [list.current, list.current?.querySelector<HTMLElement>(`[data-tab="${props.chosen}"]`)];
    if (row && tab) row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.clientWidth) / 2;
  }, [props.chosen]);
  return (
    <div class="stack">
      <div class="tabs" role="tablist" aria-label={props.label} ref={list} onKeyDown={move}>
        {props.tabs.map((tab) => (
          <button
            type="button"
            role="tab"
            key={tab.id}
            data-tab={tab.id}
            id={`${base}-${tab.id}`}
            aria-selected={tab.id === props.chosen}
            aria-controls={`${base}-panel`}
            tabIndex={tab.id === props.chosen ? 0 : -1}
            onClick={() => props.choose(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${base}-panel`} aria-labelledby={`${base}-${props.chosen}`} tabIndex={0}>
        {props.children}
      </div>
    </div>
  );
}

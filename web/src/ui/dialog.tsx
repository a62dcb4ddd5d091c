import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** A modal dialog, open while it is mounted. */
export function Dialog(props: { title: string; wide?: boolean; close: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={props.wide ? "dialog wide" : "dialog"}
      aria-labelledby={title}
      onCancel={(event) => {
        event.preventDefault();
        props.close();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) props.close();
      }}
    >
      <div class="inside">
        <h2 id={title}>{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  );
}

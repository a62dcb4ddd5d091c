import { useSignal } from "@preact/signals";

import { Button } from "./button.tsx";
import { showError } from "./toast.tsx";

/** A button that copies a text to the clipboard. */
export function Copy({ text, label }: { text: string | (() => string); label: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      copied.value = true;
      setTimeout(() => (copied.value = false), 1500);
    } catch (error) {
      showError("Couldn’t copy to the clipboard", error);
    }
  };
  return <Button icon={copied.value ? "check" : "copy"} kind="plain" compact label={copied.value ? "Copied" : label} onClick={copy} />;
}

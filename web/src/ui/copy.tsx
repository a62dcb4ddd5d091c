import { useSignal } from "@preact/signals";

import { Button } from "./button.tsx";
import { sayFailed } from "./toast.tsx";

/** Copies a text. */
export function Copy({ text, label }: { text: string | (() => string); label: string }) {
  const copied = useSignal(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      copied.value = true;
      setTimeout(() => (copied.value = false), 1500);
    } catch (error) {
      sayFailed("It could not be copied", error);
    }
  };
  return <Button icon={copied.value ? "check" : "copy"} kind="plain" compact label={copied.value ? "Copied" : label} onClick={copy} />;
}

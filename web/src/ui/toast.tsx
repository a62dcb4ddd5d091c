import { signal } from "@preact/signals";

import { errorText } from "../api/http.ts";
import { Button } from "./button.tsx";

type Tone = "good" | "bad" | "warn" | "quiet";
interface Toast {
  id: number;
  tone: Tone;
  title: string;
  text: string | null;
}

const LONG_MS = 8000;
const toasts = signal<Toast[]>([]);
let next = 0;

/** Shows a notification. Errors stay until the user dismisses them. */
export function showToast(tone: Tone, title: string, text: string | null = null): void {
  const id = next++;
  toasts.value = [...toasts.value.slice(-4), { id, tone, title, text }];
  if (tone !== "bad") setTimeout(() => dismiss(id), LONG_MS);
}

/** Shows an error notification. */
export function showError(title: string, error: unknown): void {
  showToast("bad", title, errorText(error));
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div class={`toast ${toast.tone}`} key={toast.id}>
          <div class="grow">
            <strong class="foreign">{toast.title}</strong>
            {toast.text && <p class="small muted foreign">{toast.text}</p>}
          </div>
          <Button icon="close" kind="plain" compact label="Dismiss" onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}

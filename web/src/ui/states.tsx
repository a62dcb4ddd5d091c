import type { ComponentChildren } from "preact";

import { errorText } from "../api/http.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** An empty state: there is nothing to show, and this is not an error. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A spinner with a text. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="state" role="status">
      <span class="spinner" />
      <p>{what}</p>
    </div>
  );
}

/** An error with a button to retry. */
export function Failed({ what, error, retry }: { what: string; error: unknown; retry?: () => void }) {
  return (
    <div class="state" role="alert">
      <Icon name="alert" />
      <h2>{what}</h2>
      <p class="foreign">{errorText(error)}</p>
      {retry && (
        <Button icon="refresh" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

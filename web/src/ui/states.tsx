import type { ComponentChildren } from "preact";

import { told } from "../api/http.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** There is nothing to show, and that is as it should be. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="state">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** It is on its way. */
export function Loading({ what }: { what: string }) {
  return (
    <div class="state" role="status">
      <span class="spinner" />
      <p>{what}</p>
    </div>
  );
}

/** It could not be had. */
export function Failed({ what, error, again }: { what: string; error: unknown; again?: () => void }) {
  return (
    <div class="state" role="alert">
      <Icon name="alert" />
      <h2>{what}</h2>
      <p class="foreign">{told(error)}</p>
      {again && (
        <Button icon="refresh" onClick={again}>
          Try again
        </Button>
      )}
    </div>
  );
}

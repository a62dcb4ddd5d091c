import { connection } from "../state/live.ts";
import { daemon, me } from "../state/me.ts";
import { type Theme, theme } from "../state/theme.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icons.tsx";
import { AREAS } from "./areas.ts";
import { WORDS } from "./footer.tsx";
import { canSignOut, signOut } from "./sign-out.ts";

const THEMES: Record<Theme, string> = { system: "System", light: "Light", dark: "Dark" };

/** On phones: the pages that do not fit in the bar, and the contents of the sidebar footer. */
export function More({ area, close }: { area: string; close: () => void }) {
  return (
    <Dialog title="More" close={close}>
      <nav class="more-list" aria-label="More">
        {AREAS.filter((it) => it.minor).map(({ area: to, title, icon }) => (
          <a key={to} href={`/${to}`} aria-current={to === area ? "page" : undefined} onClick={() => setTimeout(close)}>
            <Icon name={icon} />
            {title}
          </a>
        ))}
      </nav>
      <fieldset class="themes">
        <legend>Theme</legend>
        {(Object.keys(THEMES) as Theme[]).map((it) => (
          <Button key={it} pressed={theme.value === it} onClick={() => void (theme.value = it)}>
            {THEMES[it]}
          </Button>
        ))}
      </fieldset>
      <div class={`link-state small ${connection.value}`}>
        <span class="dot" />
        <span>
          {WORDS[connection.value]}
          {me.value?.scope === "read_only" && ", read-only"}
          {daemon.value && (
            <span class="muted">
              {" · "}kennel <span class="foreign">{daemon.value.version}</span>
            </span>
          )}
        </span>
      </div>
      <div class="actions">
        {canSignOut.value && connection.value !== "signed_out" && (
          <Button icon="out" onClick={() => void signOut().then(close)}>
            Sign out
          </Button>
        )}
        <Button kind="primary" onClick={close}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}

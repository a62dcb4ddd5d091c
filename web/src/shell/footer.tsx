import { connection } from "../state/live.ts";
import { daemon, me } from "../state/me.ts";
import { type Theme, theme } from "../state/theme.ts";
import { Button } from "../ui/button.tsx";
import type { IconName } from "../ui/icons.tsx";
import { canSignOut, signOut } from "./sign-out.ts";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };
export const WORDS = { connecting: "Connecting", live: "Live", lost: "Not connected", signed_out: "Signed out" } as const;

/** Shows the connection, the version, and the page settings. */
export function Foot({ showKeys }: { showKeys: () => void }) {
  return (
    <div class="foot">
      <div class={`link-state ${connection.value}`} title={daemon.value?.home}>
        <span class="dot" />
        <span>{WORDS[connection.value]}</span>
        {me.value?.scope === "read_only" && <span class="muted">· read-only</span>}
      </div>
      <div class="row">
        <span class="muted grow cut tiny foreign">{daemon.value ? `kennel ${daemon.value.version}` : ""}</span>
        <Button icon="keyboard" kind="plain" compact label="Keyboard shortcuts" onClick={showKeys} />
        <Button
          icon={ICONS[theme.value]}
          kind="plain"
          compact
          label={`Theme: ${theme.value}`}
          onClick={() => void (theme.value = NEXT[theme.value])}
        />
        {canSignOut.value && connection.value !== "signed_out" && (
          <Button icon="out" kind="plain" compact label="Sign out" onClick={() => void signOut()} />
        )}
      </div>
    </div>
  );
}

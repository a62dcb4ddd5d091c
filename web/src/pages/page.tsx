import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import { connection, onReconnected } from "../state/live.ts";
import { go, parts, path } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icons.tsx";
import { Loading } from "../ui/states.tsx";

type Loaded = Promise<ComponentType<{ parts: string[] }>>;

/** The pages; each is loaded on first use. */
const PAGES: Record<string, () => Loaded> = {
  sessions: () => import("./sessions/page.tsx").then((it) => it.SessionsPage),
  session: () => import("./session/page.tsx").then((it) => it.SessionPage),
  members: () => import("./members/page.tsx").then((it) => it.MembersPage),
  plans: () => import("./plans/page.tsx").then((it) => it.PlansPage),
  strays: () => import("./strays/page.tsx").then((it) => it.StraysPage),
  worktrees: () => import("./worktrees/page.tsx").then((it) => it.WorktreesPage),
  doctor: () => import("./doctor/page.tsx").then((it) => it.DoctorPage),
  events: () => import("./events/page.tsx").then((it) => it.EventsPage),
};

function nameOf(parts: string[]): string {
  const [area = "sessions", one] = parts;
  return area === "sessions" && one !== undefined ? "session" : area;
}

/** Shows the page of the current path. */
export function Page() {
  const shown = useSignal<{ name: string; page: ComponentType<{ parts: string[] }> } | null>(null);
  const failed = useSignal(false);
  const turn = useSignal(0);
  const name = nameOf(parts.value);
  useEffect(() => {
    if (path.value === "/") go("/sessions", "replace");
  }, [path.value]);
  useEffect(() => {
    let current = true;
    failed.value = false;
    PAGES[name]?.().then(
      (page) => current && void (shown.value = { name, page }),
      () => current && void (failed.value = true),
    );
    return () => void (current = false);
  }, [name, turn.value]);
  useEffect(() => onReconnected(() => failed.peek() && void (turn.value += 1)), []);
  if (!PAGES[name]) {
    return (
      <div class="state">
        <Icon name="search" />
        <h1>Page not found</h1>
        <p>
          Go to <a href="/sessions">the session list</a>.
        </p>
      </div>
    );
  }
  if (failed.value) return <LoadError />;
  if (shown.value?.name !== name) return <Loading what="Loading…" />;
  const { page: Shown } = shown.value;
  return <Shown parts={parts.value.slice(1)} />;
}

/** Shown when a page could not be loaded: the daemon is down, or the files of a newer version have other names. */
function LoadError() {
  const isLost = connection.value === "lost";
  return (
    <div class="state" role="alert">
      <Icon name="alert" />
      <h1>Couldn’t load this section</h1>
      <p>
        {isLost
          ? "The daemon is not responding. This section loads when the daemon is back."
          : "Kennel may have been updated. Reload the page to get the current version."}
      </p>
      <Button icon="refresh" kind="primary" onClick={() => location.reload()}>
        Reload
      </Button>
    </div>
  );
}

import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import { connection, onReturn } from "../state/live.ts";
import { go, parts, path } from "../state/router.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icons.tsx";
import { Loading } from "../ui/states.tsx";

type Loaded = Promise<ComponentType<{ parts: string[] }>>;

/** The pages, each loaded when it is first needed. */
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

/** The page that the path names. */
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
  useEffect(() => onReturn(() => failed.peek() && void (turn.value += 1)), []);
  if (!PAGES[name]) {
    return (
      <div class="state">
        <Icon name="search" />
        <h1>There is no such page</h1>
        <p>
          Perhaps you look for <a href="/sessions">the sessions</a>.
        </p>
      </div>
    );
  }
  if (failed.value) return <Missing />;
  if (shown.value?.name !== name) return <Loading what="Loading…" />;
  const { page: Shown } = shown.value;
  return <Shown parts={parts.value.slice(1)} />;
}

/** A part of the page that was not loaded: nobody answers, or a newer kennel has other files. */
function Missing() {
  const isLost = connection.value === "lost";
  return (
    <div class="state" role="alert">
      <Icon name="alert" />
      <h1>This part of the page can't be had</h1>
      <p>
        {isLost
          ? "It was not loaded before, and the daemon does not answer. It comes by itself when the daemon is back."
          : "The daemon may be of another version by now, whose page has other parts. Reload to have that page."}
      </p>
      <Button icon="refresh" kind="primary" onClick={() => location.reload()}>
        Reload
      </Button>
    </div>
  );
}

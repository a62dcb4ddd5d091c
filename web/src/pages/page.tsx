import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

import { go, parts, path } from "../state/router.ts";
import { Empty, Failed, Loading } from "../ui/states.tsx";

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
  const error = useSignal<unknown>(null);
  const turn = useSignal(0);
  const name = nameOf(parts.value);
  useEffect(() => {
    if (path.value === "/") go("/sessions", "replace");
  }, [path.value]);
  useEffect(() => {
    let current = true;
    error.value = null;
    PAGES[name]?.().then(
      (page) => current && void (shown.value = { name, page }),
      (failed: unknown) => current && void (error.value = failed),
    );
    return () => void (current = false);
  }, [name, turn.value]);
  if (!PAGES[name]) {
    return (
      <Empty icon="search" title="There is no such page">
        <p>
          Perhaps you look for <a href="/sessions">the sessions</a>.
        </p>
      </Empty>
    );
  }
  // A newer kennel has other files: then the page as a whole is to be had anew.
  if (error.value) return <Failed what="This part of the page can't be had" error={error.value} again={() => location.reload()} />;
  if (shown.value?.name !== name) return <Loading what="Loading…" />;
  const { page: Shown } = shown.value;
  return <Shown parts={parts.value.slice(1)} />;
}

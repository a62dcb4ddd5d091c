import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { bind } from "../state/keys.ts";
import { live } from "../state/live.ts";
import { go } from "../state/router.ts";
import { strays } from "../state/strays.ts";
import { Icon, type IconName } from "../ui/icons.tsx";
import { Banner } from "./banner.tsx";
import { Foot } from "./foot.tsx";
import { Keys } from "./keys.tsx";

const AREAS: { area: string; title: string; icon: IconName; key: string }[] = [
  { area: "sessions", title: "Sessions", icon: "sessions", key: "s" },
  { area: "members", title: "Members", icon: "members", key: "m" },
  { area: "plans", title: "Plans", icon: "plans", key: "p" },
  { area: "strays", title: "Strays", icon: "strays", key: "t" },
  { area: "worktrees", title: "Worktrees", icon: "worktrees", key: "w" },
  { area: "events", title: "Events", icon: "events", key: "e" },
  { area: "doctor", title: "Doctor", icon: "doctor", key: "d" },
];

/** What is around every page. */
export function Shell({ area, children }: { area: string; children: ComponentChildren }) {
  const showsKeys = useSignal(false);
  useEffect(
    () =>
      bind(
        ...AREAS.map(({ area, title, key }) => ({ keys: `g ${key}`, what: `Go to ${title}`, run: () => go(`/${area}`) })),
        { keys: "?", what: "Show these keys", run: () => void (showsKeys.value = true) },
      ),
    [],
  );
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="side">
        <a class="brand" href="/sessions" aria-label="Kennel, sessions">
          <Icon name="house" />
          Kennel
        </a>
        <nav aria-label="Main">
          <ul>
            {AREAS.map(({ area: to, title, icon }) => (
              <li key={to}>
                <a href={`/${to}`} aria-current={to === area ? "page" : undefined}>
                  <Icon name={icon} />
                  {title}
                  <Count of={to} />
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Foot showKeys={() => void (showsKeys.value = true)} />
      </header>
      <main id="main" tabIndex={-1}>
        <Banner />
        {children}
      </main>
      {showsKeys.value && <Keys close={() => void (showsKeys.value = false)} />}
    </div>
  );
}

function Count({ of }: { of: string }) {
  if (of === "sessions" && live.value.length > 0) {
    return (
      <span class="count">
        {live.value.length.toLocaleString("en")}
        <span class="hidden-visually"> live</span>
      </span>
    );
  }
  if (of === "strays" && strays.value.length > 0) {
    return (
      <span class="count alarm">
        {strays.value.length}
        <span class="hidden-visually"> found</span>
      </span>
    );
  }
  return null;
}

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { bindShortcuts } from "../state/shortcuts.ts";
import { connection, live } from "../state/live.ts";
import { go } from "../state/router.ts";
import { strays } from "../state/strays.ts";
import { Icon } from "../ui/icons.tsx";
import { Announcer } from "./announcer.tsx";
import { AREAS } from "./areas.ts";
import { Banner } from "./banner.tsx";
import { Foot } from "./footer.tsx";
import { Keys } from "./shortcuts.tsx";
import { More } from "./more.tsx";
import { SignedOut } from "./signed-out.tsx";
import "./favicon.ts";

/** Moves the keyboard focus past the navigation. */
function skip(event: Event): void {
  event.preventDefault();
  document.querySelector("main")?.focus();
}

/** The frame around every page: navigation, banner and dialogs. */
export function Shell({ area, title, children }: { area: string; title: string; children: ComponentChildren }) {
  const open = useSignal<"keys" | "more" | null>(null);
  const close = () => void (open.value = null);
  useLayoutEffect(
    () =>
      bindShortcuts(
        ...AREAS.map(({ area, title, key }) => ({ keys: `g ${key}`, what: title, run: () => go(`/${area}`) })),
        { keys: "?", what: "Show keyboard shortcuts", run: () => void (open.value = "keys") },
      ),
    [],
  );
  const isSignedOut = connection.value === "signed_out";
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header class="side">
        <a class="brand" href="/sessions" aria-label="Kennel: sessions">
          <Icon name="house" />
          Kennel
        </a>
        <Navigation area={area} more={() => void (open.value = "more")} />
        <Foot showKeys={() => void (open.value = "keys")} />
      </header>
      <main id="main" tabIndex={-1}>
        {isSignedOut ? <SignedOut /> : children}
        <Banner />
      </main>
      <Announcer title={title} />
      {open.value === "keys" && <Keys close={close} />}
      {open.value === "more" && <More area={area} close={close} />}
    </div>
  );
}

function Navigation({ area, more }: { area: string; more: () => void }) {
  const isBehind = AREAS.some((it) => it.minor && it.area === area);
  return (
    <nav aria-label="Main">
      <ul>
        {AREAS.map(({ area: to, title, icon, minor }) => (
          <li key={to} class={minor && "minor"}>
            <a href={`/${to}`} aria-current={to === area ? "page" : undefined}>
              <Icon name={icon} />
              {title}
              <Count of={to} />
            </a>
          </li>
        ))}
        <li class="phone-only">
          <button type="button" class={isBehind ? "more current" : "more"} aria-haspopup="dialog" onClick={more}>
            <Icon name="more" />
            More
          </button>
        </li>
      </ul>
    </nav>
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

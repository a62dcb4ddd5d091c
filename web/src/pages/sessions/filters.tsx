import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { bind } from "../../state/keys.ts";
import { sessions } from "../../state/live.ts";
import { params, setParam } from "../../state/router.ts";
import { shortened } from "../../ui/format.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icons.tsx";
import { HEADS } from "./list.tsx";
import { SHOWS, type Show, type Trait, TRAITS, valuesOf } from "./choice.ts";
import { choice, counts } from "./state.ts";

const SHOW_WORDS: Record<Show, string> = { live: "Live", ended: "Ended", all: "All" };
const TRAIT_WORDS: Record<Trait, string> = { agent: "Agent", member: "Member", plan: "Plan", phase: "Phase" };

/** Phases whose names say little to people. */
const PHASE_WORDS: Record<string, string> = { making: "making its worktree", reserved: "on record", reaped: "ended, not cleaned up yet", cleaned: "ended" };

/** What is looked for: all of it is in the address, so that it can be kept as a link. */
export function Filters() {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => bind({ keys: "/", what: "Search the sessions", run: () => box.current?.select() }), []);
  // On a phone they would take half of the screen.
  const opened = useSignal(false);
  const narrowed = TRAITS.filter((trait) => choice.value.traits[trait] !== undefined).length;
  return (
    <div class="filters" role="search" aria-label="Sessions">
      <label class="search">
        <Icon name="search" />
        <input
          ref={box}
          class="input"
          type="search"
          placeholder="Search by name, command, folder, branch, id"
          aria-label="Search the sessions"
          aria-keyshortcuts="/"
          value={params.value.get("q") ?? ""}
          onInput={(event) => setParam("q", event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape" && event.currentTarget.value === "") event.currentTarget.blur();
            if (event.key !== "ArrowDown" && event.key !== "Enter") return;
            event.preventDefault();
            document.querySelector<HTMLElement>('.session-row[tabindex="0"]')?.focus();
          }}
        />
        <kbd class="desktop-only">/</kbd>
      </label>
      <span class="phone-only">
        <Button icon="filter" label={narrowed > 0 ? `Filter and sort, ${narrowed} in use` : "Filter and sort"} pressed={narrowed > 0} expanded={opened.value} onClick={() => void (opened.value = !opened.value)} />
      </span>
      <div class="segments" role="group" aria-label="Which sessions">
        {SHOWS.map((show) => (
          <button
            type="button"
            key={show}
            aria-pressed={choice.value.show === show}
            onClick={() => setParam("show", show === "live" ? null : show)}
          >
            {SHOW_WORDS[show]} <span class="figure">{counts.value[show].toLocaleString("en")}</span>
          </button>
        ))}
      </div>
      <div class={`traits${opened.value ? " opened" : ""}`}>
        {TRAITS.map((trait) => (
          <TraitChoice key={trait} trait={trait} />
        ))}
        <label class="trait phone-only">
          <span class="hidden-visually">Sort by</span>
          <select value={params.value.get("sort") ?? "age"} onChange={(event) => setParam("sort", event.currentTarget.value === "age" ? null : event.currentTarget.value)}>
            {HEADS.flatMap(({ column, title }) => [
              <option value={column}>By {title.toLowerCase()}</option>,
              <option value={`-${column}`}>By {title.toLowerCase()}, reversed</option>,
            ])}
          </select>
        </label>
      </div>
    </div>
  );
}

/** One of the values that there are, or any. */
function TraitChoice({ trait }: { trait: Trait }) {
  const values = useComputed(() => valuesOf(sessions.value, trait));
  const chosen = choice.value.traits[trait];
  if (chosen === undefined && values.value.length < (trait === "phase" ? 2 : 1)) return null;
  const options = chosen === undefined || values.value.includes(chosen) ? values.value : [chosen, ...values.value];
  return (
    <label class={chosen === undefined ? "trait" : "trait chosen"}>
      <span class="hidden-visually">{TRAIT_WORDS[trait]}</span>
      <select value={chosen ?? ""} onChange={(event) => setParam(trait, event.currentTarget.value)}>
        <option value="">{TRAIT_WORDS[trait]}: any</option>
        {options.map((value) => (
          <option key={value} value={value}>
            {shortened((trait === "phase" && PHASE_WORDS[value]) || value, 40)}
          </option>
        ))}
      </select>
    </label>
  );
}

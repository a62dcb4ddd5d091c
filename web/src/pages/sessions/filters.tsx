import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { bindShortcuts } from "../../state/shortcuts.ts";
import { sessions } from "../../state/live.ts";
import { params, setParam } from "../../state/router.ts";
import { truncate } from "../../ui/format.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icons.tsx";
import { HEADS } from "./list.tsx";
import { SHOWS, type Show, type Facet, FACETS, valuesOf } from "./filter.ts";
import { choice, counts } from "./state.ts";

const SHOW_LABELS: Record<Show, string> = { live: "Live", ended: "Ended", all: "All" };
const FACET_LABELS: Record<Facet, string> = { agent: "Agent", member: "Member", plan: "Plan", phase: "Phase" };

/** Labels for phases whose API names are unclear. */
const PHASE_LABELS: Record<string, string> = { making: "creating worktree", reserved: "recorded", reaped: "ended (cleanup pending)", cleaned: "ended" };

/** The search and filters. All of it is in the URL, so that it can be bookmarked. */
export function Filters() {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => bindShortcuts({ keys: "/", what: "Search sessions", run: () => box.current?.select() }), []);
  // On phones the filters would take half of the screen.
  const opened = useSignal(false);
  const activeFilters = FACETS.filter((facet) => choice.value.facets[facet] !== undefined).length;
  return (
    <div class="filters" role="search" aria-label="Sessions">
      <label class="search">
        <Icon name="search" />
        <input
          ref={box}
          class="input"
          type="search"
          placeholder="Search by name, command, folder, branch or ID"
          aria-label="Search sessions"
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
        <Button icon="filter" label={activeFilters > 0 ? `Filter and sort (${activeFilters} active)` : "Filter and sort"} pressed={activeFilters > 0} expanded={opened.value} onClick={() => void (opened.value = !opened.value)} />
      </span>
      <div class="segments" role="group" aria-label="Sessions to show">
        {SHOWS.map((show) => (
          <button
            type="button"
            key={show}
            aria-pressed={choice.value.show === show}
            onClick={() => setParam("show", show === "live" ? null : show)}
          >
            {SHOW_LABELS[show]} <span class="figure">{counts.value[show].toLocaleString("en")}</span>
          </button>
        ))}
      </div>
      <div class={`facets${opened.value ? " opened" : ""}`}>
        {FACETS.map((facet) => (
          <FacetSelect key={facet} facet={facet} />
        ))}
        <label class="facet phone-only">
          <span class="hidden-visually">Sort by</span>
          <select value={params.value.get("sort") ?? "age"} onChange={(event) => setParam("sort", event.currentTarget.value === "age" ? null : event.currentTarget.value)}>
            {HEADS.flatMap(({ column, title }) => [
              <option value={column}>Sort by {title}</option>,
              <option value={`-${column}`}>Sort by {title}, reversed</option>,
            ])}
          </select>
        </label>
      </div>
    </div>
  );
}

/** Selects one value of a property, or any. */
function FacetSelect({ facet }: { facet: Facet }) {
  const values = useComputed(() => valuesOf(sessions.value, facet));
  const chosen = choice.value.facets[facet];
  if (chosen === undefined && values.value.length < (facet === "phase" ? 2 : 1)) return null;
  const options = chosen === undefined || values.value.includes(chosen) ? values.value : [chosen, ...values.value];
  return (
    <label class={chosen === undefined ? "facet" : "facet chosen"}>
      <span class="hidden-visually">{FACET_LABELS[facet]}</span>
      <select value={chosen ?? ""} onChange={(event) => setParam(facet, event.currentTarget.value)}>
        <option value="">{FACET_LABELS[facet]}: any</option>
        {options.map((value) => (
          <option key={value} value={value}>
            {truncate((facet === "phase" && PHASE_LABELS[value]) || value, 40)}
          </option>
        ))}
      </select>
    </label>
  );
}

import { useLayoutEffect, useRef } from "preact/hooks";

import { go, setParam } from "../../state/router.ts";
import { bindShortcuts } from "../../state/shortcuts.ts";
import { useUsage } from "../../state/usage.ts";
import { Icon } from "../../ui/icons.tsx";
import { useMedia } from "../../ui/use-media.ts";
import { reveal, Virtual } from "../../ui/virtual.tsx";
import { type Column, sortedBy } from "./filter.ts";
import { Row } from "./row.tsx";
import { choice, cursor, missing, indexOf, rows, selectAll, selected, selectedIds, selectNone, selectTo, toggle } from "./state.ts";

const ROW = 46;
const CARD = 108;
const HEAD = 36;
/** The height of the selection bar, and with the navigation bar of phones. */
const FOOT = 64;
const PHONE_FOOT = 130;

export const HEADS: { column: Column; title: string }[] = [
  { column: "state", title: "State" },
  { column: "name", title: "Session" },
  { column: "agent", title: "Agent" },
  { column: "activity", title: "Activity" },
  { column: "cpu", title: "CPU" },
  { column: "memory", title: "Memory" },
  { column: "folder", title: "Folder" },
  { column: "age", title: "Age" },
];

/** The session list. It renders only the visible rows. */
export function List() {
  useUsage();
  const isPhone = useMedia("(max-width: 760px)");
  const grid = useRef<HTMLDivElement>(null);
  const rowHeight = isPhone ? CARD : ROW;
  const covered = isPhone ? { above: 8, below: PHONE_FOOT } : { above: HEAD + 4, below: FOOT };

  const moveTo = (index: number, extend = false) => {
    const session = rows.value[Math.max(0, Math.min(rows.value.length - 1, index))];
    const list = grid.current?.querySelector(".virtual");
    if (!session || !list) return;
    if (extend && cursor.value !== null && selectedIds.value.size === 0) toggle(cursor.value);
    cursor.value = session.session;
    if (extend) selectTo(session.session);
    reveal(list, indexOf(session.session), rowHeight, covered);
    // A row that was out of view is rendered with the next frame.
    if (!focusRow(session.session)) requestAnimationFrame(() => focusRow(session.session));
  };
  const step = (by: number, extend = false) => {
    const at = indexOf(cursor.value);
    moveTo(at < 0 ? (by > 0 ? 0 : rows.value.length - 1) : at + by, extend);
  };
  const open = () => cursor.value !== null && indexOf(cursor.value) >= 0 && go(`/sessions/${encodeURIComponent(cursor.value)}`);
  const latest = useRef({ step });
  latest.current = { step };

  useLayoutEffect(
    () =>
      bindShortcuts(
        { keys: "j", what: "Next session (also arrow keys)", run: () => latest.current.step(1) },
        { keys: "k", what: "Previous session", run: () => latest.current.step(-1) },
        { keys: "x", what: "Select or deselect (also Space)", run: () => void (cursor.value !== null && toggle(cursor.value)) },
        { keys: "A", what: "Select all shown", run: selectAll },
        { keys: "Escape", what: "Clear selection", run: selectNone },
      ),
    [],
  );

  const onKeyDown = (event: KeyboardEvent) => {
    const row = (event.target as Element).closest<HTMLElement>(".session-row");
    if (!row || event.ctrlKey || event.metaKey || event.altKey || event.target !== row) return;
    const page = Math.max(1, Math.floor((innerHeight - covered.above - covered.below) / rowHeight) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    const by = steps[event.key];
    if (by !== undefined) step(by, event.shiftKey);
    else if (event.key === "Enter") open();
    else if (event.key === " ") toggle(row.dataset["session"]!);
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    const target = event.target as Element;
    const id = target.closest<HTMLElement>(".session-row")?.dataset["session"];
    if (id === undefined) return;
    cursor.value = id;
    if (event.shiftKey) {
      event.preventDefault();
      getSelection()?.removeAllRanges();
      return selectTo(id);
    }
    if (target.closest("a, input")) return;
    if (event.ctrlKey || event.metaKey) return toggle(id);
    // Do not navigate when the user selects text.
    if (getSelection()?.isCollapsed !== false) open();
  };

  const shown = rows.value;
  const current = indexOf(cursor.value) >= 0 ? cursor.value : (shown[0]?.session ?? null);
  return (
    <div
      ref={grid}
      class={`sessions-grid ${missing.value}`}
      role="grid"
      aria-label="Sessions"
      aria-multiselectable="true"
      aria-rowcount={shown.length + 1}
      aria-colcount={HEADS.length + 1}
      onKeyDown={onKeyDown}
      onClick={onClick}
      style={{ "--row-height": `${rowHeight}px` }}
    >
      <Head />
      <Virtual
        items={shown}
        keyOf={(session) => session.session}
        rowHeight={rowHeight}
        always={cursor.value}
        steady={choice.value.sort === "age"}
        covered={covered}
        row={(session, at, top) => (
          <Row
            key={session.session}
            session={session}
            at={at}
            top={top}
            isSelected={selectedIds.value.has(session.session)}
            isCurrent={session.session === current}
          />
        )}
      />
    </div>
  );
}

/** Focuses a row; returns whether it is rendered. */
function focusRow(id: string): boolean {
  const row = document.querySelector<HTMLElement>(`.session-row[data-session="${CSS.escape(id)}"]`);
  row?.focus({ preventScroll: true });
  return row !== null;
}

function Head() {
  const { sort, descending } = choice.value;
  const all = rows.value.length > 0 && selected.value.length === rows.value.length;
  const some = !all && selected.value.length > 0;
  return (
    <div role="rowgroup" class="grid-head">
      <div role="row" aria-rowindex={1} class="list-head">
        <div role="columnheader" class="cell-check">
          <input
            type="checkbox"
            aria-label="Select all shown"
            checked={all}
            ref={(box) => void (box && (box.indeterminate = some))}
            onChange={() => (all ? selectNone() : selectAll())}
          />
        </div>
        {HEADS.map(({ column, title }) => (
          <div
            role="columnheader"
            key={column}
            class={`cell-${column}`}
            aria-sort={sort === column ? (descending ? "descending" : "ascending") : undefined}
          >
            <button type="button" onClick={() => setParam("sort", sortedBy(column, choice.value))}>
              {title}
              {sort === column && <Icon name={descending ? "down" : "up"} />}
            </button>
          </div>
        ))}
      </div>
    </div>
  );
}

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import type { InspectView, ProcessView, SessionView } from "../../../api/types.ts";
import { pluralize } from "../../../ui/format.ts";
import { Icon } from "../../../ui/icons.tsx";
import { type Recent, useRecent } from "./recent.ts";
import { build, type Line, lines, REPARENTED, stateLabel } from "./tree.ts";

/** The processes in the pen, as a tree. */
export function Processes({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const recent = useRecent(inspected.members);
  const tree = build(inspected.members, session.pid);
  const count = inspected.members.length;
  return (
    <section class="card" aria-labelledby="processes-title">
      <header>
        <h2 id="processes-title" class="grow">
          Processes
        </h2>
        <span class="muted small" data-count={count}>
          {count === 0 ? "none" : pluralize(count, "process", "processes")}
        </span>
      </header>
      {count === 0 && recent.vanished.length === 0 ? (
        <p class="body muted small">{emptyText(session)}</p>
      ) : (
        <TreeView shown={(folded) => lines(tree, folded)} agentPid={session.pid} recent={recent} />
      )}
      {!session.ended_at && <JustEnded processes={recent.vanished} />}
      <Pen session={session} keeper={inspected.keeper_pid} />
      {inspected.trouble.map((trouble) => (
        <p class="pen-line warn-text foreign" key={trouble}>
          {trouble}
        </p>
      ))}
    </section>
  );
}

/** Lists processes that have just ended. It has a fixed height, so that nothing below it moves. */
function JustEnded({ processes }: { processes: ProcessView[] }) {
  return (
    <div class="vanished tiny muted">
      {processes.length > 0 && (
        <>
          Just ended:
          <ul aria-label="Just ended">
            {processes.map((process) => (
              <li key={process.pid}>
                <s class="foreign">{process.name}</s> {process.pid}
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function emptyText(session: SessionView): string {
  if (session.ended_at) return "All processes of this launch have ended.";
  if (session.phase === "lost") return "Unknown: the session is lost.";
  if (session.phase === "queued") return "The session is queued.";
  return "The pen is empty at the moment.";
}

function Pen({ session, keeper }: { session: SessionView; keeper: number | null }) {
  const pen = session.pen;
  if (session.ended_at) return null;
  if (pen === null) return session.started_by === "terminal" ? <p class="pen-line muted">No pen: the session was started in a terminal, and only this process is tracked.</p> : null;
  const kind =
    pen === "subtree" ? "process tree below its keeper (no cgroup)" : pen === "pidns" ? "PID namespace" : pen.startsWith("/") ? "cgroup" : "";
  return (
    <p class="pen-line muted">
      Pen: {kind} {pen.startsWith("/") && <code class="foreign">{pen}</code>}
      {keeper !== null && <>, keeper PID {keeper}</>}
    </p>
  );
}

/** The tree. Up and down move between lines; right and left expand, collapse, and move in and out. */
function TreeView(props: { shown: (folded: ReadonlySet<string>) => Line[]; agentPid: number | null; recent: Recent }) {
  const folded = useSignal<ReadonlySet<string>>(new Set());
  const chosen = useSignal<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const shown = props.shown(folded.value);
  const at = Math.max(0, shown.findIndex((line) => line.key === chosen.value));
  const fold = (key: string, closed: boolean) => {
    const next = new Set(folded.value);
    if (closed) next.add(key);
    else next.delete(key);
    folded.value = next;
  };
  const focus = (line: Line | undefined) => {
    if (!line) return;
    chosen.value = line.key;
    list.current?.querySelector<HTMLElement>(`[data-key="${line.key}"]`)?.focus();
  };
  const press = (event: KeyboardEvent) => {
    const line = shown[at];
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown") focus(shown[at + 1]);
    else if (event.key === "ArrowUp") focus(shown[at - 1]);
    else if (event.key === "Home") focus(shown[0]);
    else if (event.key === "End") focus(shown.at(-1));
    else if (event.key === "ArrowRight" && line.children > 0) {
      if (line.isOpen) focus(shown[at + 1]);
      else fold(line.key, false);
    } else if (event.key === "ArrowLeft") {
      if (line.children > 0 && line.isOpen) fold(line.key, true);
      else focus(shown.find((other) => other.key === line.above));
    } else return;
    event.preventDefault();
  };
  return (
    <ul class="process-tree" role="tree" aria-label="Processes in the pen" ref={list} onKeyDown={press}>
      {shown.map((line, index) => (
        <li
          key={line.key}
          role="treeitem"
          data-key={line.key}
          data-pid={line.process?.pid}
          class={line.process && props.recent.appeared.has(line.process.pid) ? "new" : undefined}
          style={{ "--level": line.level - 1 }}
          aria-level={line.level}
          aria-posinset={line.position}
          aria-setsize={line.of}
          aria-expanded={line.children > 0 ? line.isOpen : undefined}
          aria-selected={index === at}
          tabIndex={index === at ? 0 : -1}
          onFocus={() => void (chosen.value = line.key)}
          onClick={(event) => {
            if ((event.target as Element).closest(".twisty")) fold(line.key, line.isOpen);
          }}
        >
          <span class="twisty" aria-hidden="true">
            {line.children > 0 && <Icon name={line.isOpen ? "down" : "right"} />}
          </span>
          {line.key === REPARENTED || !line.process ? (
            <Reparented count={line.children} />
          ) : (
            <Process process={line.process} isAgent={line.process.pid === props.agentPid} isNew={props.recent.appeared.has(line.process.pid)} />
          )}
        </li>
      ))}
    </ul>
  );
}

function Reparented({ count }: { count: number }) {
  return (
    <div class="process">
      <strong>Re-parented</strong> <span class="muted small">{count}</span>
      <p class="muted tiny">Their parent process has exited, as with daemons. They are still in the pen, and a stop ends them, too.</p>
    </div>
  );
}

function Process({ process, isAgent, isNew }: { process: ProcessView; isAgent: boolean; isNew: boolean }) {
  return (
    <div class="process">
      <div class="row wrap">
        <strong class="foreign">{process.name}</strong>
        {isAgent && <span class="badge bare info">agent</span>}
        {isNew && <span class="badge bare good">new</span>}
        <span class="muted tiny">PID {process.pid}</span>
        <span class={`tiny state-${process.state === "D" || process.state === "Z" ? "odd" : "plain"}`}>{stateLabel(process.state)}</span>
      </div>
      <code class="cut foreign" title={process.command.slice(0, 2000)}>
        {process.command.slice(0, 600)}
      </code>
    </div>
  );
}

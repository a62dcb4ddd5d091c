import { Component } from "preact";

import type { SessionView } from "../../api/types.ts";
import { isOver } from "../../state/live.ts";
import { Age } from "../../ui/age.tsx";
import { SessionStateBadge } from "../../ui/badge.tsx";
import { duration, truncate } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";
import { reasonText, displayName, programText } from "../../ui/labels.ts";
import { toggle } from "./state.ts";
import { Cpu, Memory } from "./usage-cells.tsx";

/** Longer texts do not fit into a row. */
const LONGEST = 160;

interface Props {
  session: SessionView;
  at: number;
  top: number;
  isSelected: boolean;
  /** Whether keyboard shortcuts act on it. */
  isCurrent: boolean;
}

/** The row is highlighted when one of these values changes. Queue positions and percentages change too often. */
function signature({ phase, attempt, activity, reason, judged }: SessionView): string {
  return [phase, attempt, activity, reason?.kind, judged?.verdict.kind].join(" ");
}

/** A row of the list, or a card on phones. It renders only if something changed. */
export class Row extends Component<Props> {
  #signature = signature(this.props.session);
  #turn = 0;

  override shouldComponentUpdate(next: Props): boolean {
    const { props } = this;
    return (
      next.session !== props.session || next.at !== props.at || next.top !== props.top ||
      next.isSelected !== props.isSelected || next.isCurrent !== props.isCurrent
    );
  }

  override render({ session, at, top, isSelected, isCurrent }: Props) {
    const now = signature(session);
    if (now !== this.#signature) {
      this.#signature = now;
      this.#turn += 1;
    }
    const changed = this.#turn === 0 ? "" : this.#turn % 2 === 0 ? " changed even" : " changed odd";
    return (
      <div
        role="row"
        class={`session-row${changed}`}
        data-session={session.session}
        aria-rowindex={at + 2}
        aria-selected={isSelected}
        tabIndex={isCurrent ? 0 : -1}
        style={{ transform: `translateY(${top}px)` }}
      >
        <div role="gridcell" class="cell-check">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${truncate(displayName(session))}`}
            checked={isSelected}
            onChange={() => toggle(session.session)}
          />
        </div>
        <div role="gridcell" class="cell-state" title={session.reason ? reasonText(session.reason) : undefined}>
          <SessionStateBadge session={session} />
        </div>
        <Name session={session} />
        <Agent session={session} />
        <Activity session={session} />
        <Cpu launch={session.id} />
        <Memory launch={session.id} />
        <Folder session={session} />
        <Times session={session} />
      </div>
    );
  }
}

function Name({ session }: { session: SessionView }) {
  const name = displayName(session);
  const command = programText(session);
  const more = endReason(session) ?? (session.name && session.title ? session.title : name === command ? session.id : command);
  const isCode = more === command || more === session.id;
  return (
    <div role="gridcell" class="cell-name two">
      <a class="cut foreign" tabIndex={-1} href={`/sessions/${encodeURIComponent(session.session)}`} title={truncate(name, 400)}>
        {truncate(name, LONGEST)}
      </a>
      <span class={`cut foreign muted tiny${isCode ? " mono" : ""}`} title={truncate(more, 400)}>
        {truncate(more, LONGEST)}
      </span>
    </div>
  );
}

/** Returns why it ended; null if it succeeded, or if its state already shows the reason. */
function endReason(session: SessionView): string | null {
  if (!isOver(session) || !session.reason) return null;
  if (session.judged) return session.judged.verdict.kind === "succeeded" ? null : session.judged.verdict.evidence || null;
  return /^(exited|stopped)$/.test(session.reason.kind) ? null : reasonText(session.reason);
}

function Agent({ session }: { session: SessionView }) {
  const { agent } = session.spec;
  if (!agent) return <div role="gridcell" class="cell-agent" />;
  const first = agent.settings.agent;
  const second = [agent.member, agent.plan?.name].filter(Boolean).join(" · ");
  const more = agent.plan ? `${agent.plan.name} of plan ${agent.plan.plan}` : undefined;
  return (
    <div role="gridcell" class="cell-agent two">
      <span class="cut foreign" title={first}>
        {truncate(first, LONGEST)}
      </span>
      {second && <span class="cut foreign muted tiny" title={more}>{truncate(second, LONGEST)}</span>}
    </div>
  );
}

function Activity({ session }: { session: SessionView }) {
  if (isOver(session) || (session.activity === null && session.progress === null)) return <div role="gridcell" class="cell-activity" />;
  const { activity, progress } = session;
  return (
    <div role="gridcell" class="cell-activity two">
      <span class={activity === "busy" ? "" : "muted"}>
        {activity ?? ""}
        {progress !== null && <span class="figure">{` ${progress}%`}</span>}
      </span>
      {progress !== null && <progress aria-label="Progress" max={100} value={progress} />}
    </div>
  );
}

function Folder({ session }: { session: SessionView }) {
  const { cwd = "", worktree } = session.spec;
  const folder = worktree?.repo.replace(/\/\.git$/, "") || cwd;
  return (
    <div role="gridcell" class="cell-folder two">
      <span class="cut foreign" title={truncate(folder, 400)}>
        {truncate(folder.split("/").findLast(Boolean) ?? folder, LONGEST)}
      </span>
      {worktree ? (
        <span class="cut foreign muted tiny branch" title={worktree.branch}>
          <Icon name="worktrees" />
          {truncate(worktree.branch || worktree.asked || "new branch", LONGEST)}
        </span>
      ) : (
        <span class="cut foreign muted tiny" title={truncate(folder, 400)}>
          {truncate(folder, LONGEST)}
        </span>
      )}
    </div>
  );
}

function Times({ session }: { session: SessionView }) {
  const startedAt = session.started_at ?? session.created_at;
  const attempt = session.attempt > 1 ? `launch ${session.attempt}` : null;
  if (!isOver(session) || !session.ended_at) {
    return (
      <div role="gridcell" class="cell-age two">
        <Age since={startedAt} />
        {attempt && <span class="muted tiny">{attempt}</span>}
      </div>
    );
  }
  return (
    <div role="gridcell" class="cell-age two">
      <span>
        <Age since={session.ended_at} /> ago
      </span>
      <span class="muted tiny">
        took {duration(Date.parse(session.ended_at) - Date.parse(startedAt))}
        {attempt && `, ${attempt}`}
      </span>
    </div>
  );
}

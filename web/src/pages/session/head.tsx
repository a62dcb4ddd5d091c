import type { ComponentChildren } from "preact";

import { segment } from "../../api/http.ts";
import type { SessionView } from "../../api/types.ts";
import { isOver, launches, launchReference, sessions } from "../../state/live.ts";
import { Age } from "../../ui/age.tsx";
import { Badge, SessionStateBadge } from "../../ui/badge.tsx";
import { Copy } from "../../ui/copy.tsx";
import { commandLine, duration, truncate } from "../../ui/format.ts";
import { displayName, sessionState, programText } from "../../ui/labels.ts";
import { Actions } from "./actions/actions.tsx";

/** The title, state, actions and main facts of a session. */
export function Head({ session }: { session: SessionView }) {
  const line = commandLine(session.spec.argv ?? []);
  return (
    <header class="session-head">
      <div class="title">
        <h1 class="foreign">{truncate(displayName(session))}</h1>
        <span role="status" aria-label="State">
          <SessionStateBadge session={session} />
        </span>
        {session.activity && !session.ended_at && <Badge tone={session.activity === "busy" ? "good" : "quiet"} word={session.activity} />}
        {session.ready === "ready" && !session.ended_at && <Badge tone="good" word="ready" bare />}
        {session.ready === "missed" && <Badge tone="bad" word="not ready in time" bare />}
        <span class="grow" />
        <Actions session={session} />
      </div>
      {session.title && session.title !== displayName(session) && <p class="foreign">{session.title}</p>}
      {session.progress !== null && !session.ended_at && (
        <div class="row small">
          <progress max={100} value={session.progress} aria-label="Progress" /> {session.progress} %
        </div>
      )}
      {line && (
        <div class="command">
          <code class="cut foreign" title={line.slice(0, 4000)}>
            {truncate(line, 1000)}
          </code>
          <Copy text={line} label="Copy command" />
        </div>
      )}
      <Facts session={session} />
    </header>
  );
}

function Facts({ session }: { session: SessionView }) {
  const { agent, parent, cwd, asked_by: by } = session.spec;
  // The parent may be any launch of a session.
  const children = sessions.value.filter((other) => other.spec.parent?.split("_")[0] === session.session && other.session !== session.session);
  return (
    <dl class="strip">
      <Fact name="ID">
        <code>{session.id}</code>
        <Copy text={session.id} label="Copy ID" />
      </Fact>
      <Fact name={session.ended_at ? "Duration" : session.started_at ? "Running for" : "Waiting for"}>
        {session.ended_at ? (
          <span>
            {duration(Date.parse(session.ended_at) - Date.parse(session.started_at ?? session.created_at))}
            <span class="muted">
              , ended <Age since={session.ended_at} /> ago
            </span>
          </span>
        ) : (
          <Age since={session.started_at ?? session.created_at} />
        )}
      </Fact>
      {session.queue_position !== null && <Fact name="Queue position">{session.queue_position}</Fact>}
      {cwd && (
        <Fact name="Folder">
          <span class="foreign path" title={cwd}>
            {truncate(cwd, 200)}
          </span>
          <Copy text={cwd} label="Copy folder" />
        </Fact>
      )}
      {agent && (
        <Fact name="Agent">
          <span class="foreign">{programText(session)}</span>
        </Fact>
      )}
      {agent?.member && (
        <Fact name="Member">
          <a class="foreign" href={`/members/${segment(agent.member)}`}>
            {agent.member}
          </a>
        </Fact>
      )}
      {agent?.plan && (
        <Fact name="Plan">
          <a class="foreign" href={`/plans/${segment(agent.plan.plan)}`}>
            {agent.plan.name}
          </a>
        </Fact>
      )}
      {session.launches > 1 && (
        <Fact name="Launch">
          {session.attempt} of {session.launches} <OtherLaunches session={session} />
        </Fact>
      )}
      {by && (
        <Fact name="Started by">
          <span class="foreign">{truncate(by, 120)}</span>
        </Fact>
      )}
      {session.started_by === "terminal" && <Fact name="Origin">adopted from a terminal</Fact>}
      {parent && (
        <Fact name="Parent">
          <SessionLink id={parent} />
        </Fact>
      )}
      {children.length > 0 && (
        <Fact name="Children">
          {children.slice(0, 6).map((child) => (
            <SessionLink key={child.id} id={child.session} />
          ))}
          {children.length > 6 && <span class="muted">and {children.length - 6} more</span>}
        </Fact>
      )}
    </dl>
  );
}

/** At most this many other launches are linked. */
const MAX_LISTED = 6;

function OtherLaunches({ session }: { session: SessionView }) {
  const others = Array.from({ length: session.launches }, (_, at) => at + 1).filter((attempt) => attempt !== session.attempt);
  return (
    <>
      {others.slice(-MAX_LISTED).map((attempt) => (
        <a
          key={attempt}
          aria-label={`Launch ${attempt}`}
          href={`/sessions/${segment(attempt === session.launches ? session.session : launchReference(`${session.session}_${attempt}`))}`}
        >
          {attempt}
        </a>
      ))}
    </>
  );
}

function SessionLink({ id }: { id: string }) {
  const found = launches.value.get(id) ?? sessions.value.find((other) => other.session === id);
  return (
    <a class="foreign" href={`/sessions/${segment(id)}`} title={found && sessionState(found).word}>
      {found ? truncate(displayName(found), 40) : id}
      {found && !isOver(found) && <span class="muted"> (live)</span>}
    </a>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

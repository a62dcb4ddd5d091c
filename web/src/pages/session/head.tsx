import type { ComponentChildren } from "preact";

import { segment } from "../../api/http.ts";
import type { SessionView } from "../../api/types.ts";
import { isOver, launches, launchReference, sessions } from "../../state/live.ts";
import { Age } from "../../ui/age.tsx";
import { Badge, Standing } from "../../ui/badge.tsx";
import { Copy } from "../../ui/copy.tsx";
import { commandLine, shortened } from "../../ui/format.ts";
import { called, standing, what } from "../../ui/words.ts";
import { Actions } from "./actions/actions.tsx";

/** Which session it is, how it stands, and what can be done. */
export function Head({ session }: { session: SessionView }) {
  const line = commandLine(session.spec.argv ?? []);
  return (
    <header class="session-head">
      <div class="title">
        <h1 class="foreign">{shortened(called(session), 120)}</h1>
        <span role="status" aria-label="Standing">
          <Standing session={session} />
        </span>
        {session.activity && !session.ended_at && <Badge tone={session.activity === "busy" ? "good" : "quiet"} word={session.activity} />}
        {session.ready === "ready" && !session.ended_at && <Badge tone="good" word="ready" bare />}
        {session.ready === "missed" && <Badge tone="bad" word="was not ready in time" bare />}
        <span class="grow" />
        <Actions session={session} />
      </div>
      {session.title && session.title !== called(session) && <p class="foreign">{session.title}</p>}
      {session.progress !== null && !session.ended_at && (
        <div class="row small">
          <progress max={100} value={session.progress} aria-label="Progress, by its own word" /> {session.progress} %
        </div>
      )}
      {line && (
        <div class="command">
          <code class="cut foreign" title={line.slice(0, 4000)}>
            {shortened(line, 1000)}
          </code>
          <Copy text={line} label="Copy the command" />
        </div>
      )}
      <Facts session={session} />
    </header>
  );
}

function Facts({ session }: { session: SessionView }) {
  const { agent, parent, cwd, asked_by: by } = session.spec;
  // The parent may be any launch of its session.
  const children = sessions.value.filter((other) => other.spec.parent?.split("_")[0] === session.session && other.session !== session.session);
  return (
    <dl class="strip">
      <Fact name="Id">
        <code>{session.id}</code>
        <Copy text={session.id} label="Copy the id" />
      </Fact>
      <Fact name={session.ended_at ? "Took" : session.started_at ? "Runs for" : "Asked for"}>
        <Age since={session.started_at ?? session.created_at} until={session.ended_at} />
        {session.ended_at && (
          <span class="muted">
            , ended <Age since={session.ended_at} /> ago
          </span>
        )}
      </Fact>
      {session.queue_place !== null && <Fact name="In line">place {session.queue_place}</Fact>}
      {cwd && (
        <Fact name="Folder">
          <span class="foreign path" title={cwd}>
            {shortened(cwd, 200)}
          </span>
          <Copy text={cwd} label="Copy the folder" />
        </Fact>
      )}
      {agent && (
        <Fact name="Agent">
          <span class="foreign">{what(session)}</span>
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
        <Fact name="Asked for by">
          <span class="foreign">{shortened(by, 120)}</span>
        </Fact>
      )}
      {session.started_by === "terminal" && <Fact name="Started in">a terminal, and adopted</Fact>}
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

/** At most so many are named. */
const NAMED = 6;

function OtherLaunches({ session }: { session: SessionView }) {
  const others = Array.from({ length: session.launches }, (_, at) => at + 1).filter((attempt) => attempt !== session.attempt);
  return (
    <>
      {others.slice(-NAMED).map((attempt) => (
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
    <a class="foreign" href={`/sessions/${segment(id)}`} title={found && standing(found).word}>
      {found ? shortened(called(found), 40) : id}
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

import type { InspectView, SessionView } from "../../../api/types.ts";
import { Copy } from "../../../ui/copy.tsx";
import { pluralize, formatTime } from "../../../ui/format.ts";
import { cleanupText } from "../../../ui/labels.ts";
import { facts } from "./settings.ts";

/** Shows the settings, the record, and pending cleanup. */
export function Details({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  return (
    <div class="stack">
      <Owed session={session} />
      <section class="card" aria-labelledby="settings-title">
        <header>
          <h2 id="settings-title">Settings</h2>
        </header>
        <dl class="facts body">
          {facts(session.spec).map(([name, value]) => (
            <div class="fact" key={name}>
              <dt>{name}</dt>
              <dd class="foreign">{value}</dd>
            </div>
          ))}
        </dl>
        <p class="body muted small">The environment is not stored.</p>
      </section>
      <section class="card" aria-labelledby="record-title">
        <header>
          <h2 id="record-title">Record</h2>
        </header>
        <dl class="facts body">
          <Path name="Record folder" path={session.folder} />
          <div class="fact">
            <dt>Main process</dt>
            <dd class="foreign">
              {session.pid === null ? "not started" : `PID ${session.pid}`}
              {inspected.launch.identity && <span class="muted small"> {inspected.launch.identity}</span>}
            </dd>
          </div>
          <div class="fact">
            <dt>Launch granted</dt>
            <dd>{inspected.launch.granted ? "yes (the program may have run)" : "no (the program never ran)"}</dd>
          </div>
          {[["Requested", session.created_at] as const, ["Started", session.started_at] as const, ["Ended", session.ended_at] as const].map(
            ([name, time]) =>
              time && (
                <div class="fact" key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <time dateTime={time} title={time}>
                      {formatTime(time)}
                    </time>
                  </dd>
                </div>
              ),
          )}
        </dl>
      </section>
    </div>
  );
}

function Path({ name, path }: { name: string; path: string }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd class="row">
        <code class="foreign">{path}</code>
        <Copy text={path} label={`Copy ${name.toLowerCase()}`} />
      </dd>
    </div>
  );
}

/** Lists pending cleanup, kept worktrees and processes that could not be ended. */
function Owed({ session }: { session: SessionView }) {
  const failed = session.owed.filter((owed) => owed.failures > 0);
  const later = session.owed.filter((owed) => owed.failures === 0);
  const isClean = session.owed.length === 0 && session.kept.length === 0 && session.survivors.length === 0 && !session.unrecorded;
  return (
    <section class="card" aria-labelledby="owed-title">
      <header>
        <h2 id="owed-title">Cleanup</h2>
      </header>
      <div class="body stack tight">
        {isClean && <p>Nothing pending{session.ended_at ? ": every process has ended, and all resources are removed" : ""}.</p>}
        {session.survivors.map((survivor) => (
          <p key={survivor.pid} class="foreign">
            <strong>{survivor.name}</strong> (PID {survivor.pid}) could not be ended: {survivor.why}
          </p>
        ))}
        {failed.map((owed) => (
          <p key={cleanupText(owed.what)} class="foreign">
            <strong>{cleanupText(owed.what)}</strong> could not be removed ({pluralize(owed.failures, "failed attempt")}): {owed.why ?? "unknown reason"}. Kennel keeps trying.
          </p>
        ))}
        {later.length > 0 && (
          <p class="foreign">
            {session.ended_at ? "Being removed" : "Removed when the session ends"}: {later.map((owed) => cleanupText(owed.what)).join(", ")}.
          </p>
        )}
        {session.kept.map((kept) => (
          <p key={cleanupText(kept.what)} class="foreign">
            Kept: <strong>{cleanupText(kept.what)}</strong> ({kept.why}).
          </p>
        ))}
        {session.unrecorded && <p>The outcome could not be recorded yet. Kennel keeps trying.</p>}
      </div>
    </section>
  );
}

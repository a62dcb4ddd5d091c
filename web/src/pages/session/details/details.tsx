import type { InspectView, SessionView } from "../../../api/types.ts";
import { Copy } from "../../../ui/copy.tsx";
import { counted, moment } from "../../../ui/format.ts";
import { owedText } from "../../../ui/words.ts";
import { facts } from "./settings.ts";

/** What was asked for, what is on record, and what is owed. */
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
        <p class="body muted small">Its environment is on no record: Kennel hands it over and forgets it.</p>
      </section>
      <section class="card" aria-labelledby="record-title">
        <header>
          <h2 id="record-title">On record</h2>
        </header>
        <dl class="facts body">
          <Path name="Session's folder" path={session.folder} />
          <div class="fact">
            <dt>Agent</dt>
            <dd class="foreign">
              {session.pid === null ? "no process yet" : `pid ${session.pid}`}
              {inspected.launch.identity && <span class="muted small"> {inspected.launch.identity}</span>}
            </dd>
          </div>
          <div class="fact">
            <dt>Granted</dt>
            <dd>{inspected.launch.granted ? "yes: it may have run" : "no: its program never ran"}</dd>
          </div>
          {[["Asked for", session.created_at] as const, ["Began to run", session.started_at] as const, ["Seen to be gone", session.ended_at] as const].map(
            ([name, time]) =>
              time && (
                <div class="fact" key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <time dateTime={time} title={time}>
                      {moment(time)}
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
        <Copy text={path} label={`Copy: ${name}`} />
      </dd>
    </div>
  );
}

/** What is left to be removed, and who could not be ended. */
function Owed({ session }: { session: SessionView }) {
  const failed = session.owed.filter((owed) => owed.failures > 0);
  const later = session.owed.filter((owed) => owed.failures === 0);
  const isClean = session.owed.length === 0 && session.kept.length === 0 && session.survivors.length === 0 && !session.unrecorded;
  return (
    <section class="card" aria-labelledby="owed-title">
      <header>
        <h2 id="owed-title">What is owed</h2>
      </header>
      <div class="body stack tight">
        {isClean && <p>Nothing is owed{session.ended_at ? ": every process is gone, and all that was made for it is removed" : ""}.</p>}
        {session.survivors.map((survivor) => (
          <p key={survivor.pid} class="foreign">
            <strong>{survivor.name}</strong> pid {survivor.pid} could not be ended: {survivor.why}
          </p>
        ))}
        {failed.map((owed) => (
          <p key={owedText(owed.what)} class="foreign">
            <strong>{owedText(owed.what)}</strong> could not be removed {counted(owed.failures, "time")}: {owed.why ?? "nobody knows why"}. It is tried again.
          </p>
        ))}
        {later.length > 0 && (
          <p class="foreign">
            {session.ended_at ? "To be removed now" : "When it has ended, these are removed"}: {later.map((owed) => owedText(owed.what)).join(", ")}.
          </p>
        )}
        {session.kept.map((kept) => (
          <p key={owedText(kept.what)} class="foreign">
            Kept: <strong>{owedText(kept.what)}</strong>, since of value is in it: {kept.why}
          </p>
        ))}
        {session.unrecorded && <p>Its outcome could not be put on record so far. It is tried again.</p>}
      </div>
    </section>
  );
}

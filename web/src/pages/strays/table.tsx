import type { StrayView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";
import { displayName } from "../../ui/labels.ts";

const MARKS: Record<string, { word: string; why: string }> = {
  cookie: { word: "environment", why: "the process has the environment variables of this home and session, which child processes inherit." },
  pen: { word: "pen", why: "the process is in the pen of the session." },
};

/** Returns the label of a mark. */
function markLabel(mark: string): { word: string; why: string } {
  return MARKS[mark] ?? { word: mark, why: "" };
}

/** Longer command lines are truncated. */
const MAX_COMMAND = 2000;

/** A table of processes with their sessions, and how they were identified. */
export function StrayTable({ strays, label }: { strays: StrayView[]; label: string }) {
  const marks = [...new Set(strays.map((stray) => markLabel(stray.mark)))].filter((mark) => mark.why !== "");
  return (
    <>
      <table class="plain-table stray-table" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">PID</th>
            <th scope="col">Command</th>
            <th scope="col">Session</th>
            <th scope="col">Identified by</th>
          </tr>
        </thead>
        <tbody>
          {strays.map((stray) => (
            <tr key={stray.pid}>
              <td class="mono number">{stray.pid}</td>
              <td class="command">
                <div class="what">
                  <strong class="foreign">{stray.name}</strong>
                  <code class="foreign">{stray.command.slice(0, MAX_COMMAND)}</code>
                </div>
              </td>
              <td class="whose">
                <SessionLink session={stray.session} />
              </td>
              <td class="mark">{markLabel(stray.mark).word}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {marks.map((mark) => (
        <p class="card-word muted small" key={mark.word}>
          Identified by {mark.word}: {mark.why}
        </p>
      ))}
    </>
  );
}

/** Links to the session of a process, if it is still recorded. */
export function SessionLink({ session }: { session: string }) {
  const known = launches.value.get(session) ?? launches.value.get(session.replace(/_1$/, ""));
  if (!known) {
    return (
      <span>
        <code class="foreign">{session}</code> <span class="muted small">removed</span>
      </span>
    );
  }
  return (
    <a class="foreign" href={`/sessions/${encodeURIComponent(known.id)}`}>
      {displayName(known)}
    </a>
  );
}

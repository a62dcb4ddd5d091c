import type { StrayView } from "../../api/types.ts";
import { launches } from "../../state/live.ts";
import { called } from "../../ui/words.ts";

const MARKS: Record<string, { word: string; why: string }> = {
  cookie: { word: "its environment", why: "it names this home and the session: a process keeps that wherever it goes." },
  pen: { word: "its pen", why: "it was made for the session, and the process is in it." },
};

/** By what a process is known, in words. */
function recognised(mark: string): { word: string; why: string } {
  return MARKS[mark] ?? { word: mark, why: "" };
}

/** What a command line shows of itself at most. */
const MOST = 2000;

/** Processes, each with what tells whose it is. */
export function StrayTable({ strays, label }: { strays: StrayView[]; label: string }) {
  const marks = [...new Set(strays.map((stray) => recognised(stray.mark)))].filter((mark) => mark.why !== "");
  return (
    <>
      <table class="plain-table stray-table" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Pid</th>
            <th scope="col">Command</th>
            <th scope="col">Session</th>
            <th scope="col">Known by</th>
          </tr>
        </thead>
        <tbody>
          {strays.map((stray) => (
            <tr key={stray.pid}>
              <td class="mono number">{stray.pid}</td>
              <td class="command">
                <div class="what">
                  <strong class="foreign">{stray.name}</strong>
                  <code class="foreign">{stray.command.slice(0, MOST)}</code>
                </div>
              </td>
              <td class="whose">
                <Whose session={stray.session} />
              </td>
              <td class="mark">{recognised(stray.mark).word}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {marks.map((mark) => (
        <p class="card-word muted small" key={mark.word}>
          Known by {mark.word}: {mark.why}
        </p>
      ))}
    </>
  );
}

/** The session whose mark it is: a link, if it is still on record. */
export function Whose({ session }: { session: string }) {
  const known = launches.value.get(session) ?? launches.value.get(session.replace(/_1$/, ""));
  if (!known) {
    return (
      <span>
        <code class="foreign">{session}</code> <span class="muted small">not on record</span>
      </span>
    );
  }
  return (
    <a class="foreign" href={`/sessions/${encodeURIComponent(known.id)}`}>
      {called(known)}
    </a>
  );
}

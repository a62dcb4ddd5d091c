import type { ComponentChildren } from "preact";

import { segment } from "../../api/http.ts";
import type { InspectView, SessionView } from "../../api/types.ts";
import { duration } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";
import { reasonText, exitText, cleanupText } from "../../ui/labels.ts";

/** Important notices above the tabs: the outcome, leftover processes, and problems. */
export function Notices({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const failed = session.owed.filter((owed) => owed.failures > 0);
  return (
    <div class="notices">
      {session.attempt < session.launches && (
        <Note tone="info">
          This is launch {session.attempt}. The session has a later launch: <a href={`/sessions/${segment(session.session)}`}>show the latest launch ({session.launches})</a>.
        </Note>
      )}
      {session.phase === "lost" && (
        <Note tone="bad">
          <strong>Kennel doesn’t know whether this session is still running,</strong> and keeps checking. If you are sure that it is gone, you can forget it:
          it is then recorded as forgotten, not as ended.
        </Note>
      )}
      {session.phase === "stopping" && session.survivors.length === 0 && <Note tone="warn">The session is being stopped. This continues if you leave the page.</Note>}
      {session.survivors.length > 0 && (
        <Note tone="bad">
          <strong>These processes could not be ended:</strong>{" "}
          {session.survivors.map((survivor) => (
            <span class="foreign" key={survivor.pid}>
              {survivor.name} (PID {survivor.pid}): {survivor.why}.{" "}
            </span>
          ))}
        </Note>
      )}
      {(session.trouble ?? []).map((trouble) => (
        <Note tone="warn" key={trouble}>
          <span class="foreign">{trouble}</span>
        </Note>
      ))}
      {failed.map((owed) => (
        <Note tone="warn" key={cleanupText(owed.what)}>
          <span class="foreign">
            Cleanup failed: {cleanupText(owed.what)}. {owed.why}
          </span>
        </Note>
      ))}
      {session.kept.map((kept) => (
        <Note tone="warn" key={cleanupText(kept.what)}>
          <span class="foreign">
            The worktree is kept: {kept.why}. <a href={`/sessions/${segment(session.id)}?tab=worktree`}>Show worktree</a>
          </span>
        </Note>
      ))}
      {session.ended_at && <Ended session={session} inspected={inspected} />}
    </div>
  );
}

/** Reasons of a deliberate stop, after which an exit status other than 0 is not a failure. */
const STOPPED: ReadonlySet<string> = new Set(["stopped", "shutdown", "parent_ended", "client_gone"]);

function Ended({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const reason = session.reason;
  const stopRequested = inspected.timeline.find((event) => event.kind === "wanted_stopped");
  const reaped = inspected.timeline.find((event) => event.kind === "reaped");
  const wasStopped = reason !== null && STOPPED.has(reason.kind);
  const isBad = reason?.kind === "failed" || (!wasStopped && session.exit?.kind === "code" && session.exit.code !== 0) || session.exit?.kind === "unknown";
  const forgotten = reason?.kind === "forgotten";
  return (
    <Note tone={isBad || forgotten ? "bad" : "quiet"}>
      <span data-testid="outcome">
        {session.exit && <strong class="foreign">{capital(exitText(session.exit))}</strong>}
        {reason && reason.kind !== "exited" && <span class="foreign">{session.exit ? ": " : ""}{reasonText(reason)}</span>}.{" "}
        {forgotten
          ? "Kennel did not see it end."
          : stopRequested && reaped
            ? `All processes ended, and the pen was empty, ${duration(Date.parse(reaped.time) - Date.parse(stopRequested.time))} after the stop was requested.`
            : "All processes ended, and the pen is empty."}
        {session.started_at && ` It ran for ${duration(Date.parse(session.ended_at ?? "") - Date.parse(session.started_at))}.`}
        {session.relaunch.relaunch === "pending" && " It will restart soon."}
        {session.relaunch.relaunch === "called_off" && ` The next restart was cancelled by ${session.relaunch.by}.`}
      </span>
    </Note>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Note({ tone, children }: { tone: "bad" | "warn" | "info" | "quiet"; children: ComponentChildren }) {
  return (
    <div class={`note ${tone}`}>
      <Icon name={tone === "quiet" ? "check" : "alert"} />
      <div class="grow">{children}</div>
    </div>
  );
}

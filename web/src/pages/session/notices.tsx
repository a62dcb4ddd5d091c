import type { ComponentChildren } from "preact";

import { segment } from "../../api/http.ts";
import type { InspectView, SessionView } from "../../api/types.ts";
import { duration } from "../../ui/format.ts";
import { Icon } from "../../ui/icons.tsx";
import { because, exitText, owedText } from "../../ui/words.ts";

/** What one must know before anything else: that it is over and why, that something is left, or went wrong. */
export function Notices({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const failed = session.owed.filter((owed) => owed.failures > 0);
  return (
    <div class="notices">
      {session.attempt < session.launches && (
        <Note tone="info">
          This is launch {session.attempt}. It was launched again: <a href={`/sessions/${segment(session.session)}`}>see the latest, launch {session.launches}</a>.
        </Note>
      )}
      {session.phase === "lost" && (
        <Note tone="bad">
          <strong>Nobody can tell whether it still runs.</strong> Kennel goes on looking. If you know better, you may forget it: that is recorded as
          given up, not as its end.
        </Note>
      )}
      {session.phase === "stopping" && session.survivors.length === 0 && <Note tone="warn">A stop is under way. It goes on if you leave this page.</Note>}
      {session.survivors.length > 0 && (
        <Note tone="bad">
          <strong>These could not be ended:</strong>{" "}
          {session.survivors.map((survivor) => (
            <span class="foreign" key={survivor.pid}>
              {survivor.name} (pid {survivor.pid}): {survivor.why}.{" "}
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
        <Note tone="warn" key={owedText(owed.what)}>
          <span class="foreign">
            Clean-up is owed: {owedText(owed.what)}. {owed.why}
          </span>
        </Note>
      ))}
      {session.ended_at && <Ended session={session} inspected={inspected} />}
    </div>
  );
}

function Ended({ session, inspected }: { session: SessionView; inspected: InspectView }) {
  const reason = session.reason;
  const wanted = inspected.timeline.find((event) => event.kind === "wanted_stopped");
  const reaped = inspected.timeline.find((event) => event.kind === "reaped");
  const isBad = reason?.kind === "failed" || (session.exit?.kind === "code" && session.exit.code !== 0) || session.exit?.kind === "unknown";
  const forgotten = reason?.kind === "forgotten";
  return (
    <Note tone={isBad || forgotten ? "bad" : "quiet"}>
      <span data-testid="outcome">
        {session.exit && <strong class="foreign">{capital(exitText(session.exit))}</strong>}
        {reason && <span class="foreign">{session.exit ? ": " : ""}{because(reason)}</span>}.{" "}
        {forgotten
          ? "Nobody saw it end."
          : wanted && reaped
            ? `Every process was gone and the pen seen empty ${duration(Date.parse(reaped.time) - Date.parse(wanted.time))} after the stop was asked for.`
            : "Every process is gone; the pen was seen empty."}
        {session.started_at && ` It ran for ${duration(Date.parse(session.ended_at ?? "") - Date.parse(session.started_at))}.`}
        {session.relaunch.relaunch === "pending" && " It is launched again soon."}
        {session.relaunch.relaunch === "called_off" && ` The next launch was called off by ${session.relaunch.by}.`}
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

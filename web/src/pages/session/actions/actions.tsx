import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";

import { canStop } from "../../../actions/stop.ts";
import { StopDialog } from "../../../actions/stop.tsx";
import type { SessionView } from "../../../api/types.ts";
import { bindShortcuts } from "../../../state/shortcuts.ts";
import { mayChange } from "../../../state/me.ts";
import { Button } from "../../../ui/button.tsx";
import type { IconName } from "../../../ui/icons.tsx";
import { ForgetDialog } from "./forget.tsx";
import { isLatest, type May, mayForget, mayRemove, mayResume, maySignal } from "./available.ts";
import { RemoveDialog } from "./remove.tsx";
import { ResumeDialog } from "./resume.tsx";
import { SignalDialog } from "./signal.tsx";

type Open = "stop" | "now" | "signal" | "resume" | "forget" | "remove" | null;

/** The actions that are available for a session. */
export function Actions({ session }: { session: SessionView }) {
  const open = useSignal<Open>(null);
  const close = () => void (open.value = null);
  const offersStop = mayChange.value && isLatest(session) && canStop(session);
  useLayoutEffect(() => {
    if (!offersStop) return;
    return bindShortcuts({ keys: "x", what: "Stop this session", run: () => void (open.value = "stop") });
  }, [offersStop]);
  return (
    <>
      {mayChange.value && isLatest(session) && (
        <div class="row wrap actions" role="group" aria-label="Actions">
          <ActionButton may={maySignal(session)} run={() => void (open.value = "signal")}>
            Signal…
          </ActionButton>
          <ActionButton may={mayForget(session)} run={() => void (open.value = "forget")}>
            {session.phase === "lost" ? "Forget…" : "Release…"}
          </ActionButton>
          <ActionButton may={mayResume(session)} icon="play" run={() => void (open.value = "resume")}>
            Resume…
          </ActionButton>
          <ActionButton may={mayRemove(session)} run={() => void (open.value = "remove")}>
            Remove…
          </ActionButton>
          {offersStop && (
            <>
              <Button kind="danger" title="SIGKILL immediately, without a grace period" onClick={() => void (open.value = "now")}>
                Stop now…
              </Button>
              <Button kind="danger primary" icon="stop" onClick={() => void (open.value = "stop")}>
                Stop…
              </Button>
            </>
          )}
        </div>
      )}
      {open.value === "stop" && <StopDialog sessions={[session]} close={close} />}
      {open.value === "now" && <StopDialog sessions={[session]} close={close} initialGrace={{ kind: "now" }} />}
      {open.value === "signal" && <SignalDialog session={session} close={close} />}
      {open.value === "resume" && <ResumeDialog session={session} close={close} />}
      {open.value === "forget" && <ForgetDialog session={session} close={close} />}
      {open.value === "remove" && <RemoveDialog session={session} close={close} />}
    </>
  );
}

function ActionButton({ may, icon, run, children }: { may: May; icon?: IconName; run: () => void; children: ComponentChildren }) {
  if (may === null) return null;
  return (
    <Button {...(icon ? { icon } : {})} disabled={may !== "yes"} {...(may === "yes" ? {} : { title: may.no })} onClick={run}>
      {children}
    </Button>
  );
}

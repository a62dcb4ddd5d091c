import { newKey } from "../../../answer/asking.ts";
import "./new.css";

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { overRestarts } from "../../../actions/lanes.ts";
import { post, Refusal, told } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { daemon } from "../../../state/me.ts";
import { go } from "../../../state/router.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { CommandFields } from "./command.tsx";
import { BLANK, type Draft, neverRan, requestOf, type Wrong, wrongBy } from "./draft.ts";
import { form as newForm, type Form } from "./form.ts";
import { PlaceFields } from "./place.tsx";
import { PromptFields } from "./prompt.tsx";
import { recentFolders, rememberFolder } from "./recent.ts";
import { EnvironmentFields, LimitFields } from "./more.tsx";

/** What a new session begins with. */
function first(): Draft {
  return { ...BLANK, folder: recentFolders()[0] ?? daemon.value?.environment?.["HOME"] ?? "" };
}

/** The same request twice is one session, whichever daemon hears it: as long as it is the same. */
/** Starts a command, or gives a prompt to an agent. */
export function NewDialog({ close }: { close: () => void }) {
  const form = useRef<Form | null>(null);
  form.current ??= newForm(first());
  const { draft, wrong } = form.current;
  const isBusy = useSignal(false);
  /** A session that was made, but never ran. */
  const failed = useSignal<string | null>(null);
  const key = useRef(newKey());
  const element = useRef<HTMLFormElement>(null);
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);

  const refuse = (told: Wrong) => {
    wrong.value = told;
    // What is wrong may be in a part that is folded.
    requestAnimationFrame(() => {
      const field = element.current?.querySelector<HTMLElement>("[aria-invalid=true]");
      const folded = field?.closest("details");
      if (folded) folded.open = true;
      field?.focus();
    });
  };
  const submit = async () => {
    if (isBusy.value) return;
    const made = requestOf(draft.value, key.current, daemon.value?.environment ?? {});
    failed.value = null;
    if ("wrong" in made) return refuse(made.wrong);
    isBusy.value = true;
    try {
      const { path, body } = made.request;
      const session = await overRestarts(() => post<SessionView>(path, body));
      refresh(session.id);
      const why = neverRan(session, draft.value.kind);
      key.current = newKey();
      rememberFolder(draft.value.folder.trim());
      if (!isOpen.current) return;
      if (!why) {
        close();
        return go(`/sessions/${encodeURIComponent(session.session)}`);
      }
      failed.value = session.session;
      refuse(why);
    } catch (error) {
      const isAnswer = error instanceof Refusal && !error.passes;
      // After an answer another request is meant; without one it may have been heard, and must not be heard twice.
      if (isAnswer) key.current = newKey();
      refuse(isAnswer ? wrongBy(error, draft.value.kind) : { all: told(error) });
    } finally {
      isBusy.value = false;
    }
  };

  return (
    <Dialog title="New session" wide close={close}>
      <form
        ref={element}
        class="new-session"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
        }}
      >
        <div class="segments" role="group" aria-label="What is started">
          <Kind form={form.current} kind="command" title="Command" />
          <Kind form={form.current} kind="prompt" title="Prompt to an agent" />
        </div>
        {draft.value.kind === "command" ? <CommandFields form={form.current} /> : <PromptFields form={form.current} />}
        <PlaceFields form={form.current} />
        <LimitFields form={form.current} />
        <EnvironmentFields form={form.current} />
        <div role="alert">
          {wrong.value.all && <p class="note bad foreign">{wrong.value.all}</p>}
          {failed.value && (
            <p class="small muted">
              It never ran, and is on record as <a href={`/sessions/${failed.value}`}>{failed.value}</a>.
            </p>
          )}
        </div>
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" icon={draft.value.kind === "command" ? "play" : "send"} disabled={isBusy.value}>
            {isBusy.value ? "Starting…" : draft.value.kind === "command" ? "Start" : "Ask"}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Kind({ form, kind, title }: { form: Form; kind: Draft["kind"]; title: string }) {
  return (
    <button type="button" aria-pressed={form.draft.value.kind === kind} onClick={() => form.set("kind", kind)}>
      {title}
    </button>
  );
}

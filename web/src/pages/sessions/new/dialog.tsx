import { newIdempotencyKey } from "../../../answer/send-prompt.ts";
import "./new.css";

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { retryWhileRestarting } from "../../../actions/concurrent.ts";
import { post, ApiError, errorText } from "../../../api/http.ts";
import type { SessionView } from "../../../api/types.ts";
import { refresh } from "../../../state/live.ts";
import { daemon } from "../../../state/me.ts";
import { go } from "../../../state/router.ts";
import { Button } from "../../../ui/button.tsx";
import { Dialog } from "../../../ui/dialog.tsx";
import { CommandFields } from "./command.tsx";
import { BLANK, type Draft, startErrors, buildRequest, type FieldErrors, errorsByField } from "./draft.ts";
import { form as newForm, type Form } from "./form.ts";
import { LocationFields } from "./location.tsx";
import { PromptFields } from "./prompt.tsx";
import { recentFolders, rememberFolder } from "./recent.ts";
import { EnvironmentFields, LimitFields } from "./limits.tsx";

/** Returns the initial values of the form. */
function first(): Draft {
  return { ...BLANK, folder: recentFolders()[0] ?? daemon.value?.environment?.["HOME"] ?? "" };
}

/** Starts a command, or sends a prompt to an agent. */
export function NewDialog({ close }: { close: () => void }) {
  const form = useRef<Form | null>(null);
  form.current ??= newForm(first());
  const { draft, wrong } = form.current;
  const isBusy = useSignal(false);
  /** The id of a session that was created but failed to start. */
  const failed = useSignal<string | null>(null);
  const key = useRef(newIdempotencyKey());
  const element = useRef<HTMLFormElement>(null);
  const isOpen = useRef(true);
  useEffect(() => () => void (isOpen.current = false), []);

  const showErrors = (errors: FieldErrors) => {
    wrong.value = errors;
    // The invalid field may be in a collapsed section.
    requestAnimationFrame(() => {
      const field = element.current?.querySelector<HTMLElement>("[aria-invalid=true]");
      const folded = field?.closest("details");
      if (folded) folded.open = true;
      field?.focus();
    });
  };
  const submit = async () => {
    if (isBusy.value) return;
    const made = buildRequest(draft.value, key.current, daemon.value?.environment ?? {});
    failed.value = null;
    if ("wrong" in made) return showErrors(made.wrong);
    isBusy.value = true;
    try {
      const { path, body } = made.request;
      const session = await retryWhileRestarting(() => post<SessionView>(path, body));
      refresh(session.id);
      const why = startErrors(session, draft.value.kind);
      key.current = newIdempotencyKey();
      rememberFolder(draft.value.folder.trim());
      if (!isOpen.current) return;
      if (!why) {
        close();
        return go(`/sessions/${encodeURIComponent(session.session)}`);
      }
      failed.value = session.session;
      showErrors(why);
    } catch (error) {
      const isAnswer = error instanceof ApiError && !error.isTransient;
      // After a response, the next submit is a new request. Without one, keep the key: the request may have been accepted.
      if (isAnswer) key.current = newIdempotencyKey();
      showErrors(isAnswer ? errorsByField(error, draft.value.kind) : { all: errorText(error) });
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
        <div class="segments" role="group" aria-label="Session type">
          <Kind form={form.current} kind="command" title="Command" />
          <Kind form={form.current} kind="prompt" title="Prompt" />
        </div>
        {draft.value.kind === "command" ? <CommandFields form={form.current} /> : <PromptFields form={form.current} />}
        <LocationFields form={form.current} />
        <LimitFields form={form.current} />
        <EnvironmentFields form={form.current} />
        <div role="alert">
          {wrong.value.all && <p class="note bad foreign">{wrong.value.all}</p>}
          {failed.value && (
            <p class="small muted">
              It failed to start and is recorded as <a href={`/sessions/${failed.value}`}>{failed.value}</a>.
            </p>
          )}
        </div>
        <div class="actions">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" icon={draft.value.kind === "command" ? "play" : "send"} disabled={isBusy.value}>
            {isBusy.value ? "Starting…" : draft.value.kind === "command" ? "Start" : "Send"}
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

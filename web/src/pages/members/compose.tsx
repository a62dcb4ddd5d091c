import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

import { sendPrompt, newIdempotencyKey } from "../../answer/send-prompt.ts";
import { ApiError, errorText } from "../../api/http.ts";
import type { AskRequest, SessionView } from "../../api/types.ts";
import { environment } from "../../state/environment.ts";
import { daemon } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { readTime } from "../../ui/time.ts";
import { EnvironmentField } from "../../ui/environment-field.tsx";

/** Unsent prompts by recipient, kept while the page is open. */
const drafts = new Map<string, string>();

/** Requests without a response, by recipient. An identical retry uses the same idempotency key, so that the prompt does not run twice. */
const unanswered = new Map<string, { request: string; key: string }>();

function keyOf(to: string, request: object): string {
  const text = JSON.stringify(request);
  const before = unanswered.get(to);
  const key = before?.request === text ? before.key : newIdempotencyKey();
  unanswered.set(to, { request: text, key });
  return key;
}

interface Props {
  /** The key of the saved draft. */
  to: string;
  label: string;
  placeholder: string;
  /** Whether there is a conversation to continue, so that "new conversation" is an option. */
  hasConversation: boolean;
  /** Returns the recipient, or null if its fields are invalid. The fields show their own errors. */
  target: () => Pick<AskRequest, "member" | "agent" | "cwd" | "description" | "model" | "turns" | "permissions" | "args"> | null;
  asked: (session: SessionView, prompt: string) => void;
  /** Handles an error; returns whether it is shown elsewhere. */
  refused?: (error: unknown) => boolean;
  children?: ComponentChildren;
}

/** A form to write and send a prompt. */
export function Compose({ to, label, placeholder, hasConversation, target, asked, refused, children }: Props) {
  const prompt = useSignal(drafts.get(to) ?? "");
  const fresh = useSignal(false);
  const queue = useSignal(false);
  const replay = useSignal(false);
  const timeout = useSignal("");
  const retries = useSignal("3");
  const lines = useSignal("");
  const sending = useSignal(false);
  const wrong = useSignal<{ prompt?: string; timeout?: string; retries?: string; env?: string }>({});
  const failed = useSignal<unknown>(null);
  const write = (text: string) => {
    prompt.value = text;
    if (text) drafts.set(to, text);
    else drafts.delete(to);
  };

  const send = async (isQueued = queue.value) => {
    if (sending.value) return;
    const recipient = target();
    const found: typeof wrong.value = {};
    const limit = readTime(timeout.value);
    if (!prompt.value.trim()) found.prompt = "Write a prompt first.";
    if (limit === undefined || limit === 0) found.timeout = "Enter a duration such as 90s, 10m or 2h.";
    if (!/^\d{1,3}$/.test(retries.value.trim())) found.retries = "Enter a whole number, or 0 for no retries.";
    const typed = environment(lines.value, daemon.value?.environment ?? {});
    if ("wrong" in typed) found.env = typed.wrong;
    wrong.value = found;
    if (!recipient || "wrong" in typed || Object.keys(found).length > 0) return;
    sending.value = true;
    failed.value = null;
    const text = prompt.value;
    try {
      const request = {
        ...recipient,
        prompt: text,
        env: typed.env,
        fresh: fresh.value,
        queue: isQueued,
        replay: replay.value,
        retries: Number(retries.value),
        timeout_ms: limit ?? null,
      };
      const session = await sendPrompt(request, keyOf(to, request));
      unanswered.delete(to);
      write("");
      fresh.value = false;
      asked(session, text);
    } catch (error) {
      if (error instanceof ApiError && !error.isTransient) unanswered.delete(to);
      if (!refused?.(error)) failed.value = error;
    } finally {
      sending.value = false;
    }
  };

  return (
    <form
      class="compose"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {children}
      <Field label={label} wrong={wrong.value.prompt}>
        {(control) => (
          <textarea
            class="input prompt"
            rows={4}
            {...control}
            value={prompt.value}
            placeholder={placeholder}
            onInput={(event) => write(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              void send();
            }}
          />
        )}
      </Field>
      {failed.value !== null && <SendError error={failed.value} wait={() => void send(true)} sending={sending.value} />}
      <div class="row wrap">
        {hasConversation && <Check of={fresh} label="New conversation" />}
        <Check of={queue} label="Queue if busy" />
        <span class="grow" />
        <span class="tiny muted desktop-only">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        <Button kind="primary" icon="send" type="submit" disabled={sending.value}>
          {sending.value ? "Sending…" : "Send"}
        </Button>
      </div>
      <details class="options" open={!!(wrong.value.timeout || wrong.value.retries || wrong.value.env) || undefined}>
        <summary class="small">Limits, retries, environment</summary>
        <div class="stack">
          <div class="field-pair">
            <Field label="Time limit" wrong={wrong.value.timeout} help="Stops the prompt after this time. Empty: no limit.">
              {(control) => <input class="input" {...control} value={timeout.value} placeholder="20m" autocomplete="off" onInput={(event) => void (timeout.value = event.currentTarget.value)} />}
            </Field>
            <Field label="Retries" wrong={wrong.value.retries} help="How often to retry when the provider fails.">
              {(control) => <input class="input" inputMode="numeric" {...control} value={retries.value} autocomplete="off" onInput={(event) => void (retries.value = event.currentTarget.value)} />}
            </Field>
          </div>
          <Check of={replay} label="Retry even if the agent may already have done some of the work" />
          <EnvironmentField value={lines.value} change={(text) => void (lines.value = text)} wrong={wrong.value.env} />
        </div>
      </details>
      <p class="tiny muted row">
        <Icon name="clock" />
        The prompt keeps running when you close this page. Its text is not stored.
      </p>
    </form>
  );
}

function Check({ of, label }: { of: { value: boolean }; label: string }) {
  return (
    <label class="check small">
      <input type="checkbox" checked={of.value} onChange={(event) => void (of.value = event.currentTarget.checked)} />
      {label}
    </label>
  );
}

function SendError({ error, wait, sending }: { error: unknown; wait: () => void; sending: boolean }) {
  const busy = error instanceof ApiError && error.code === "busy";
  return (
    <div class={`note ${busy ? "warn" : "bad"}`} role="alert">
      <div class="stack tight grow">
        <p class="foreign">{busy ? error.message : errorText(error)}</p>
        {busy && (
          <p>
            <Button compact icon="clock" disabled={sending} onClick={wait}>
              Add to queue
            </Button>
          </p>
        )}
      </div>
    </div>
  );
}

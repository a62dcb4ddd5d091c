import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

import { askAgent, newKey } from "../../answer/asking.ts";
import { Refusal, told } from "../../api/http.ts";
import type { AskRequest, SessionView } from "../../api/types.ts";
import { environment } from "../../state/environment.ts";
import { daemon } from "../../state/me.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Icon } from "../../ui/icons.tsx";
import { readTime } from "../../ui/time.ts";
import { EnvironmentField } from "../../ui/environment-field.tsx";

/** What was written and not sent, by whom it is for: kept while the page is open. */
const drafts = new Map<string, string>();

/** What was sent and not answered, by whom it is for: sent once more as it was, it has the same key, and is not done twice. */
const unanswered = new Map<string, { request: string; key: string }>();

function keyOf(to: string, request: object): string {
  const text = JSON.stringify(request);
  const before = unanswered.get(to);
  const key = before?.request === text ? before.key : newKey();
  unanswered.set(to, { request: text, key });
  return key;
}

interface Props {
  /** By what a draft is found again. */
  to: string;
  label: string;
  placeholder: string;
  /** Whether it goes on with a conversation, so that there is a fresh one to wish for. */
  hasConversation: boolean;
  /** Whom is asked; null if something is wrong with it, which is shown there. */
  whom: () => Pick<AskRequest, "member" | "agent" | "cwd" | "description" | "model" | "turns" | "permissions" | "args"> | null;
  asked: (session: SessionView, prompt: string) => void;
  /** It was refused. Returns whether that is shown elsewhere. */
  refused?: (error: unknown) => boolean;
  children?: ComponentChildren;
}

/** Where a prompt is written and sent. */
export function Compose({ to, label, placeholder, hasConversation, whom, asked, refused, children }: Props) {
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

  const send = async (inLine = queue.value) => {
    if (sending.value) return;
    const person = whom();
    const found: typeof wrong.value = {};
    const limit = readTime(timeout.value);
    if (!prompt.value.trim()) found.prompt = "Write a prompt first.";
    if (limit === undefined || limit === 0) found.timeout = "A time such as 90s, 10m or 2h.";
    if (!/^\d{1,3}$/.test(retries.value.trim())) found.retries = "A whole number; 0 for none.";
    const typed = environment(lines.value, daemon.value?.environment ?? {});
    if ("wrong" in typed) found.env = typed.wrong;
    wrong.value = found;
    if (!person || "wrong" in typed || Object.keys(found).length > 0) return;
    sending.value = true;
    failed.value = null;
    const said = prompt.value;
    try {
      const request = {
        ...person,
        prompt: said,
        env: typed.env,
        fresh: fresh.value,
        queue: inLine,
        replay: replay.value,
        retries: Number(retries.value),
        timeout_ms: limit ?? null,
      };
      const session = await askAgent(request, keyOf(to, request));
      unanswered.delete(to);
      write("");
      fresh.value = false;
      asked(session, said);
    } catch (error) {
      if (error instanceof Refusal && !error.passes) unanswered.delete(to);
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
      {failed.value !== null && <Refused error={failed.value} wait={() => void send(true)} sending={sending.value} />}
      <div class="row wrap">
        {hasConversation && <Check of={fresh} label="Fresh conversation" />}
        <Check of={queue} label="Wait in line if busy" />
        <span class="grow" />
        <span class="tiny muted desktop-only">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
        <Button kind="primary" icon="send" type="submit" disabled={sending.value}>
          {sending.value ? "Asking…" : "Ask"}
        </Button>
      </div>
      <details class="options" open={!!(wrong.value.timeout || wrong.value.retries || wrong.value.env) || undefined}>
        <summary class="small">Limits, retries, environment</summary>
        <div class="stack">
          <div class="field-pair">
            <Field label="Time limit" wrong={wrong.value.timeout} help="It is ended after this long. Left out: never.">
              {(control) => <input class="input" {...control} value={timeout.value} placeholder="20m" autocomplete="off" onInput={(event) => void (timeout.value = event.currentTarget.value)} />}
            </Field>
            <Field label="Retries" wrong={wrong.value.retries} help="How often it is tried again if the provider is to blame.">
              {(control) => <input class="input" inputMode="numeric" {...control} value={retries.value} autocomplete="off" onInput={(event) => void (retries.value = event.currentTarget.value)} />}
            </Field>
          </div>
          <Check of={replay} label="Try again even if it did work already, or may have" />
          <EnvironmentField value={lines.value} change={(text) => void (lines.value = text)} wrong={wrong.value.env} />
        </div>
      </details>
      <p class="tiny muted row">
        <Icon name="clock" />
        It goes on when you close this page, until it is done or cancelled. The prompt itself is written down nowhere.
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

function Refused({ error, wait, sending }: { error: unknown; wait: () => void; sending: boolean }) {
  const busy = error instanceof Refusal && error.code === "busy";
  return (
    <div class={`note ${busy ? "warn" : "bad"}`} role="alert">
      <div class="stack tight grow">
        <p class="foreign">{busy ? error.message : told(error)}</p>
        {busy && (
          <p>
            <Button compact icon="clock" disabled={sending} onClick={wait}>
              Wait in line
            </Button>
          </p>
        )}
      </div>
    </div>
  );
}

import { shortened } from "../../../ui/format.ts";
import { split } from "./argv.ts";
import { Check, Field } from "./field.tsx";
import type { Form } from "./form.ts";

/** What is run. */
export function CommandFields({ form }: { form: Form }) {
  const { draft, wrong, set } = form;
  return (
    <>
      <Field label="Command" wrong={wrong.value.command}>
        {(bound) => (
          <input
            {...bound}
            class="input mono"
            autoFocus
            autoComplete="off"
            autoCapitalize="off"
            spellcheck={false}
            placeholder="npm run 'my tests'"
            value={draft.value.command}
            onInput={(event) => set("command", event.currentTarget.value)}
          />
        )}
      </Field>
      <Argv line={draft.value.command} inShell={draft.value.inShell} />
      <div class="row wrap checks">
        <Check form={form} field="inShell" label="Run it in a shell" />
        <Check form={form} field="terminal" label="Give it a terminal" />
      </div>
    </>
  );
}

/** The command as it will be started, word for word. */
function Argv({ line, inShell }: { line: string; inShell: boolean }) {
  if (line.trim() === "") return <p class="tiny muted">It is started as it is written, without a shell, unless you ask for one.</p>;
  const told = split(line);
  const argv = inShell ? ["/bin/sh", "-c", line] : "argv" in told ? told.argv : [];
  return (
    <div class="argv">
      <ol aria-label="The words that are started">
        {argv.slice(0, 40).map((word, at) => (
          <li key={at} class="mono tiny foreign">
            {word === "" ? <em>empty</em> : shortened(word, 120)}
          </li>
        ))}
        {argv.length > 40 && <li class="tiny muted">and {argv.length - 40} more</li>}
      </ol>
      {!inShell && "forShell" in told && told.forShell.length > 0 && (
        <p class="tiny muted" role="status">
          <code>{told.forShell.join(" ")}</code> is taken as it is. If a shell is to see to it, run it in one.
        </p>
      )}
      {!inShell && "wrong" in told && <p class="tiny muted">{told.wrong}</p>}
    </div>
  );
}

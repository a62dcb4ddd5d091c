import { truncate } from "../../../ui/format.ts";
import { split } from "./argv.ts";
import { Check, Field } from "./field.tsx";
import type { Form } from "./form.ts";

/** The form fields for a command. */
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
        <Check form={form} field="inShell" label="Run in a shell" />
        <Check form={form} field="terminal" label="Use a terminal" />
      </div>
    </>
  );
}

/** Shows the words of the command as they will be executed. */
function Argv({ line, inShell }: { line: string; inShell: boolean }) {
  if (line.trim() === "") return <p class="tiny muted">Runs without a shell, unless you select one below.</p>;
  const parsed = split(line);
  const argv = inShell ? ["/bin/sh", "-c", line] : "argv" in parsed ? parsed.argv : [];
  return (
    <div class="argv">
      <ol aria-label="Arguments">
        {argv.slice(0, 40).map((word, at) => (
          <li key={at} class="mono tiny foreign">
            {word === "" ? <em>empty</em> : truncate(word, 120)}
          </li>
        ))}
        {argv.length > 40 && <li class="tiny muted">and {argv.length - 40} more</li>}
      </ol>
      {!inShell && "forShell" in parsed && parsed.forShell.length > 0 && (
        <p class="tiny muted" role="status">
          <code>{parsed.forShell.join(" ")}</code> is passed on literally. Select “Run in a shell” to let a shell interpret it.
        </p>
      )}
      {!inShell && "wrong" in parsed && <p class="tiny muted">{parsed.wrong}</p>}
    </div>
  );
}

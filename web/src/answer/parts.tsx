import { pluralize, duration } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { Prose } from "../ui/prose.tsx";
import { type Transcript, isRunning, type Part } from "./transcript.ts";

/** Shows the steps of the agent, oldest first. */
export function Parts({ transcript }: { transcript: Transcript }) {
  const shown = transcript.parts.map((part, at) => [part, at] as const).filter(([part]) => part.kind !== "attempt" || part.number > 1);
  if (shown.length === 0) return null;
  return (
    <div class="parts">
      {transcript.dropped > 0 && <p class="small muted">{pluralize(transcript.dropped, "earlier part")} not shown. The session’s output has them all.</p>}
      {shown.map(([part, at]) => (
        <PartView key={transcript.dropped + at} part={part} isToolRunning={isRunning(transcript, at)} />
      ))}
    </div>
  );
}

function PartView({ part, isToolRunning }: { part: Part; isToolRunning: boolean }) {
  switch (part.kind) {
    case "attempt":
      return (
        <p class="turn small">
          <Icon name="refresh" />
          Attempt {part.number}
        </p>
      );
    case "text":
      return <Prose text={part.text} />;
    case "thinking":
      return (
        <details class="thinking">
          <summary class="small muted">Thinking</summary>
          <p class="foreign small muted">{part.text}</p>
        </details>
      );
    case "tool":
      return <Tool part={part} isToolRunning={isToolRunning} />;
    case "retrying":
      return (
        <p class="turn small warn">
          <Icon name="refresh" />
          <span class="foreign">
            Retrying{part.afterMs === null ? "" : ` in ${duration(part.afterMs)}`}: {part.why}
          </span>
        </p>
      );
    case "notice":
      return (
        <p class="turn small">
          <Icon name="alert" />
          <span class="foreign">{part.text}</span>
        </p>
      );
  }
}

/** Not every agent reports the end of a tool. */
const TOOL_LABELS = { began: "", done: "done", failed: "failed" } as const;
const TOOL_ICONS = { began: "right", done: "check", failed: "alert" } as const;

function Tool({ part, isToolRunning }: { part: Part & { kind: "tool" }; isToolRunning: boolean }) {
  return (
    <p class={`tool ${part.state}`}>
      {isToolRunning ? <span class="spinner small" /> : <Icon name={TOOL_ICONS[part.state]} />}
      <strong class="foreign">{part.name}</strong>
      {part.about && (
        <code class="foreign cut" title={part.about}>
          {part.about}
        </code>
      )}
      <span class="small muted">{isToolRunning ? "running" : TOOL_LABELS[part.state]}</span>
    </p>
  );
}

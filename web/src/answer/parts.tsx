import { counted, duration } from "../ui/format.ts";
import { Icon } from "../ui/icons.tsx";
import { Prose } from "../ui/prose.tsx";
import { type Course, isAtWork, type Part } from "./course.ts";

/** What the agent did so far, in its order. */
export function Parts({ course }: { course: Course }) {
  const shown = course.parts.map((part, at) => [part, at] as const).filter(([part]) => part.kind !== "attempt" || part.number > 1);
  if (shown.length === 0) return null;
  return (
    <div class="parts">
      {course.left > 0 && <p class="small muted">{counted(course.left, "earlier part")} left out; the session’s output has all.</p>}
      {shown.map(([part, at]) => (
        <One key={course.left + at} part={part} atWork={isAtWork(course, at)} />
      ))}
    </div>
  );
}

function One({ part, atWork }: { part: Part; atWork: boolean }) {
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
      return <Tool part={part} atWork={atWork} />;
    case "retrying":
      return (
        <p class="turn small warn">
          <Icon name="refresh" />
          <span class="foreign">
            Tries again by itself{part.afterMs === null ? "" : ` in ${duration(part.afterMs)}`}: {part.why}
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

/** Not all agents tell when a tool ends. */
const TOOL_WORDS = { began: "", done: "done", failed: "failed" } as const;
const TOOL_ICONS = { began: "right", done: "check", failed: "alert" } as const;

function Tool({ part, atWork }: { part: Part & { kind: "tool" }; atWork: boolean }) {
  return (
    <p class={`tool ${part.state}`}>
      {atWork ? <span class="spinner small" /> : <Icon name={TOOL_ICONS[part.state]} />}
      <strong class="foreign">{part.name}</strong>
      {part.about && (
        <code class="foreign cut" title={part.about}>
          {part.about}
        </code>
      )}
      <span class="small muted">{atWork ? "at work" : TOOL_WORDS[part.state]}</span>
    </p>
  );
}

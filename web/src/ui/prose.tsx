import "./prose.css";

import type { ComponentChildren } from "preact";
import { useMemo, useRef } from "preact/hooks";

import { type Block, splitLong, type Inline, type Item, parse } from "./markdown.ts";
import { useThrottled } from "./use-throttled.ts";

/** A growing text is parsed at most this often, and less often if parsing takes long. */
const PAUSE_MS = 100;
const SHARE = 5;

/** Renders an agent’s Markdown: paragraphs, lists, code. The text never becomes HTML. */
export function Prose({ text }: { text: string }) {
  const took = useRef(0);
  const { plain, rest } = splitLong(useThrottled(text, Math.max(PAUSE_MS, SHARE * took.current)));
  const blocks = useMemo(() => {
    const startedAt = performance.now();
    const parsed = parse(rest);
    took.current = performance.now() - startedAt;
    return parsed;
  }, [rest]);
  return (
    <div class="prose foreign">
      {plain && <p key="plain">{plain}</p>}
      {blocks.map((block, at) => shown(block, at))}
    </div>
  );
}

function shown(block: Block, at: number): ComponentChildren {
  switch (block.kind) {
    case "paragraph":
      return <p key={at}>{words(block.inlines)}</p>;
    case "heading":
      // Not a heading element: the agent must not change the outline of the page.
      return (
        <p key={at} class={`heading level-${Math.min(block.level, 4)}`}>
          {words(block.inlines)}
        </p>
      );
    case "code":
      return (
        <pre key={at} tabIndex={0} aria-label={block.language ? `Code, ${block.language}` : "Code"}>
          <code>{block.text}</code>
        </pre>
      );
    case "list":
      return block.ordered ? <ol key={at}>{block.items.map(item)}</ol> : <ul key={at}>{block.items.map(item)}</ul>;
    case "quote":
      return <blockquote key={at}>{words(block.inlines)}</blockquote>;
    case "rule":
      return <hr key={at} />;
  }
}

function item({ depth, number, inlines }: Item, at: number): ComponentChildren {
  return (
    <li key={at} class={`depth-${depth}`}>
      <span class="marker" aria-hidden="true">
        {number ?? "•"}
      </span>
      <span>{words(inlines)}</span>
    </li>
  );
}

function words(inlines: Inline[]): ComponentChildren {
  return inlines.map((inline, at) => {
    switch (inline.kind) {
      case "text":
        return inline.text;
      case "code":
        return <code key={at}>{inline.text}</code>;
      case "strong":
        return <strong key={at}>{words(inline.inlines)}</strong>;
      case "link":
        return (
          <a key={at} href={inline.url} target="_blank" rel="noopener noreferrer">
            {inline.url}
          </a>
        );
    }
  });
}

import "./answer.css";

import type { SessionView, TokenUsage } from "../api/types.ts";
import { cost } from "../ui/format.ts";

/** Formats a number of tokens: `12,345`, `123 k` or `1.2 M`. */
export function tokens(count: number): string {
  if (count < 100_000) return count.toLocaleString("en");
  return count < 1e6 ? `${Math.round(count / 1000).toLocaleString("en")} k` : `${(count / 1e6).toFixed(1)} M`;
}

/** Shows token usage and cost on one line. Zero values are left out. */
export function UsageLine({ usage }: { usage: TokenUsage }) {
  const parts = [
    `${tokens(usage.input_tokens)} in`,
    usage.cached_tokens > 0 && `${tokens(usage.cached_tokens)} cached`,
    `${tokens(usage.output_tokens)} out`,
    usage.cost_micros > 0 && cost(usage.cost_micros),
  ].filter(Boolean);
  return (
    <span class="usage-line" title="Tokens, and their cost if the agent reports it">
      {parts.join(" · ")}
    </span>
  );
}

export function isZeroUsage(usage: TokenUsage): boolean {
  return usage.input_tokens + usage.cached_tokens + usage.output_tokens + usage.cost_micros === 0;
}

/** Returns the total usage of all attempts of a prompt. */
export function usageOf(attempts: readonly SessionView[]): TokenUsage {
  const sum = { input_tokens: 0, cached_tokens: 0, output_tokens: 0, cost_micros: 0 };
  for (const { judged } of attempts) {
    if (!judged?.usage) continue;
    sum.input_tokens += judged.usage.input_tokens;
    sum.cached_tokens += judged.usage.cached_tokens;
    sum.output_tokens += judged.usage.output_tokens;
    sum.cost_micros += judged.usage.cost_micros;
  }
  return sum;
}

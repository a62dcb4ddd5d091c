import "./answer.css";

import type { SessionView, Usage } from "../api/types.ts";
import { cost } from "../ui/format.ts";

/** `12,345`, or `1.2 M` for what is not counted one by one. */
export function tokens(count: number): string {
  if (count < 100_000) return count.toLocaleString("en");
  return count < 1e6 ? `${Math.round(count / 1000).toLocaleString("en")} k` : `${(count / 1e6).toFixed(1)} M`;
}

/** What was used up, on one line. What is nothing is not told. */
export function UsageLine({ usage }: { usage: Usage }) {
  const said = [
    `${tokens(usage.input_tokens)} in`,
    usage.cached_tokens > 0 && `${tokens(usage.cached_tokens)} cached`,
    `${tokens(usage.output_tokens)} out`,
    usage.cost_micros > 0 && cost(usage.cost_micros),
  ].filter(Boolean);
  return (
    <span class="usage-line" title="Tokens, and what they cost as far as the agent tells">
      {said.join(" · ")}
    </span>
  );
}

export function isNothing(usage: Usage): boolean {
  return usage.input_tokens + usage.cached_tokens + usage.output_tokens + usage.cost_micros === 0;
}

/** What all attempts of a prompt have used up. */
export function usageOf(attempts: readonly SessionView[]): Usage {
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

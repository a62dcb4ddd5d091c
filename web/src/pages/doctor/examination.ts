/** What the doctor last said. It is kept while the page is open: an examination tries real pens. */
import { signal } from "@preact/signals";

import { get } from "../../api/http.ts";

/** How good something is: as it should be, something can be done without, something will fail. */
export type Goodness = "good" | "fair" | "bad";

/** The trial of a kind of pen, with an agent that leaves a daemon behind. */
export interface Trial {
  kind: string;
  works: boolean;
  why: string | null;
  ended_in_ms: number | null;
}

export interface Finding {
  id: string;
  state: Goodness;
  found: string;
}

/** What `kennel doctor --json` says. */
export interface Diagnosis {
  version: string;
  sound: boolean;
  pen: string | null;
  pens: Trial[];
  findings: Finding[];
  cannot_promise: string[];
  advice: string[];
}

export const diagnosis = signal<Diagnosis | null>(null);
export const examinedAt = signal<string | null>(null);
export const examining = signal(false);
export const failure = signal<unknown>(null);

/** Has the machine examined; whoever asks meanwhile gets the same answer. */
export async function examine(): Promise<void> {
  if (examining.value) return;
  examining.value = true;
  try {
    diagnosis.value = await get<Diagnosis>("/v1/doctor");
    examinedAt.value = new Date().toISOString();
    failure.value = null;
  } catch (error) {
    failure.value = error;
  } finally {
    examining.value = false;
  }
}

/** The same as text, to be sent to somebody. */
export function asText(told: Diagnosis): string {
  const marks: Record<Goodness, string> = { good: "ok", fair: "--", bad: "!!" };
  const entry = (mark: string, name: string, text: string) => `  ${mark}  ${name.padEnd(12)} ${text}`;
  const lines = [
    `kennel ${told.version}`,
    "",
    ...told.findings.map((it) => entry(marks[it.state], it.id, it.found)),
    "",
    "Pens, each tried with an agent that leaves a daemon behind:",
    ...told.pens.map((it) => entry(it.works ? "ok" : "--", it.kind, trialText(it))),
    "",
    told.pen ? `A session gets a ${told.pen} pen. It can't promise this:` : "No sound pen is possible here.",
    ...told.cannot_promise.map((it) => `  - ${it}`),
  ];
  if (told.advice.length > 0) lines.push("", "To get better:", ...told.advice.map((it) => `  - ${it}`));
  return `${lines.join("\n")}\n`;
}

export function trialText(trial: Trial): string {
  if (trial.works && trial.ended_in_ms !== null) return `held and ended in ${trial.ended_in_ms} ms`;
  return trial.why ?? "not tried";
}

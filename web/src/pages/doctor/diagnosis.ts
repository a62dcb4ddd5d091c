/** The last report of `kennel doctor`. It is kept while the page is open, because a run creates real pens. */
import { signal } from "@preact/signals";

import { get } from "../../api/http.ts";

/** The state of a finding: as it should be, limited, or broken. */
export type FindingState = "good" | "fair" | "bad";

/** The check of one kind of pen, with an agent that leaves a daemon process behind. */
export interface PenCheck {
  kind: string;
  works: boolean;
  why: string | null;
  ended_in_ms: number | null;
}

export interface Finding {
  id: string;
  state: FindingState;
  found: string;
}

/** The output of `kennel doctor --json`. */
export interface Diagnosis {
  version: string;
  sound: boolean;
  pen: string | null;
  pens: PenCheck[];
  findings: Finding[];
  cannot_promise: string[];
  advice: string[];
}

export const diagnosis = signal<Diagnosis | null>(null);
export const checkedAt = signal<string | null>(null);
export const isChecking = signal(false);
export const failure = signal<unknown>(null);

/** Runs the checks. A call during a run does nothing. */
export async function runChecks(): Promise<void> {
  if (isChecking.value) return;
  isChecking.value = true;
  try {
    diagnosis.value = await get<Diagnosis>("/v1/doctor");
    checkedAt.value = new Date().toISOString();
    failure.value = null;
  } catch (error) {
    failure.value = error;
  } finally {
    isChecking.value = false;
  }
}

/** Returns the report as text, to paste it into an issue. */
export function asText(report: Diagnosis): string {
  const marks: Record<FindingState, string> = { good: "ok", fair: "--", bad: "!!" };
  const entry = (mark: string, name: string, text: string) => `  ${mark}  ${name.padEnd(12)} ${text}`;
  const lines = [
    `kennel ${report.version}`,
    "",
    ...report.findings.map((it) => entry(marks[it.state], it.id, it.found)),
    "",
    "Pens, each checked with an agent that leaves a daemon process behind:",
    ...report.pens.map((it) => entry(it.works ? "ok" : "--", it.kind, penCheckText(it))),
    "",
    report.pen ? `Sessions use ${report.pen} pens. Limitations:` : "No reliable pen is available on this machine.",
    ...report.cannot_promise.map((it) => `  - ${it}`),
  ];
  if (report.advice.length > 0) lines.push("", "Suggestions:", ...report.advice.map((it) => `  - ${it}`));
  return `${lines.join("\n")}\n`;
}

export function penCheckText(trial: PenCheck): string {
  if (trial.works && trial.ended_in_ms !== null) return `all processes ended in ${trial.ended_in_ms} ms`;
  return trial.why ?? "not checked";
}

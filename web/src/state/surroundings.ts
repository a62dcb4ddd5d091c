/**
 * The environment that agents get whom this browser asks. The API hands on exactly what it is told, and a browser has none of
 * its own: so it is written here, once, and kept in this browser.
 */
import { computed, signal } from "@preact/signals";

import { daemon } from "./me.ts";

const KEY = "kennel-environment";
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const written = signal(stored());

/** `NAME=VALUE`, a line each. */
export const environmentText = computed(() => written.value ?? usual(daemon.value?.home));

export function setEnvironmentText(text: string): void {
  written.value = text;
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // It is kept as long as the page is open.
  }
}

/** Agents have their login in the user's folder; where that is, the home at its usual place tells. */
export function usual(home: string | undefined): string {
  const folder = home?.match(/^(.+)\/\.local\/state\/kennel$/)?.[1];
  return folder ? `HOME=${folder}\nPATH=${folder}/.local/bin:${PATH}` : `PATH=${PATH}`;
}

/** As the API takes it; throws what is wrong with it, for people. */
export function environment(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split("\n").map((it) => it.trim()).filter(Boolean)) {
    const at = line.indexOf("=");
    if (at <= 0) throw new Error(`“${line.slice(0, 40)}” is not NAME=VALUE.`);
    found[line.slice(0, at)] = line.slice(at + 1);
  }
  return found;
}

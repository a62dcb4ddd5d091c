/** What this browser remembers of sessions that were started from it: folders, and the lines of the environment that are no secrets. */

const FOLDERS = "kennel.folders";
const LINES = "kennel.environment";
const MOST = 8;
/** Only these are kept: others may be secrets. */
const HARMLESS = /^(PATH|HOME|LANG|LC_[A-Z]+|TZ|USER|LOGNAME|SHELL|EDITOR|TERM)=/;

export function recentFolders(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(FOLDERS) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export function rememberFolder(folder: string): void {
  if (folder === "") return;
  const next = [folder, ...recentFolders().filter((other) => other !== folder)].slice(0, MOST);
  localStorage.setItem(FOLDERS, JSON.stringify(next));
}

export function recentLines(): string | null {
  return localStorage.getItem(LINES);
}

export function rememberLines(lines: string): void {
  const kept = lines.split("\n").filter((line) => HARMLESS.test(line));
  localStorage.setItem(LINES, kept.map((line) => `${line}\n`).join(""));
}

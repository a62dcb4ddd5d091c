/** The folders of sessions that were started from this browser. */

const FOLDERS = "kennel.folders";
const MAX_FOLDERS = 8;

export function recentFolders(): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(FOLDERS) ?? "[]");
    return Array.isArray(found) ? found.filter((one) => typeof one === "string").slice(0, MAX_FOLDERS) : [];
  } catch {
    return [];
  }
}

export function rememberFolder(folder: string): void {
  if (folder === "") return;
  const next = [folder, ...recentFolders().filter((other) => other !== folder)].slice(0, MAX_FOLDERS);
  localStorage.setItem(FOLDERS, JSON.stringify(next));
}

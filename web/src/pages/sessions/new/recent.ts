/** What this browser remembers of sessions that were started from it: their folders. */

const FOLDERS = "kennel.folders";
const MOST = 8;

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

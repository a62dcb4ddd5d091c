/** The processes of a pen as a tree: the agent, its descendants, and processes whose parents have exited. */
import type { ProcessView } from "../../../api/types.ts";

/** A process with its living children. */
export interface Branch {
  process: ProcessView;
  children: Branch[];
}

export interface Tree {
  /** The agent; null before it starts and after it ends. */
  agent: Branch | null;
  /** Processes whose parent is not in the pen, such as daemons. */
  reparented: Branch[];
}

/** Builds the tree. Each process is in it exactly once, even if the parents are inconsistent. */
export function build(members: readonly ProcessView[], agentPid: number | null): Tree {
  const branches = new Map(members.map((process) => [process.pid, { process, children: [] } as Branch]));
  const roots: Branch[] = [];
  for (const branch of branches.values()) {
    const { pid, parent } = branch.process;
    const above = pid === agentPid ? undefined : branches.get(parent);
    if (above && !leadsTo(branches, parent, pid)) above.children.push(branch);
    else roots.push(branch);
  }
  const byPid = (a: Branch, b: Branch) => a.process.pid - b.process.pid;
  for (const branch of branches.values()) branch.children.sort(byPid);
  const agent = roots.find((branch) => branch.process.pid === agentPid) ?? null;
  return { agent, reparented: roots.filter((branch) => branch !== agent).sort(byPid) };
}

/** Whether `to` is an ancestor of `from`. The list is not an atomic snapshot, so parents could form a cycle. */
function leadsTo(branches: ReadonlyMap<number, Branch>, from: number, to: number): boolean {
  const seen = new Set<number>();
  for (let at: number | undefined = from; at !== undefined && !seen.has(at); at = branches.get(at)?.process.parent) {
    if (at === to) return true;
    seen.add(at);
  }
  return false;
}

/** A visible line of the tree. */
export interface Line {
  key: string;
  level: number;
  /** The key of the parent line; null at the top. */
  above: string | null;
  /** Null for the heading of the re-parented processes. */
  process: ProcessView | null;
  children: number;
  isOpen: boolean;
  /** Its position among its siblings, from 1, and their number. */
  position: number;
  of: number;
}

export const REPARENTED = "reparented";

/** Returns the visible lines from top to bottom. */
export function lines(tree: Tree, folded: ReadonlySet<string>): Line[] {
  const shown: Line[] = [];
  const add = (branch: Branch, level: number, above: string | null, position: number, of: number) => {
    const key = String(branch.process.pid);
    const isOpen = !folded.has(key);
    shown.push({ key, level, above, process: branch.process, children: branch.children.length, isOpen, position, of });
    if (isOpen) branch.children.forEach((child, at) => add(child, level + 1, key, at + 1, branch.children.length));
  };
  const top = (tree.agent ? 1 : 0) + (tree.reparented.length > 0 ? 1 : 0);
  if (tree.agent) add(tree.agent, 1, null, 1, top);
  if (tree.reparented.length > 0) {
    const isOpen = !folded.has(REPARENTED);
    const children = tree.reparented.length;
    shown.push({ key: REPARENTED, level: 1, above: null, process: null, children, isOpen, position: top, of: top });
    if (isOpen) tree.reparented.forEach((branch, at) => add(branch, 2, REPARENTED, at + 1, children));
  }
  return shown;
}

/** Compares two process lists. */
export function changes(before: readonly ProcessView[], now: readonly ProcessView[]): { appeared: ProcessView[]; vanished: ProcessView[] } {
  const [old, current] = [new Set(before.map((it) => it.pid)), new Set(now.map((it) => it.pid))];
  return { appeared: now.filter((it) => !old.has(it.pid)), vanished: before.filter((it) => !current.has(it.pid)) };
}

const STATES: Record<string, string> = {
  R: "running",
  S: "sleeping",
  D: "uninterruptible sleep",
  T: "stopped",
  t: "traced",
  Z: "zombie",
  X: "dead",
  I: "idle",
};

/** Returns the label of a process state letter. */
export function stateLabel(letter: string): string {
  return STATES[letter] ?? `state ${letter}`;
}

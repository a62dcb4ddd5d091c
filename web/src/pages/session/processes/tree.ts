/** Who is in a pen, as a tree: the agent, what it started, and those whose parents have gone. */
import type { MemberView } from "../../../api/types.ts";

/** A process with those that it started and that are still there. */
export interface Branch {
  process: MemberView;
  children: Branch[];
}

export interface Tree {
  /** The agent itself; none if it has ended, or is not there yet. */
  agent: Branch | null;
  /** Those whose parent is not in the pen: orphans and daemons, which the pen holds all the same. */
  reparented: Branch[];
}

/** Builds the tree; whatever the parents are, each process is in it exactly once. */
export function build(members: readonly MemberView[], agentPid: number | null): Tree {
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

/** Whether one comes to `to` from `from`, upwards: processes are not seen all at one moment, so a circle could be told. */
function leadsTo(branches: ReadonlyMap<number, Branch>, from: number, to: number): boolean {
  const seen = new Set<number>();
  for (let at: number | undefined = from; at !== undefined && !seen.has(at); at = branches.get(at)?.process.parent) {
    if (at === to) return true;
    seen.add(at);
  }
  return false;
}

/** A line of the tree, as it is shown. */
export interface Line {
  key: string;
  level: number;
  /** Which line it is below; null: none. */
  above: string | null;
  /** None: the heading of those that are re-parented. */
  process: MemberView | null;
  children: number;
  isOpen: boolean;
  /** Its place among its siblings, from 1 on, and how many these are. */
  place: number;
  of: number;
}

export const REPARENTED = "reparented";

/** The lines from top to bottom, without what is folded away. */
export function lines(tree: Tree, folded: ReadonlySet<string>): Line[] {
  const shown: Line[] = [];
  const add = (branch: Branch, level: number, above: string | null, place: number, of: number) => {
    const key = String(branch.process.pid);
    const isOpen = !folded.has(key);
    shown.push({ key, level, above, process: branch.process, children: branch.children.length, isOpen, place, of });
    if (isOpen) branch.children.forEach((child, at) => add(child, level + 1, key, at + 1, branch.children.length));
  };
  const top = (tree.agent ? 1 : 0) + (tree.reparented.length > 0 ? 1 : 0);
  if (tree.agent) add(tree.agent, 1, null, 1, top);
  if (tree.reparented.length > 0) {
    const isOpen = !folded.has(REPARENTED);
    const children = tree.reparented.length;
    shown.push({ key: REPARENTED, level: 1, above: null, process: null, children, isOpen, place: top, of: top });
    if (isOpen) tree.reparented.forEach((branch, at) => add(branch, 2, REPARENTED, at + 1, children));
  }
  return shown;
}

/** What has changed between two looks. */
export function changes(before: readonly MemberView[], now: readonly MemberView[]): { appeared: MemberView[]; vanished: MemberView[] } {
  const [old, current] = [new Set(before.map((it) => it.pid)), new Set(now.map((it) => it.pid))];
  return { appeared: now.filter((it) => !old.has(it.pid)), vanished: before.filter((it) => !current.has(it.pid)) };
}

const STATES: Record<string, string> = {
  R: "running",
  S: "sleeping",
  D: "waiting for the kernel",
  T: "stopped",
  t: "traced",
  Z: "ended, not yet collected",
  X: "gone",
  I: "idle",
};

/** The kernel's letter in a word. */
export function stateWord(letter: string): string {
  return STATES[letter] ?? `state ${letter}`;
}

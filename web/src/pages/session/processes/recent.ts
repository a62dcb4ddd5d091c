import { useRef } from "preact/hooks";

import type { ProcessView } from "../../../api/types.ts";
import { now } from "../../../state/clock.ts";
import { changes } from "./tree.ts";

/** How long a new or ended process is highlighted. */
const SHOWN_MS = 3000;

export interface Recent {
  appeared: ReadonlySet<number>;
  /** Processes that have ended. */
  vanished: ProcessView[];
}

/** Tracks which processes recently started or ended. The first list counts as no change. */
export function useRecent(members: readonly ProcessView[] | null): Recent {
  const before = useRef<readonly ProcessView[] | null>(null);
  const appeared = useRef(new Map<number, number>());
  const vanished = useRef(new Map<number, { process: ProcessView; at: number }>());
  const time = Math.max(now.value, Date.now());
  if (members && before.current && before.current !== members) {
    const changed = changes(before.current, members);
    for (const process of changed.appeared) {
      appeared.current.set(process.pid, time);
      vanished.current.delete(process.pid);
    }
    for (const process of changed.vanished) vanished.current.set(process.pid, { process, at: time });
  }
  if (members) before.current = members;
  for (const [pid, at] of appeared.current) if (time - at > SHOWN_MS) appeared.current.delete(pid);
  for (const [pid, { at }] of vanished.current) if (time - at > SHOWN_MS) vanished.current.delete(pid);
  return { appeared: new Set(appeared.current.keys()), vanished: [...vanished.current.values()].map((it) => it.process) };
}

import type { IconName } from "../ui/icons.tsx";

/** A top-level page in the navigation. */
export interface Area {
  area: string;
  title: string;
  icon: IconName;
  /** The key to press after `g`. */
  key: string;
  /** Whether phones show it behind "More", because the bar has no room for it. */
  minor?: true;
}

export const AREAS: Area[] = [
  { area: "sessions", title: "Sessions", icon: "sessions", key: "s" },
  { area: "members", title: "Members", icon: "members", key: "m" },
  { area: "plans", title: "Plans", icon: "plans", key: "p" },
  { area: "strays", title: "Strays", icon: "strays", key: "t" },
  { area: "worktrees", title: "Worktrees", icon: "worktrees", key: "w", minor: true },
  { area: "events", title: "Events", icon: "events", key: "e", minor: true },
  { area: "doctor", title: "Doctor", icon: "doctor", key: "d", minor: true },
];

export function titleOf(area: string): string {
  return AREAS.find((it) => it.area === area)?.title ?? "Not found";
}

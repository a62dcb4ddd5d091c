import type { IconName } from "../ui/icons.tsx";

/** A part of the page that the navigation leads to. */
export interface Area {
  area: string;
  title: string;
  icon: IconName;
  /** Pressed after `g`. */
  key: string;
  /** Whether a phone has it behind "More": there is room for a few only. */
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

/** SVG paths in a 24 × 24 box. */
const PATHS = {
  sessions: "M4 5h16v14H4zM8 10l3 2.5L8 15M13 15h4",
  members: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c.5-3.600 3-5.500 6.500-5.500s6 1.900 6.500 5.500M16 4.500a3.500 3.500 0 0 1 0 6.500M18 14.800c2 .8 3.200 2.500 3.500 5.200",
  plans: "M4 4h5v7H4zM4 15h5v5H4zM13 4h7M13 8h5M13 15h7M13 19h5",
  strays: "M12 3 2.500 20h19zM12 10v4.500M12 17.500v.01",
  worktrees: "M7 4v16M7 12h6a4 4 0 0 0 4-4V4M7 4m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M17 4m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M7 20m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  doctor: "M3 12h4l2.500-6 4 13L16 12h5",
  events: "M5 6h14M5 12h14M5 18h9",
  plus: "M12 5v14M5 12h14",
  stop: "M6 6h12v12H6z",
  play: "M7 4.500v15l12-7.500z",
  pause: "M8.500 5v14M15.500 5v14",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.500 16.500 21 21",
  filter: "M4 7h10M18 7h2M4 17h2M10 17h10M16 7m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0M8 17m-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0",
  close: "M6 6l12 12M18 6 6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  download: "M12 4v11M7.500 11 12 15.500 16.500 11M5 20h14",
  down: "M6 9l6 6 6-6",
  up: "M6 15l6-6 6 6",
  right: "M9 6l6 6-6 6",
  left: "M15 6l-6 6 6 6",
  more: "M6 12h.01M12 12h.01M18 12h.01",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2.500v2M12 19.500v2M2.500 12h2M19.500 12h2M5.300 5.300l1.400 1.400M17.300 17.300l1.400 1.400M5.300 18.700l1.400-1.400M17.300 6.700l1.400-1.400",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4a8.500 8.500 0 1 0 10.500 10.500z",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  check: "M5 12.500l4.500 4.500L19 7.500",
  alert: "M12 8v5M12 16.500v.01M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  send: "M4 12 20 4l-5 16-3.500-6.500z",
  refresh: "M20 11a8 8 0 1 0-2.300 6.300M20 5v6h-6",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3.500 2",
  folder: "M3 6h6l2 2.500h10V19H3z",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8",
  out: "M14 4h6v16h-6M10 8l-4 4 4 4M6 12h9",
  house: "M12 3 3 10.500V21h18V10.500zM9 21v-6a3 3 0 0 1 6 0v6",
  link: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

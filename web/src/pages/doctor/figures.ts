/** A few of the daemon's figures, from its metrics in the text format of Prometheus. */

/** Sums of the figures by their names, whatever their labels. */
export function read(text: string): Map<string, number> {
  const sums = new Map<string, number>();
  for (const line of text.split("\n")) {
    const found = /^([a-z_:][\w:]*)(?:\{[^}]*\})? (\S+)/i.exec(line);
    const [, name, value] = found ?? [];
    const number = Number(value);
    if (name !== undefined && Number.isFinite(number)) sums.set(name, (sums.get(name) ?? 0) + number);
  }
  return sums;
}

/** What is shown, and what is wrong if it is not 0. */
export const SHOWN: { name: string; title: string; kind: "count" | "bytes" | "seconds" | "mean_ms"; alarm?: true }[] = [
  { name: "kennel_launches_total", title: "Launches", kind: "count" },
  { name: "kennel_launches_reaped_total", title: "Launches that ended", kind: "count" },
  { name: "kennel_launch_duration_seconds", title: "A launch takes", kind: "mean_ms" },
  { name: "kennel_stop_duration_seconds", title: "A stop takes", kind: "mean_ms" },
  { name: "kennel_register_commit_duration_seconds", title: "A write to the register takes", kind: "mean_ms" },
  { name: "kennel_output_bytes_total", title: "Output of agents", kind: "bytes" },
  { name: "kennel_strays_ended_total", title: "Strays ended", kind: "count" },
  { name: "kennel_orphans_ended_total", title: "Orphans ended", kind: "count" },
  { name: "kennel_keepers_lost_total", title: "Keepers lost", kind: "count", alarm: true },
  { name: "kennel_owed_cleanups", title: "Clean-ups owed", kind: "count", alarm: true },
  { name: "kennel_register_write_failures_total", title: "Writes that failed", kind: "count", alarm: true },
  { name: "process_resident_memory_bytes", title: "Memory of the daemon", kind: "bytes" },
  { name: "process_cpu_seconds_total", title: "CPU time of the daemon", kind: "seconds" },
  { name: "process_open_fds", title: "Open files of the daemon", kind: "count" },
];

/** The mean of a duration in milliseconds; null if there was none. */
export function meanMs(figures: Map<string, number>, name: string): number | null {
  const count = figures.get(`${name}_count`) ?? 0;
  return count > 0 ? ((figures.get(`${name}_sum`) ?? 0) / count) * 1000 : null;
}

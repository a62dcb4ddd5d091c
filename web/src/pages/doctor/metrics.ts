/** A selection of the daemon’s metrics, parsed from the Prometheus text format. */

/** Returns the sum over all labels of each metric. */
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

/** The metrics to show. Metrics with `alarm` indicate a problem unless they are 0. */
export const SHOWN: { name: string; title: string; kind: "count" | "bytes" | "seconds" | "mean_ms"; alarm?: true }[] = [
  { name: "kennel_launches_total", title: "Launches", kind: "count" },
  { name: "kennel_launches_reaped_total", title: "Launches ended", kind: "count" },
  { name: "kennel_launch_duration_seconds", title: "Launch time", kind: "mean_ms" },
  { name: "kennel_stop_duration_seconds", title: "Stop time", kind: "mean_ms" },
  { name: "kennel_register_commit_duration_seconds", title: "Register write time", kind: "mean_ms" },
  { name: "kennel_output_bytes_total", title: "Output recorded", kind: "bytes" },
  { name: "kennel_strays_ended_total", title: "Strays ended", kind: "count" },
  { name: "kennel_keepers_lost_total", title: "Keepers lost", kind: "count", alarm: true },
  { name: "kennel_owed_cleanups", title: "Pending cleanups", kind: "count", alarm: true },
  { name: "kennel_register_write_failures_total", title: "Failed register writes", kind: "count", alarm: true },
  { name: "process_resident_memory_bytes", title: "Daemon memory", kind: "bytes" },
  { name: "process_cpu_seconds_total", title: "Daemon CPU time", kind: "seconds" },
  { name: "process_open_fds", title: "Daemon open files", kind: "count" },
];

/** Returns the mean of a duration metric in milliseconds; null if there is no observation. */
export function meanMs(figures: Map<string, number>, name: string): number | null {
  const count = figures.get(`${name}_count`) ?? 0;
  return count > 0 ? ((figures.get(`${name}_sum`) ?? 0) / count) * 1000 : null;
}

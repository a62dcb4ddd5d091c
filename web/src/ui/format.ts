/** Formats a duration: `3 s`, `4 min`, `2 h 5 min`, `3 d 4 h`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  const days = Math.floor(hours / 24);
  return hours % 24 ? `${days} d ${hours % 24} h` : `${days} d`;
}

/** Formats an age in whole seconds, starting at `0 s`. */
export function age(milliseconds: number): string {
  return duration(Math.floor(Math.max(0, milliseconds) / 1000) * 1000 || 0).replace(/^0 ms$/, "0 s");
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** Formats a size: `3.2 MB`. */
export function bytes(count: number): string {
  let [value, unit] = [count, 0];
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

/** Formats a number with its noun: `1 process`, `3 processes`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Formats millionths of a dollar: `$0.0132`. */
export function cost(micros: number): string {
  const dollars = micros / 1e6;
  return `$${dollars.toFixed(dollars >= 1 || dollars === 0 ? 2 : 4)}`;
}

/** Formats the time of day, with the date unless it is today. */
export function formatTime(time: string): string {
  const date = new Date(time);
  const clock = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? clock : `${date.toLocaleDateString("en-CA")} ${clock}`;
}

/** Formats an argv as a shell command line. */
export function commandLine(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");
}

/** Truncates a text to at most `most` characters. */
export function truncate(text: string, most = 60): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

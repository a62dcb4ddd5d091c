/** Formats a time of day with milliseconds. */
export function exactTime(time: string): string {
  const date = new Date(time);
  return `${date.toLocaleTimeString("en-GB")}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** Formats a date as YYYY-MM-DD. */
export function day(time: string): string {
  return new Date(time).toLocaleDateString("en-CA");
}

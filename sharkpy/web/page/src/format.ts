/** Figures as people read them. Null is an em dash. */

const NONE = "—";
const grouped = new Intl.NumberFormat("en-US");

export function count(value: number | null | undefined): string {
  return value == null ? NONE : grouped.format(Math.round(value));
}

/** A count with three digits at most: 950, 12.3 k, 4.56 M. */
export function shortCount(value: number | null | undefined): string {
  if (value == null) return NONE;
  return scaled(value, 1000, ["", " k", " M", " G", " T", " P"]);
}

export function bytes(value: number | null | undefined): string {
  if (value == null) return NONE;
  return scaled(value, 1024, [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]);
}

function scaled(value: number, base: number, units: readonly string[]): string {
  let size = Math.abs(value);
  let unit = 0;
  while (Math.round(size) >= base && unit < units.length - 1) {
    size /= base;
    unit++;
  }
  const digits = unit === 0 && (Number.isInteger(size) || size >= 100) ? 0 : size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return `${value < 0 ? "−" : ""}${size.toFixed(digits)}${units[unit]}`;
}

export function seconds(value: number | null | undefined): string {
  if (value == null) return NONE;
  if (value === 0) return "0 s";
  if (value < 0.001) return `${Math.max(1, Math.round(value * 1e6))} µs`;
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 59.95) return `${value.toFixed(value < 9.995 ? 2 : 1)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const hours = Math.floor(whole / 3600);
  return `${hours} h ${Math.floor((whole % 3600) / 60)} min`;
}

export function percent(part: number, whole: number): string {
  if (!whole) return NONE;
  const share = (100 * part) / whole;
  return `${share > 0 && share < 10 ? share.toFixed(1) : Math.round(share)} %`;
}

/** A count with its noun: "1 row", "2 rows". */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** How long ago, such as "3 min ago"; the date if it is more than a week. */
export function ago(time: string, now: number): string {
  const then = Date.parse(time);
  if (Number.isNaN(then)) return NONE;
  const passed = Math.max(0, (now - then) / 1000);
  if (passed < 10) return "just now";
  if (passed < 60) return `${Math.floor(passed)} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < 7 * 86400) return `${Math.floor(passed / 86400)} d ago`;
  return new Date(then).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

export function fullTime(time: string): string {
  const then = new Date(time);
  return Number.isNaN(then.getTime())
    ? time
    : then.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
}

/** A text as a sentence: with a capital letter and a full stop. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** Text on one line, with at most `most` characters. */
export function oneLine(text: string, most = 240): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

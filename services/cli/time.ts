import { badInput } from "./failure.ts";

const units: [name: string, ms: number][] = [
  ["year", 31_557_600_000],
  ["month", 2_629_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];

/** `3 minutes ago`, `just now`; a time to come (a clock that was set back) is `just now` too. */
export function ago(at: number, now: number = Date.now()): string {
  const past = now - at;
  const unit = units.find(([, ms]) => past >= ms);
  if (unit === undefined || past < 5_000) return "just now";
  const count = Math.floor(past / unit[1]);
  return `${count} ${unit[0]}${count === 1 ? "" : "s"} ago`;
}

/** `10 minutes`, `30 days`: how long until then, rounded; at least a second. */
export function ahead(at: number, now: number = Date.now()): string {
  const left = Math.max(1_000, at - now);
  const [name, ms] = units.find(([, size]) => left >= size * 0.99) ?? ["second", 1_000];
  const count = Math.round(left / ms);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** `1.2 s`, `3 min 20 s`: how long something took. */
export function took(ms: number): string {
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const scales: Record<string, number> = { ms: 1, "": 1_000, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const longestMs = 30 * 86_400_000;

/** Milliseconds of `30`, `30s`, `500ms`, `5m`, `2h` (seconds without a unit); thirty days at most. */
export function duration(text: string): number {
  const [, digits = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/.exec(text) ?? [];
  const ms = Number(digits) * (scales[unit] ?? Number.NaN);
  if (digits === "" || Number.isNaN(ms) || ms > longestMs)
    throw badInput("not_a_duration", `"${text}" is no length of time`, "Say it like 30s, 5m or 2h; thirty days at most.");
  return Math.round(ms);
}

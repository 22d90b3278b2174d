// How numbers, times and durations are written.

const units: [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
];

/** A duration in milliseconds, in at most two units: 3d 4h, 2m 5s, 1.25s, 320ms. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  const sign = ms < 0 ? "−" : "";
  ms = Math.abs(ms);
  if (ms < 1) return sign + (ms === 0 ? "0s" : `${Math.round(ms * 1000)}µs`);
  if (ms < 1000) return `${sign}${Math.round(ms)}ms`;
  if (ms < 10_000) return `${sign}${Number((ms / 1000).toFixed(2))}s`;
  if (ms < 60_000) return `${sign}${Number((ms / 1000).toFixed(1))}s`;
  const parts: string[] = [];
  let left = Math.round(ms / 1000) * 1000;
  for (const [size, name] of units) {
    const n = Math.floor(left / size);
    left -= n * size;
    if (n > 0 && parts.length < 2) parts.push(n + name);
    else if (parts.length > 0) break;
  }
  return sign + parts.join(" ");
}

/** How long ago, or until, a time is. */
export function relative(at: number, now: number): string {
  const ms = now - at;
  if (Math.abs(ms) < 1000) return "now";
  const text = duration(Math.floor(Math.abs(ms) / 1000) * 1000);
  return ms > 0 ? text + " ago" : "in " + text;
}

/** A Go duration, such as 1h30m or 1.5s, in milliseconds. */
export function parseDuration(text: string | null | undefined): number {
  if (!text) return NaN;
  const sizes: Record<string, number> = { ns: 1e-6, us: 1e-3, "µs": 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  let total = 0;
  let rest = text;
  while (rest) {
    const m = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d)/.exec(rest);
    if (!m) return NaN;
    total += Number(m[1]) * (sizes[m[2] as string] as number);
    rest = rest.slice(m[0].length);
  }
  return total;
}

const plain = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** A share of a hundred, to one place. */
export const percent = (n: number) => `${Math.round(n * 10) / 10}%`;

export const number = (n: number) => plain.format(n);
export const short = (n: number) => (Math.abs(n) < 10_000 ? plain.format(Math.round(n * 100) / 100) : compact.format(n));

/** A count, of which the database may not have counted all. */
export function count(c: { jobs: number; exact: boolean } | undefined | null): string {
  return c ? number(c.jobs) + (c.exact ? "" : "+") : "0";
}

/** A time, as the person wants it. */
export function time(at: number, utc: boolean, precise = false): string {
  const d = new Date(at);
  const p = (n: number, width = 2) => String(n).padStart(width, "0");
  const [y, mo, day, h, mi, s, ms] = utc
    ? [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate(), d.getUTCHours(), d.getUTCMinutes(), d.getUTCSeconds(), d.getUTCMilliseconds()]
    : [d.getFullYear(), d.getMonth(), d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds(), d.getMilliseconds()];
  return `${y}-${p(mo + 1)}-${p(day)} ${p(h)}:${p(mi)}:${p(s)}${precise ? "." + p(ms, 3) : ""}${utc ? " UTC" : ""}`;
}

/** The beginning of an id that tells it from others; those made at one time begin alike. */
export const shortID = (id: string) => (id.length > 13 ? id.slice(0, 8) + "…" + id.slice(-4) : id);

/** Text of a shell, in which values are words as they are, whatever they have in them. */
export function sh(parts: TemplateStringsArray, ...values: string[]): string {
  const word = (v: string) => (/^[\w./:=@%+,-]+$/.test(v) && !v.startsWith("-") ? v : "'" + v.replace(/'/g, "'\\''") + "'");
  return parts.reduce((all, part, i) => all + part + (i < values.length ? word(values[i] as string) : ""), "");
}

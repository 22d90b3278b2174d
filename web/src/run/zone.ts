// Times on the clock of a named zone, by what the browser knows of zones.

/** The zone of a schedule, from its times as they are written, such as "cron 0 3 * * * zone=Europe/Berlin"; "UTC" if they name none. */
export const zoneOf = (times: string): string => /(?:^|\s)zone=(\S+)/.exec(times)?.[1] ?? "UTC";

/** The parts of the times of a schedule, of which a form has fields; "" where they are something else. */
export function writtenAs(times: string): { cron: string; every: string; zone: string; skips: boolean } {
  const [, what = "", is = ""] = /^(cron|every) (.*?)(?:\s+[a-z]+=.*)?$/.exec(times) ?? [];
  return { cron: what === "cron" ? is : "", every: what === "every" ? is : "", zone: zoneOf(times), skips: / dst=skip\b/.test(times) };
}

/** What the clock of a zone shows at a time, as milliseconds of a clock without zones. */
function clock(at: number, zone: string): number {
  const parts = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric",
  }).formatToParts(at);
  const n = (type: string) => Number(parts.find((p) => p.type === type)?.value);
  return Date.UTC(n("year"), n("month") - 1, n("day"), n("hour"), n("minute"), n("second"));
}

/** What the clock of a zone shows at a time, as text. */
export const onClock = (at: number, zone: string): string => new Date(clock(at, zone)).toISOString().slice(0, 19).replace("T", " ");

/**
 * The time at which the clock of a zone shows a text such as 2026-11-28T12:00. Where it shows it twice, as clocks are set back, the
 * first one, or with late the second. Where it never does, as clocks are set forward, as much later as they are set.
 */
export function timeIn(text: string, zone: string, late = false): number {
  const wanted = Date.parse(text + "Z");
  if (Number.isNaN(wanted)) throw new Error(`“${text}” is no time.`);
  const day = 86_400_000;
  const before = clock(wanted - day, zone) - (wanted - day);
  const after = clock(wanted + day, zone) - (wanted + day);
  const found = [wanted - before, wanted - after].filter((at) => clock(at, zone) === wanted);
  if (found.length === 0) return wanted - before;
  return late ? Math.max(...found) : Math.min(...found);
}

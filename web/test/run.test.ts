// The layout of a run's timeline.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalEntry, JournalMessage } from "../src/api/schema";
import { categories, categoryOf, chosen } from "../src/run/category";
import { folded, withWaits } from "../src/run/layout";
import { fileOf, historyOf, nameOf, spanOf, withoutTokens } from "../src/run/file";
import { most, readOn, type All } from "../src/run/read";
import { caption, extent, gaps, lanes, lengthOf, merged, scale, ticks, visible } from "../src/run/layout";
import { onClock, timeIn, writtenAs, zoneOf } from "../src/run/zone";

const t0 = Date.parse("2026-11-28T12:00:00Z");
const at = (ms: number) => new Date(t0 + ms).toISOString();
let seq = 0;
const entry = (e: Partial<JournalEntry>): JournalEntry => ({ at: at(0), data: null, kind: "step", lease: null, message: null, name: null, path: "", seq: String(++seq), took: null, ...e });
const message = (m: Partial<JournalMessage>): JournalMessage => ({ at: at(0), data: null, error: null, from: null, kind: "signal", name: null, reason: null, seq: "1", state: null, unread: false, ...m });

test("a step is as long as it took, before it was stored", () => {
  const [lane] = lanes([entry({ path: "1", name: "charge", at: at(500), took: "200ms" })], [], null);
  assert.deepEqual(lane?.bars.map((b) => [b.from - t0, b.to - t0, b.look]), [[300, 500, "done"]]);
});

test("tries of a step, and the waits between them, are bars of one lane", () => {
  const [lane, ...rest] = lanes([
    entry({ path: "1", name: "ask", kind: "step retry", at: at(100), took: "50ms", data: { failure: { message: "no answer" }, until: at(400) } }),
    entry({ path: "1", name: "ask", at: at(500), took: "80ms" }),
  ], [], null);
  assert.equal(rest.length, 0);
  assert.deepEqual(lane?.bars.map((b) => [b.from - t0, b.to - t0, b.look]), [[50, 100, "retry"], [100, 400, "wait"], [420, 500, "done"]]);
  assert.match(lane?.bars[0]?.label ?? "", /no answer/);
});

test("a wait with a time limit ends when the signal is received, and is open until then", () => {
  const timer = entry({ path: "2", name: "approved", kind: "timer", at: at(100), data: { until: at(60_000) } });
  const [open] = lanes([timer], [], t0 + 5000);
  assert.deepEqual(open?.bars.map((b) => b.look), ["open"]);
  const [lane] = lanes([timer, entry({ path: "2", name: "approved", kind: "received", at: at(900), message: "1" })], [message({ name: "approved", at: at(800) })], null);
  assert.equal(lane?.kind, "signal");
  assert.deepEqual(lane?.bars.map((b) => [b.from - t0, b.to - t0, b.look]), [[100, 900, "wait"], [900, 900, "mark"]]);
});

test("a child lasts until its message, and shows how it ended", () => {
  const child = entry({ path: "3", name: "ship", kind: "child", at: at(10), data: { id: "c1" } });
  assert.equal(lanes([child], [], t0 + 99)[0]?.bars[0]?.look, "open");
  const [lane] = lanes([child], [message({ kind: "child", from: "c1", state: "failed", at: at(70) })], null);
  assert.deepEqual([lane?.job, lane?.bars[0]?.to, lane?.bars[0]?.look], ["c1", t0 + 70, "failed"]);
});

test("values that clients are told have a lane for each key", () => {
  const all = lanes([entry({ path: "1", kind: "published", name: "steps" }), entry({ path: "2", kind: "published", name: "steps" }), entry({ path: "3", kind: "published", name: "state" })], [], null);
  assert.deepEqual(all.map((l) => [l.name, l.bars.length]), [["steps", 2], ["state", 1]]);
});

test("an entry without data, of a kind that is not known, or hidden, does no harm", () => {
  const all = lanes([entry({ kind: "tomorrow", path: "1" }), entry({ kind: "child", path: "2" }), entry({ kind: "step failed", path: "3", data: { hidden: "payloads:read" } }), entry({ kind: "timer", path: "4", data: "x" })], [], null);
  assert.equal(all.length, 4);
  for (const b of all.flatMap((l) => l.bars)) assert.ok(b.to >= b.from, JSON.stringify(b));
});

test("idle times are those in which nothing is at work, if they are long enough", () => {
  const all = lanes([entry({ path: "1", at: at(1000), took: "1s" }), entry({ path: "2", kind: "timer", at: at(1000), data: { until: at(3_600_000) } }), entry({ path: "3", at: at(3_601_000), took: "1s" })], [], null);
  assert.deepEqual(gaps(all, t0, t0 + 3_601_000).map((g) => [g.from - t0, g.to - t0]), [[1000, 3_600_000]]);
  assert.deepEqual(gaps(all, t0, t0 + 3_601_000, 0.05, 7_200_000), []);
});

test("a scale goes from 0 to 1, never back, and gives a collapsed gap its share", () => {
  const x = scale(t0, t0 + 3_601_000, [{ from: t0 + 1000, to: t0 + 3_600_000 }]);
  assert.equal(x(t0), 0);
  assert.ok(Math.abs(x(t0 + 3_601_000) - 1) < 1e-9);
  let last = 0;
  for (let ms = 0; ms <= 3_601_000; ms += 7001) {
    const here = x(t0 + ms);
    assert.ok(here >= last - 1e-12 && here <= 1 + 1e-9, `${ms}: ${here} after ${last}`);
    last = here;
  }
  assert.ok(Math.abs(x(t0 + 3_600_000) - x(t0 + 1000) - 0.04) < 1e-9);
  assert.ok(Math.abs(x(t0 + 1000) - 0.48) < 1e-9);
});

test("a scale of any gaps stays between 0 and 1", () => {
  for (let round = 0; round < 300; round++) {
    const cuts = Array.from({ length: 2 * (1 + (round % 20)) }, () => Math.random() * 1e6).sort((a, b) => a - b);
    const idle = [];
    for (let i = 0; i + 1 < cuts.length; i += 2) idle.push({ from: cuts[i] as number, to: (cuts[i + 1] as number) + 1e-6 });
    const x = scale(0, 1e6 + 1, idle);
    let last = 0;
    for (let here = 0; here <= 1e6; here += 9973) {
      assert.ok(x(here) >= last - 1e-9 && x(here) <= 1 + 1e-9);
      last = x(here);
    }
  }
});

test("ticks are few, in order, and in no gap", () => {
  const all = ticks(t0, t0 + 3_601_000, [{ from: t0 + 1000, to: t0 + 3_600_000 }]);
  assert.ok(all.length >= 3 && all.length <= 12, String(all.length));
  for (const t of all) assert.ok(!(t > t0 + 1000 && t < t0 + 3_600_000));
  assert.deepEqual([...all].sort((a, b) => a - b), all);
  assert.ok(ticks(0, 400 * 86_400_000, []).length <= 32);
  assert.deepEqual(ticks(t0, t0, []), [t0]);
});

test("of ten thousand lanes only those are drawn that are seen", () => {
  assert.deepEqual(visible(28 * 5000, 560, 28, 10_000), [4990, 5030]);
  assert.deepEqual(visible(0, 560, 28, 3), [0, 3]);
  const many = Array.from({ length: 10_000 }, (_, i) => entry({ path: String(i), name: "part " + i, at: at(i * 10), took: "5ms" }));
  const all = lanes(many, [], null);
  assert.equal(all.length, 10_000);
  assert.deepEqual(gaps(all, t0, t0 + 100_000), []);
});

test("a history as a file is read as it was written, by the names that the command has", () => {
  const history = {
    job: { id: "01a", kind: "order", args: { n: 1 }, state: "completed", created_at: at(0), finished_at: at(900) },
    entries: [entry({ path: "1", name: "charge", seq: "1", lease: "3", took: "200ms", data: { a: null } }), entry({ path: "2", kind: "received", seq: "2", message: "1" })],
    messages: [message({ name: "approved", unread: true })],
  };
  const text = fileOf(history);
  assert.deepEqual(historyOf(text), history);
  const raw = JSON.parse(text);
  assert.equal(raw.job, "01a");
  assert.deepEqual(raw.entries[0], { at: at(0), data: { a: null }, kind: "step", lease: 3, name: "charge", path: "1", seq: 1, took_ns: 200_000_000 });
  assert.deepEqual(spanOf(history), { began: t0, ended: t0 + 900 });
  assert.deepEqual(spanOf({ entries: [entry({ at: at(50) }), entry({ at: at(20) })], messages: [] }), { began: t0 + 20, ended: t0 + 50 });
  assert.deepEqual(spanOf({ entries: [], messages: [] }), { began: 0, ended: 0 });
});

test("a file that is no history says why", () => {
  for (const [text, says] of [["", "no JSON"], ["{", "no JSON"], ["7", "no list of entries"], ["null", "no list of entries"], ['{"entries":{}}', "no list of entries"], ['{"entries":[{"path":"1"}]}', "Entry 1 has no kind"], ['[null]', "Entry 1 has no kind"], ['{"entries":[{"kind":"step","at":"2026-11-28T12:00:00Z"},{"kind":"step"}]}', "Entry 2 (step) has no time"], ['[{"kind":"timer","at":"soon"}]', "Entry 1 (timer) has no time"], ['{"entries":[],"messages":[1]}', "Message 1 has no kind"]] as const) {
    assert.throws(() => historyOf(text), (e: Error) => e.message.includes(says), text);
  }
});

test("a journal is read on from where it was, and anew after a run has started over", async () => {
  let journal = Array.from({ length: 2500 }, (_, i) => entry({ seq: String(i + 1), path: String(i + 1) }));
  let asked: string[] = [];
  const page = async (after: string) => {
    asked.push(after);
    const items = journal.filter((e) => Number(e.seq) > Number(after || 0)).slice(0, 1000);
    const last = items.at(-1)?.seq ?? null;
    return { items, next_cursor: items.length === 1000 && last !== journal.at(-1)?.seq ? last : null };
  };
  const read = async (known: All<JournalEntry>) => {
    asked = [];
    const all = await readOn(known, page);
    assert.deepEqual(all.items, journal.slice(0, all.items.length));
    return all;
  };
  const all = await read({ items: [], cut: false });
  assert.equal(all.items.length, 2500);
  assert.deepEqual(asked, ["", "1000", "2000"]);
  assert.equal(await read(all), all); // the same: nothing has to be drawn again
  assert.deepEqual(asked, ["2499"]);
  journal = [...journal, entry({ seq: "2501", path: "2501" })];
  const more = await read(all);
  assert.deepEqual([more.items.length, asked], [2501, ["2499"]]);
  journal = journal.map((e) => ({ ...e, at: at(7) })).slice(0, 2); // it has started over, and its numbers with it
  assert.equal((await read(more)).items.length, 2);
  journal = [];
  assert.equal((await read(more)).items.length, 0);
  journal = Array.from({ length: most + 2000 }, (_, i) => entry({ seq: String(i + 1) }));
  const cut = await read({ items: [], cut: false });
  assert.deepEqual([cut.items.length, cut.cut], [most, true]);
  assert.equal(await read(cut), cut); // of the same run no more than one page is read again
  assert.deepEqual(asked, [String(most - 1)]);
  journal = [entry({ seq: "1", at: at(9) })]; // a run that has started over is read, also after one that was cut
  const anew = await read(cut);
  assert.deepEqual([anew.items.length, anew.cut], [1, false]);
  journal = Array.from({ length: most + 1 }, (_, i) => entry({ seq: String(i + 1), at: at(11) }));
  assert.equal((await read(cut)).items[0]?.at, at(11));
});

test("an entry or a message without a time is a lane without bars, and stops nothing else", () => {
  const all = lanes([entry({ path: "1", at: null, took: "1s" }), entry({ path: "2", at: at(5) }), entry({ path: "3", kind: "received", name: "go", at: at(9), message: "1" }), entry({ path: "4", took: "99999999999h" })], [message({ at: null })], null);
  assert.deepEqual(all.map((l) => [l.path, l.bars.length > 0]), [["2", true], ["3", true], ["1", false], ["4", false]]);
  for (const b of all.flatMap((l) => l.bars)) assert.ok(Number.isFinite(b.from) && b.to >= b.from);
  assert.ok(Number.isNaN(lengthOf(all[2] as (typeof all)[0], t0)));
});

test("a kind that an object has by itself is one that is not known", () => {
  for (const kind of ["constructor", "__proto__", "toString"]) assert.equal(lanes([entry({ kind, path: "1" })], [], null)[0]?.kind, "other", kind);
});

test("a timeline goes to its last bar, whatever the clocks of the servers say, but not to what is planned", () => {
  const all = lanes([entry({ path: "1", at: at(120_000) }), entry({ path: "2", kind: "timer", at: at(120_500), data: { until: at(9e6) } })], [], t0);
  assert.deepEqual(extent(all, t0 + 110_000, t0), { from: t0 + 110_000, to: t0 + 120_500 });
  assert.deepEqual(extent([], t0 + 5, t0), { from: t0 + 5, to: t0 + 5 });
  assert.deepEqual(extent([], NaN, NaN), { from: 0, to: 0 });
  assert.deepEqual(extent(all, NaN, NaN), { from: t0 + 120_000, to: t0 + 120_500 });
});

test("a timer beyond the end of the run is as long as the run waited", () => {
  const [lane] = lanes([entry({ path: "1", kind: "timer", name: "approved", at: at(1000), data: { until: at(72 * 3_600_000) } })], [], null);
  assert.ok(lane?.bars[0]);
  assert.equal(lengthOf(lane, t0 + 61_000), 60_000);
  assert.equal(caption(lane.bars[0], t0 + 61_000), "waits for approved, 1m of 2d 23h");
  assert.equal(caption({ from: 0, to: 1000, look: "done", label: "a done" }, 5000), "a done, 1s");
  assert.equal(caption({ from: 7, to: 7, look: "mark", label: "b" }, 5000), "b");
});

test("an awaited callback is open until its answer, and not once the run is over", () => {
  const token = entry({ path: "1", kind: "callback", name: "hfc_secret", at: at(10), data: { name: "bank" } });
  const looks = (messages: JournalMessage[], now: number | null) => lanes([token], messages, now)[0]?.bars.map((b) => [b.look, b.from - t0, b.to - t0, b.label]);
  const mark = ["mark", 10, 10, "token for bank"];
  assert.deepEqual(looks([], t0 + 99), [mark, ["open", 10, 99, "waits for bank"]]);
  assert.deepEqual(looks([message({ kind: "callback", name: "hfc_secret", at: at(50) })], t0 + 99), [mark, ["wait", 10, 50, "bank was answered"]]);
  assert.deepEqual(looks([message({ kind: "callback failed", name: "hfc_secret", at: at(50) })], null), [mark, ["wait", 10, 50, "bank failed"]]);
  assert.deepEqual(looks([], null), [mark]);
  assert.equal(lanes([{ ...token, data: null }], [], null)[0]?.name, "callback");
});

test("bars of one look that share a place are drawn once", () => {
  const all = Array.from({ length: 3000 }, (_, i) => entry({ path: String(i), kind: "published", name: "steps", at: at(i) }));
  const [lane] = lanes(all, [], null);
  const drawn = merged(lane?.bars ?? [], scale(t0, t0 + 3000, []), 300);
  assert.equal(drawn.length, 300);
  assert.deepEqual([drawn[0]?.from, drawn[0]?.to, drawn[0]?.label], [t0, t0 + 9, "published steps, and 9 more"]);
  assert.equal(merged(lane?.bars ?? [], scale(t0, t0 + 2999, []), 300).length, 300); // the end belongs to the last part
  const two = [{ from: 0, to: 1, look: "done" as const, label: "a" }, { from: 0, to: 5, look: "wait" as const, label: "b" }];
  assert.deepEqual(merged(two, (t) => t / 10, 5), two);
});

test("a history is of one category or all, and in both orders; other has each kind that is not named", () => {
  const all = [entry({ path: "1", kind: "step retry" }), entry({ path: "1" }), entry({ path: "2", kind: "patched" }), entry({ path: "3", kind: "tomorrow" }), entry({ path: "4", kind: "constructor" })];
  const kindsOf = (only: string, o = {}) => chosen(all, { only, last: false, newest: false, ...o }).map((e) => e.kind);
  assert.deepEqual(kindsOf(""), ["step retry", "step", "patched", "tomorrow", "constructor"]);
  assert.deepEqual(kindsOf("", { last: true, newest: true }), ["constructor", "tomorrow", "patched", "step"]);
  assert.deepEqual(kindsOf("steps"), ["step retry", "step"]);
  assert.deepEqual(kindsOf("other"), ["patched", "tomorrow", "constructor"]);
  assert.equal(all[0]?.kind, "step retry"); // what was given stays as it is
  assert.ok(categories.includes("other"));
  for (const name of ["constructor", "__proto__", "toString", ""]) assert.equal(categoryOf(name), "");
});

test("a history without tokens has a stand-in for each, the same wherever it stood", () => {
  const history = {
    job: { id: "01a", kind: "pay", args: { n: 1 }, state: "waiting", created_at: at(0), finished_at: null },
    entries: [
      entry({ seq: "1", path: "1", kind: "callback", name: "hfc_one", data: { name: "bank" } }), entry({ seq: "2", path: "2", kind: "callback", name: "own-token", data: { hidden: "payloads:read" } }),
      entry({ seq: "3", path: "3", name: "tell", data: { url: "https://example.com/callbacks/hfc_one?x=1", of: ["own-token", 7, null] } }), entry({ seq: "4", path: "4", kind: "published", name: "link", data: "hfc_other-1" }),
    ],
    messages: [message({ kind: "callback", name: "hfc_one", data: { paid: true } }), message({ kind: "callback failed", name: "own-token", error: "hfc_one" })],
  };
  assert.deepEqual(history.entries.map(nameOf), ["bank", "callback", "tell", "link"]);
  const clean = withoutTokens(history);
  const text = fileOf(clean);
  assert.doesNotMatch(text, /hfc_|own-token/);
  assert.equal(clean.messages[0]?.name, clean.entries[0]?.name);
  assert.equal(clean.messages[1]?.name, clean.entries[1]?.name);
  assert.notEqual(clean.entries[0]?.name, clean.entries[1]?.name);
  assert.deepEqual([clean.job.args, (clean.entries[2]?.data as { of: unknown[] }).of.slice(1)], [{ n: 1 }, [7, null]]);
  assert.match(fileOf(history), /hfc_one/); // what was given stays as it is
  assert.deepEqual(lanes(clean.entries, clean.messages, t0)[0]?.bars.map((b) => b.look), ["mark", "wait"]);
});

test("numbers that are exact stay so without tokens", () => {
  const [first] = withoutTokens(historyOf('[{"kind":"step","at":"2026-11-28T12:00:00Z","data":{"id":1234567890123456789}}]')).entries;
  if ("rawJSON" in JSON) assert.equal(JSON.stringify(first?.data), '{"id":1234567890123456789}');
  else assert.ok(first);
});

test("the zone of a schedule is that of its times", () => {
  assert.equal(zoneOf("cron 30 2 * * * zone=Europe/Berlin"), "Europe/Berlin");
  assert.equal(zoneOf("every 10m0s zone=UTC"), "UTC");
  assert.deepEqual(writtenAs("cron 30 2 * * 1-5 zone=Europe/Berlin dst=skip"), { cron: "30 2 * * 1-5", every: "", zone: "Europe/Berlin", skips: true });
  assert.deepEqual(writtenAs('cron H 2 * * * zone=UTC seed="the schedule\'s name"'), { cron: "H 2 * * *", every: "", zone: "UTC", skips: false });
  assert.deepEqual(writtenAs("every 24h0m0s anchor=2026-03-01T08:00:00Z zone=Europe/Berlin"), { cron: "", every: "24h0m0s", zone: "Europe/Berlin", skips: false });
  assert.deepEqual(writtenAs("at 2026-03-01T08:00:00.25Z zone=Europe/Berlin"), { cron: "", every: "", zone: "Europe/Berlin", skips: false });
  assert.equal(zoneOf("at 2026-11-28T12:00:00Z"), "UTC");
});

test("a text is a time on the clock of a zone, also where clocks change", () => {
  const is = (text: string, zone: string, late = false) => new Date(timeIn(text, zone, late)).toISOString();
  assert.equal(is("2026-11-28T12:00", "Europe/Berlin"), "2026-11-28T11:00:00.000Z");
  assert.equal(is("2026-07-01T00:00:05", "America/New_York"), "2026-07-01T04:00:05.000Z");
  assert.equal(is("2026-11-28T12:00", "Asia/Kathmandu"), "2026-11-28T06:15:00.000Z");
  assert.equal(is("2026-11-28T12:00", "UTC"), "2026-11-28T12:00:00.000Z");
  // In Berlin 02:30 comes twice on 2026-10-25, and not at all on 2026-03-29.
  assert.equal(is("2026-10-25T02:30", "Europe/Berlin"), "2026-10-25T00:30:00.000Z");
  assert.equal(is("2026-10-25T02:30", "Europe/Berlin", true), "2026-10-25T01:30:00.000Z");
  for (const late of [false, true]) assert.equal(is("2026-03-29T02:30", "Europe/Berlin", late), "2026-03-29T01:30:00.000Z");
  assert.equal(is("2026-03-29T01:59:59", "Europe/Berlin"), "2026-03-29T00:59:59.000Z");
  assert.equal(is("2026-03-29T03:00", "Europe/Berlin"), "2026-03-29T01:00:00.000Z");
  assert.equal(onClock(Date.parse("2026-03-29T01:30:00Z"), "Europe/Berlin"), "2026-03-29 03:30:00");
  assert.equal(onClock(Date.parse("2026-11-28T00:00:00Z"), "UTC"), "2026-11-28 00:00:00");
  assert.throws(() => timeIn("", "UTC"), /is no time/);
});

test("a wait without a limit is drawn from the end of the operation before it, in its own strand", () => {
  const journal = [entry({ path: "1", at: at(100) }), entry({ path: "2.1", at: at(300) }), entry({ path: "2", kind: "received", name: "go", message: "1", at: at(5000) }), entry({ path: "2.2", kind: "received", name: "stop", message: "2", at: at(6000) })];
  const all = lanes(journal, [message({ name: "go", at: at(4990) }), message({ seq: "2", name: "stop", at: at(5990) })], null);
  const wait = (name: string) => all.find((l) => l.name === name)?.bars.filter((b) => b.look === "wait").map((b) => [b.from - t0, b.to - t0]);
  assert.deepEqual(wait("go"), [[100, 5000]]);
  assert.deepEqual(wait("stop"), [[300, 6000]]);
  const [first] = lanes([entry({ path: "1", kind: "received", name: "go", message: "1", at: at(50) })], [message({ at: at(40) })], null);
  assert.deepEqual(first?.bars.map((b) => [b.look, b.from - t0]), [["wait", 40], ["mark", 50]]); // nothing was before it
});

test("what a run waits for now has a lane, and one only", () => {
  const timer = entry({ path: "1", name: "approved", kind: "timer", at: at(100), data: { until: at(60_000) } });
  const all = withWaits(lanes([timer], [], t0 + 5000), ["approved", "weather"], t0 + 200, t0 + 5000);
  assert.deepEqual(all.map((l) => [l.name, l.bars.map((b) => [b.look, b.from - t0])]), [["approved", [["open", 100]]], ["weather", [["open", 200]]]]);
  assert.deepEqual(withWaits([], ["x"], NaN, t0)[0]?.bars, []);
});

test("many children of one operation are one lane; few are not, nor those of others", () => {
  const child = (path: string, name = "page") => entry({ path, kind: "child", name, data: { id: path } });
  const many = Array.from({ length: 1000 }, (_, i) => child(`1.${i + 1}`));
  const few = Array.from({ length: 9 }, (_, i) => child(`2.${i + 1}`));
  const all = lanes([...many, ...few, child("3"), child("4", "other")], [], t0);
  const less = folded(all);
  assert.equal(all.length, 1011);
  assert.equal(less.length, 12);
  assert.deepEqual([less[0]?.name, less[0]?.path, less[0]?.bars.length, less[0]?.entries.length], ["page × 1,000", "1.*", 1000, 1000]);
});

// The layout of a run's timeline.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JournalEntry, JournalMessage } from "../src/api/schema";
import { fileOf, historyOf, spanOf } from "../src/run/file";
import { most, readOn, type All } from "../src/run/read";
import { gaps, lanes, scale, ticks, visible } from "../src/run/layout";

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
  for (const [text, says] of [["", "no JSON"], ["{", "no JSON"], ["7", "no list of entries"], ["null", "no list of entries"], ['{"entries":{}}', "no list of entries"], ['{"entries":[{"path":"1"}]}', "Entry 1 has no kind"], ['[null]', "Entry 1 has no kind"], ['{"entries":[],"messages":[1]}', "Message 1 has no kind"]] as const) {
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
});

// The pure parts: queries, events, charts, formats, places.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Frames, pause } from "../src/api/events";
import { parse, path, queryOf } from "../src/api/http";
import type { Queue, StatsPoint } from "../src/api/schema";
import { differences } from "../src/pages/audit";
import { attention, sums } from "../src/pages/overview";
import { attributeText } from "../src/pages/jobs";
import { completions, conditions, meant, valueOf, withValue } from "../src/pages/query";
import { stepsOf } from "../src/pages/run";
import { awaited, openCallbacks } from "../src/pages/signals";
import { endedOf } from "../src/pages/stats";
import { aheadBy } from "../src/state/clock";
import { placeOf } from "../src/state/route";
import { pickColumns } from "../src/ui/columns";
import { hold } from "../src/ui/hold";
import { linePath, nice, steps, top } from "../src/ui/chart";
import { duration, parseDuration, relative, shortID, time } from "../src/ui/format";

test("conditions of a query", () => {
  assert.deepEqual(conditions('state:failed  tag:"a b",c args.to:"x\\"y" '), ["state:failed", 'tag:"a b",c', 'args.to:"x\\"y"']);
  assert.deepEqual(conditions('kind:"open'), ['kind:"open']);
  assert.equal(valueOf('queue:"a b" kind:x', "queue"), "a b");
  assert.equal(withValue("state:failed kind:x", "state", "completed"), "kind:x state:completed");
  assert.equal(withValue("state:failed", "state", ""), "");
  assert.equal(withValue("", "queue", 'a "b"'), 'queue:"a \\"b\\""');
});

test("a word alone is a kind or a queue that there is", () => {
  const known = { kind: ["crm.sync"], queue: ["letters", "crm.sync"] };
  assert.equal(meant(" crm.sync ", known), "kind:crm.sync");
  assert.equal(meant("letters", known), "queue:letters");
  assert.equal(meant("acme", known), "acme");
  assert.equal(meant("state:failed", known), "state:failed");
  assert.equal(meant("01a21d58-2bd4-7e4e-a52f-7f2cf4ca2706", known), "id:01a21d58-2bd4-7e4e-a52f-7f2cf4ca2706");
  assert.equal(attributeText({ type: "keyword", text: "acme" }), "acme");
  assert.equal(attributeText({ type: "number", number: 10.5 }), "10.5");
  assert.equal(attributeText("plain"), "plain");
});

test("completion of a query", () => {
  const known = { queue: ["letters", "late mails"], kind: ["mail"] };
  assert.deepEqual(completions("st", known), ["state:"]);
  assert.deepEqual(completions("state:failed,ca", known), ["state:failed,cancelled "]);
  assert.deepEqual(completions("kind:x queue:la", known), ['kind:x queue:"late mails" ']);
  assert.deepEqual(completions("nothing:", known), []);
  assert.deepEqual(completions("attr.cu", { ...known, "attr.": ["customer", "amount"] }), ["attr.customer:"]);
  assert.deepEqual(completions("state:failed acme", known), ["kind", "queue", "tag"].map((name) => `state:failed ${name}:acme`));
  assert.ok(completions("", known).includes("args."));
});

test("a stream of events in any pieces has the same frames", () => {
  const text = ": hello\n\nid: 1\nevent: job\ndata: {\"a\":1}\n\nid:2\r\ndata: x\r\ndata:y\r\n\r\ndata: last\n\n";
  const whole = new Frames().push(text);
  assert.deepEqual(whole, [{ event: "job", id: "1", data: '{"a":1}' }, { event: "message", id: "2", data: "x\ny" }, { event: "message", data: "last" }]);
  for (let round = 0; round < 500; round++) {
    const frames = new Frames();
    const got = [];
    let rest = text;
    while (rest) {
      const n = 1 + Math.floor(Math.random() * 9);
      got.push(...frames.push(rest.slice(0, n)));
      rest = rest.slice(n);
    }
    assert.deepEqual(got, whole);
  }
});

test("who was cut off comes back later each time, and not all at once", () => {
  assert.ok(pause(0, 0) >= 250 && pause(0, 1) <= 500);
  assert.equal(pause(100, 1), 15_000);
  assert.ok(pause(3, 0) < pause(3, 1));
});

test("JSON keeps what it is; parameters that are empty are left out", () => {
  assert.deepEqual(parse('{"a":[1,"9007199254740993"]}'), { a: [1, "9007199254740993"] });
  assert.equal(queryOf({ a: "x y", b: "", c: null, d: undefined, e: ["1", "2"], f: true, g: () => 7 }), "?a=x+y&e=1&e=2&f=true&g=7");
  assert.equal(path`/queues/${"a/b c"}/pause`, "/queues/a%2Fb%20c/pause");
});

test("places below a base", () => {
  assert.equal(placeOf("http://h/jobs/queues/x?a=1", "http://h/jobs/").path, "/queues/x");
  assert.equal(placeOf("http://h/", "http://h/").path, "/");
  assert.equal(placeOf("http://h/jobs/", "http://h/").path, "/jobs");
});

test("charts: round tops, lines that break, steps in which nothing happened", () => {
  assert.deepEqual([0, 0.3, 1, 7, 23, 101, 5001].map(nice), [1, 0.5, 1, 10, 50, 200, 10_000]);
  const series = [{ name: "a", look: "one", values: [1, 2] }, { name: "b", look: "two", values: [3, null] }];
  assert.equal(top(series, true), 5);
  assert.equal(top(series, false), 5);
  assert.equal(linePath([1, null, 3, 4], 30, 10, 10), "M0.0 9.0h0.1M20.0 7.0L30.0 6.0");
  const { at, of } = steps([{ at: "2026-01-01T00:01:30Z" }], Date.parse("2026-01-01T00:00:00Z"), Date.parse("2026-01-01T00:03:00Z"), 60_000);
  assert.deepEqual([at.length, of.map((p) => !!p)], [4, [false, true, false, false]]);
});

test("durations and times", () => {
  assert.deepEqual([0, 0.017, 5, 1250, 12_340, 60_000, 3_725_000, 90_000_000, -5000].map(duration), ["0s", "17µs", "5ms", "1.25s", "12.3s", "1m", "1h 2m", "1d 1h", "−5s"]);
  assert.equal(duration(NaN), "–");
  for (const [text, ms] of [["1h30m", 5_400_000], ["32.356ms", 32.356], ["17µs", 0.017], ["1.5s", 1500], ["0s", 0]] as const) assert.ok(Math.abs(parseDuration(text) - ms) < 1e-9, text);
  assert.ok(Number.isNaN(parseDuration("soon")) && Number.isNaN(parseDuration(null)));
  assert.equal(relative(1000, 6500), "5s ago");
  assert.equal(relative(90_000, 0), "in 1m 30s");
  assert.equal(relative(100, 0), "now");
  assert.equal(time(Date.parse("2026-03-04T05:06:07.089Z"), true, true), "2026-03-04 05:06:07.089 UTC");
  assert.equal(shortID("01a21d58-2bd4-7e4e-a52f-7f2cf4ca2706"), "01a21d58…2706");
});

test("what needs a person, and what does not", () => {
  const at = Date.parse("2026-01-01T01:00:00Z");
  const queue = (q: Partial<Queue>): Queue => ({ attempts: {} as never, counts: {}, created_at: null, name: "q", namespace: "default", oldest_due: null, paused: false, paused_at: null, paused_by: null, rest_level: 0, rest_until: null, ...q });
  const node = { alive: true, leader: true, mode: "running", slots: 5, name: "n", id: "1", unwell: null, silent: false } as never;
  const calm = { queues: [queue({})], nodes: [node], led: true, died: [], diedMore: false, unserved: [], schedules: [], dead: [], at };
  assert.deepEqual(attention(calm), []);
  assert.deepEqual(attention({ ...calm, nodes: [{ ...(node as object), leader: false } as never] }), []); // one of another namespace leads
  assert.match(attention({ ...calm, led: false })[0]?.text ?? "", /No node leads/);
  const died = (ago: number) => ({ name: "vm", id: "7", ended_at: new Date(at - ago).toISOString() }) as never;
  assert.deepEqual(attention({ ...calm, died: [died(120_000), died(7_200_000)] }), [{ text: "Node vm died 2m ago; what it ran is run by others", to: "/nodes/7" }]);
  assert.deepEqual(attention({ ...calm, died: [1, 2, 3, 4].map((n) => died(n)) }).map((a) => a.text), ["4 nodes died in the last hour"]);
  assert.deepEqual(attention({ ...calm, diedMore: true }).map((a) => a.text), ["More than 200 nodes died in the last day"]);
  const unserved = (queue: string, kind: string, ago: number) => ({ queue, kind, version: "", known: false, oldest_due: new Date(at - ago).toISOString() }) as never;
  const lost = [unserved("mail", "b", 70_000), unserved("old", "c", 90_000), unserved("mail", "a", 80_000), unserved("new", "d", 1000)];
  assert.deepEqual(attention({ ...calm, unserved: lost }), [
    { text: "No node runs jobs of c, and queue old has due ones", to: "/queues/old" }, { text: "No node runs jobs of a, b, and queue mail has due ones", to: "/queues/mail" },
  ]);
  const many = attention({ ...calm, unserved: [1, 2, 3, 4, 5, 6].map((n) => unserved("q" + n, "k", 90_000)) });
  assert.deepEqual([many.length, many[4]], [5, { text: "2 more queues have due jobs that no node runs", to: "/queues" }]);
  const due = queue({ name: "mail", counts: { available: { jobs: 3, exact: true } }, oldest_due: "2026-01-01T00:50:00Z" });
  assert.match(attention({ ...calm, queues: [due] })[0]?.text ?? "", /mail has waited for 10m/);
  assert.match(attention({ ...calm, queues: [{ ...due, paused: true }] })[0]?.text ?? "", /paused, and has 3 due/);
  assert.deepEqual(attention({ ...calm, queues: [due], nodes: [] }).map((a) => a.to), ["/nodes", "/queues/mail"]);
  assert.deepEqual(sums([due, due]).available, { jobs: 6, exact: true });
});

test("differences of an entry of the audit", () => {
  assert.deepEqual(differences({ a: 1, b: [1] }, { a: 2, b: [1], c: null }), [["a", 1, 2], ["c", undefined, null]]);
  assert.deepEqual(differences(null, { a: 1 }), [["a", undefined, 1]]);
});

test("steps that a run tells, and signals that it waits for", () => {
  assert.deepEqual(stepsOf({ steps: [{ name: "a" }, 7, null, { state: "x" }] }), [{ name: "a", state: "", at: null, actions: [] }]);
  const odd = [{ name: "a", state: {}, finished_at: 7, actions: {} }, { name: {}, state: "x" }, { name: "b", actions: [null, 7, {}, { label: {}, signal: "go" }, { label: "Go", signal: "" }] }];
  assert.deepEqual(stepsOf(odd), [{ name: "a", state: "", at: null, actions: [] }, { name: "b", state: "", at: null, actions: [{ label: "go", signal: "go", payload: undefined }] }]);
  assert.equal(stepsOf(Array.from({ length: 5000 }, () => ({ name: "x" }))).length, 200);
  assert.deepEqual(stepsOf("nonsense"), []);
  assert.deepEqual(awaited({ wait: { for: { waits_for: ["signal approved", "child x", 7] } } } as never), ["approved"]);
  assert.deepEqual(awaited({ wait: null } as never), []);
  const entries = [{ kind: "callback", name: "hfc_1", data: { name: "bank" } }, { kind: "callback", name: "hfc_2", data: { hidden: "payloads:read" } }, { kind: "step", name: "x" }];
  assert.deepEqual(openCallbacks(entries as never, [{ kind: "callback", name: "hfc_1" }] as never), [{ name: "callback", token: "hfc_2" }]);
});

test("rows that are held stay in their order; what has changed in them is shown", () => {
  const row = (id: string, n = 0) => ({ id, n });
  const id = (r: { id: string }) => r.id;
  const held = hold([row("a"), row("b"), row("c")], [row("x"), row("c", 2), row("a", 1)], id);
  assert.deepEqual(held.rows, [row("a", 1), row("b"), row("c", 2)]);
  assert.deepEqual([...held.gone], ["b"]);
  assert.equal(held.more, 1);
  assert.deepEqual(hold([], [row("a")], id), { rows: [row("a")], gone: new Set(), more: 0 });
  assert.deepEqual(hold([row("a")], [], id), { rows: [row("a")], gone: new Set(["a"]), more: 0 });
});

test("columns as they were chosen; names that are not known are passed over", () => {
  const all = [{ name: "Kind" }, { name: "State" }, { name: "Key", off: true }];
  const names = (chosen?: string[]) => pickColumns(all, chosen).map((c) => c.name);
  assert.deepEqual(names(), ["Kind", "State"]);
  assert.deepEqual(names(["Key", "Kind"]), ["Key", "Kind"]);
  assert.deepEqual(names(["Gone", "State"]), ["State"]);
  assert.deepEqual(names(["Gone"]), ["Kind", "State"]);
  assert.deepEqual(names([]), ["Kind", "State"]);
});

test("the clock of the server, by the dates of its answers", () => {
  const date = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toUTCString();
  const t = Date.parse("2026-11-28T12:00:00.700Z");
  assert.equal(aheadBy(0, date(t), t - 20, t + 20), 0); // they agree
  const off = aheadBy(0, date(t + 300_000), t - 20, t + 20);
  assert.ok(off > 298_900 && off <= 300_020, String(off));
  assert.equal(aheadBy(off, date(t + 300_000), t - 9000, t + 9000), off); // a slow answer tells less
  const behind = aheadBy(0, date(t - 300_000), t - 20, t + 20);
  assert.ok(behind >= -300_020 - 1000 && behind < -298_900, String(behind));
  for (const wrong of [null, "", "yesterday"]) assert.equal(aheadBy(7, wrong, t, t), 7);
});

test("what has ended in queues: sums, and a value for each part of the hour", () => {
  const now = Date.parse("2026-11-28T12:02:00Z");
  const point = (queue: string | null, ago: number, completed: string, failed: string, other = false) =>
    ({ at: new Date(now - ago).toISOString(), queue, completed, failed, other }) as StatsPoint;
  const all = endedOf([point("a", 0, "5", "1"), point("a", 600_000, "10", "0"), point("b", 0, "0", "2"), point(null, 0, "9", "9", true)], now);
  assert.deepEqual([...all.keys()], ["a", "b"]);
  assert.deepEqual([all.get("a")?.total, all.get("a")?.failed, all.get("b")?.total], [16, 1, 2]);
  assert.equal(all.get("a")?.of.length, 13);
  assert.deepEqual(all.get("a")?.of.filter(Boolean).map((p) => p?.completed), ["10", "5"]);
});

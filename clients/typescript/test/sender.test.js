/** Outcomes behind something that refuses some of them. */

import assert from "node:assert/strict";
import test from "node:test";
import { Sender } from "../src/sender.js";
import { Transport } from "../src/transport.js";
import { eventually } from "../testing/server.js";

/**
 * Returns a sender that sends until the end of a test, what it has sent, and whose outcomes were
 * answered. refused has the status with which a text is refused.
 * @param {import("node:test").TestContext} t
 * @param {Record<string, number>} refused
 */
function sending(t, refused) {
  const warn = t.mock.method(console, "warn", () => {});
  /** @type {any[][]} */
  const sent = [];
  /** @type {string[]} */
  const answered = [];
  const through = async (/** @type {any} */ _url, /** @type {any} */ init) => {
    const { outcomes } = JSON.parse(init.body);
    sent.push(outcomes);
    const found = Object.entries(refused).find(([text]) => init.body.includes(text));
    if (found) return new Response("<html>", { status: found[1] });
    return new Response(JSON.stringify({ runs: outcomes.map(() => ({ ended: {}, error: null })) }));
  };
  const transport = new Transport("http://127.0.0.1:1", "t", 1000, /** @type {any} */ (through));
  const over = new AbortController();
  const worker = {
    over: over.signal,
    answeredBeats: 0,
    call: (/** @type {string} */ path, /** @type {any} */ how) => transport.call("POST", path, how),
    repeat: (/** @type {any} */ make, /** @type {AbortSignal} */ until) => transport.repeat(make, { until }),
  };
  const sender = new Sender(/** @type {any} */ (worker), (run) => answered.push(run.lease));
  /** @param {string} lease @param {string} error */
  const add = (lease, error) => {
    const run = { lease, id: lease, lost: false };
    sender.add(/** @type {any} */ (run), { do: "fail", error, kind: error, permanent: true });
    return run;
  };
  const begin = () => {
    const ended = sender.send();
    t.after(async () => {
      over.abort();
      sender.end();
      await ended;
    });
  };
  /** @param {string} lease what was sent of a run by itself */
  const of = (lease) => sent.filter((some) => some.length === 1 && some[0].lease === lease).map(([one]) => one);
  const warned = () => warn.mock.calls.map((call) => String(call.arguments[0]));
  return { add, begin, of, sent, answered, worker, warned, refused };
}

test("what a firewall lets through is stored; while it is not known that the server is there nothing is given up", async (t) => {
  const { add, begin, of, sent, answered, worker, warned } = sending(t, { evil: 403 });
  add("a", "good");
  add("b", "evil");
  add("c", "good");
  begin();
  await eventually("others were sent", () => answered.length === 2);
  assert.deepEqual([answered, sent.slice(0, 4).map((some) => some.length)], [["a", "c"], [3, 1, 1, 1]]);
  assert.ok(sent.slice(1).every((some) => some.every((one) => one.repeat)));
  add("d", "good");
  await eventually("one that comes later was sent", () => answered.includes("d"));
  await eventually("it was sent again", () => of("b").length >= 5);
  worker.answeredBeats += 1;
  const times = of("b").length;
  await eventually("one beat was answered", () => of("b").length >= times + 2);
  assert.ok(!answered.includes("b") && of("b").every((one) => one.error === "evil"));
  worker.answeredBeats += 1;
  await eventually("it was replaced", () => answered.includes("b"));
  const said = of("b").at(-1);
  assert.ok(!JSON.stringify(said).includes("evil"));
  assert.match(said.error, /^the outcome \(fail\) was refused: what answers at 127.0.0.1:1 is not Holdfast: it answers 403; what/);
  assert.deepEqual([said.do, said.permanent, warned().length], ["fail", true, 1]);
});

test("a replacement that a firewall refuses is given up as it was made: not before beats were answered", async (t) => {
  const { add, begin, of, answered, worker, warned } = sending(t, { lease: 200 });
  add("b", "evil");
  begin();
  await eventually("it was sent again", () => of("b").length >= 2);
  worker.answeredBeats += 2;
  await eventually("it was replaced", () => of("b").at(-1).error !== "evil");
  assert.ok(of("b").filter((one) => one.error === "evil").length >= 3);
  await eventually("that was sent again", () => of("b").length >= 7);
  assert.deepEqual(answered, []);
  worker.answeredBeats += 2;
  await eventually("it was given up", () => answered.length === 1);
  assert.match(warned().at(-1) ?? "", /the outcome of job b was refused, and its run is given up: what answers at/);
});

test("a server that is away says nothing about an outcome, however often and whatever beats say", async (t) => {
  const { add, begin, of, answered, worker, refused } = sending(t, { evil: 502 });
  add("b", "evil");
  begin();
  for (let times = 2; times < 7; times++) {
    await eventually("it was sent again", () => of("b").length >= times);
    worker.answeredBeats += 1;
  }
  delete refused.evil;
  await eventually("it was stored", () => answered.length === 1);
  assert.ok(of("b").every((one) => one.error === "evil"));
});

test("the outcome of a run that is lost is not sent again", async (t) => {
  const { add, begin, of, answered } = sending(t, { evil: 403 });
  const run = add("b", "evil");
  begin();
  await eventually("it was sent again", () => of("b").length >= 2);
  run.lost = true;
  await eventually("it was given up", () => answered.length === 1);
});

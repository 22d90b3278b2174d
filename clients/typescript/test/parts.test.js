import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Client, kind, Invalid, RetryAfter, Snooze, Unauthenticated, Unavailable, Worker } from "holdfast";
import { durationText, milliseconds, parseTime, rest, timeText } from "../src/clock.js";
import { jobBody, newId } from "../src/jobs.js";
import { Transport } from "../src/transport.js";
import { checked } from "../src/values.js";

test("durations", () => {
  for (const [text, ms] of /** @type {const} */ ([
    ["0", 0],
    ["1h2m3.5s", 3_723_500],
    ["250ms", 250],
    ["7us", 7e-3],
    ["0s", 0],
  ])) {
    assert.ok(Math.abs(milliseconds(text) - ms) < 1e-9, text);
  }
  assert.equal(durationText(12.345), "12345us");
  assert.equal(durationText("2s"), "2000000us");
  for (const wrong of ["", "5", "-1s", "1 s", "1d", -1, NaN, Infinity]) {
    assert.throws(() => milliseconds(wrong), TypeError, String(wrong));
  }
});

test("times", () => {
  assert.equal(parseTime("2000-01-01T00:00:00.108169214Z"), Date.UTC(2000, 0, 1) + 108.169214);
  assert.equal(parseTime("2000-01-01T02:00:00+02:00"), Date.UTC(2000, 0, 1));
  assert.equal(timeText(Date.UTC(2026, 10, 28) + 0.25), "2026-11-28T00:00:00.000250Z");
  assert.equal(timeText(Date.UTC(2026, 10, 28) + 999.9999), "2026-11-28T00:00:01.000000Z");
  assert.throws(() => parseTime("2000-01-01"), TypeError);
});

test("a wait that is longer than a timer of Node may be does not end at once", async () => {
  const stop = new AbortController();
  let ended = false;
  const waits = rest(2 ** 31 + 1000, stop.signal).then(() => (ended = true));
  await rest(20);
  assert.equal(ended, false);
  stop.abort();
  await waits;
});

test("ids grow, and are of version 7", async () => {
  const before = newId();
  await rest(2);
  const after = newId();
  assert.ok(before < after);
  assert.match(after, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("options are written as the API names them", () => {
  const at = new Date("2030-01-01T00:00:00Z");
  const { id, ...body } = jobBody(kind("mail"), null, {
    runAt: at,
    timeout: 1500,
    backoff: { base: 1, cap: "1s" },
    unique: { key: "a", maxDelay: 1, onConflict: "replace" },
    after: [{ job: "j", ifFailed: "run" }],
    followUps: [{ on: "any", job: { kind: "next", args: 1, maxAttempts: 2 } }],
    metadata: { camelCase: undefined, keptAsIs: 1 },
    tags: undefined,
  });
  assert.equal(id.length, 36);
  assert.deepEqual(body, {
    kind: "mail",
    args: null,
    run_at: "2030-01-01T00:00:00.000Z",
    timeout: "1500000us",
    backoff: { base: "1000us", cap: "1000000us" },
    unique: { key: "a", max_delay: "1000us", on_conflict: "replace" },
    after: [{ job: "j", if_failed: "run" }],
    follow_ups: [{ on: "any", job: { kind: "next", args: 1, max_attempts: 2 } }],
    metadata: { camelCase: undefined, keptAsIs: 1 },
  });
  /** @type {any[]} */
  const wrong = [
    { colour: "red" },
    { toString: 1 },
    { unique: { colour: 1 } },
    { runAt: "soon" },
    { runAt: new Date(NaN) },
    { backoff: 1 },
  ];
  for (const options of wrong) assert.throws(() => jobBody("mail", 1, options), TypeError, JSON.stringify(options));
});

test("values", () => {
  assert.deepEqual(checked(undefined, "it"), { value: null, size: 4 });
  assert.deepEqual(checked({ at: new Date(0), no: undefined }, "it").value, { at: "1970-01-01T00:00:00.000Z" });
  const loop = {};
  Object.assign(loop, { loop });
  for (const wrong of [NaN, [Infinity], 1n, { call() {} }, Symbol("s"), loop, "x".repeat(2 << 20)]) {
    assert.throws(() => checked(wrong, "it"), { name: "Permanent" });
  }
});

test("what is said about a job is checked where it is said", () => {
  assert.equal(new Snooze("1s").when, 1000);
  assert.equal(new RetryAfter(5).after, 5);
  for (const wrong of [-1, NaN, "soon", new Date(NaN)]) assert.throws(() => new Snooze(wrong), TypeError);
  assert.throws(() => new RetryAfter(-1), TypeError);
});

test("misuse of clients and workers", async () => {
  for (const url of ["ftp://127.0.0.1", "127.0.0.1:1", "http://user:secret@127.0.0.1:1"]) {
    assert.throws(() => new Client({ url, token: "t" }), TypeError, url);
  }
  const client = new Client({ url: "http://127.0.0.1:1", token: "t" });
  for (const slots of [0, 1.5, 1001]) assert.throws(() => new Worker(client, { slots }), RangeError);
  const worker = new Worker(client);
  await assert.rejects(worker.run(), /needs a handler/);
  worker.handle("mail", () => 1);
  assert.throws(() => worker.function("mail", () => 1), /has a handler/);
  assert.throws(() => worker.handle("", () => 1), TypeError);
});

/**
 * A server that gives these answers, one after the other.
 * @param {(Response | Error)[]} answers
 */
function answering(...answers) {
  /** @type {{ url: string, init: RequestInit }[]} */
  const asked = [];
  const through = async (/** @type {any} */ url, /** @type {any} */ init) => {
    asked.push({ url, init });
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer ?? new Error("it is asked too often");
  };
  return { asked, through };
}

test("requests are repeated while no server answers, and say that they are", async () => {
  const broken = new TypeError("fetch failed", { cause: new Error("ECONNRESET") });
  const away = () => new Response(JSON.stringify({ code: "unavailable", detail: "stopping" }), { status: 503 });
  const busy = () => new Response("", { status: 429, headers: { "Retry-After": "1" } });
  const { asked, through } = answering(broken, away(), new Response("<html>"), busy(), new Response('{"a":1}'));
  const tokens = ["first", "second", "third", "fourth", "fifth"];
  const transport = new Transport(
    "http://127.0.0.1:1/under/",
    () => tokens.shift() ?? "",
    1000,
    /** @type {any} */ (through),
  );
  /** @type {boolean[]} */
  const repeats = [];
  const began = performance.now();
  const answer = await transport.repeat((again) => {
    repeats.push(again);
    return transport.call("POST", "/jobs", { body: { a: 1 }, query: { namespace: "a b" } });
  });
  assert.deepEqual(answer, { a: 1 });
  assert.deepEqual(repeats, [false, true, true, true, true]);
  assert.ok(performance.now() - began >= 990, "it waits as long as it is asked to");
  assert.equal(asked[0]?.url, "http://127.0.0.1:1/under/api/v1/jobs?namespace=a+b");
  assert.equal(/** @type {any} */ (asked[4]?.init.headers).Authorization, "Bearer fifth");
});

test("a wait for a server ends by its time, and by its signal", async () => {
  const transport = new Transport("http://127.0.0.1:1", "t", 1000, async () => {
    throw new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") });
  });
  const make = () => transport.call("GET", "/jobs");
  await assert.rejects(transport.repeat(make, { within: 200 }), Unavailable);
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 50);
  await assert.rejects(transport.repeat(make, { until: stop.signal }), Unavailable);
});

test("a credential that is not accepted for a moment is no end for who waits for it", async () => {
  const transport = new Transport("http://127.0.0.1:1", "t", 1000);
  let made = 0;
  const make = async () => {
    made += 1;
    if (made < 3) throw new Unauthenticated("no such key", { status: 401 });
    return "done";
  };
  /** @type {string[]} */
  const said = [];
  assert.equal(await transport.repeat(make, { refused: 60_000, say: (text) => said.push(text) }), "done");
  assert.deepEqual(said.map((text) => text.endsWith("no such key")), [true]); // once, and not each time
  for (const refused of [0, 100]) {
    made = -1000;
    await assert.rejects(transport.repeat(make, { refused }), Unauthenticated);
  }
});

test("an answer that does not come is cut off, and a redirect is not followed", async () => {
  const silent = /** @type {any} */ (
    (/** @type {any} */ _url, /** @type {any} */ { signal }) =>
      new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason));
      })
  );
  const transport = new Transport("http://127.0.0.1:1", "t", 50, silent);
  await assert.rejects(
    transport.call("GET", "/jobs"),
    (error) => error instanceof Unavailable && /within 0.05 s/.test(error.message),
  );
  const reason = new Error("not wanted any more");
  await assert.rejects(transport.call("GET", "/jobs", { signal: AbortSignal.abort(reason) }), reason);
  const { through } = answering(new Response(null, { status: 302, headers: { Location: "http://elsewhere.example" } }));
  const redirected = new Transport("http://127.0.0.1:1", "t", 1000, /** @type {any} */ (through));
  await assert.rejects(redirected.call("POST", "/jobs"), Invalid);
});

test("the types of the durable function in the README are checked", () => {
  const read = (/** @type {string} */ file) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
  const told = read("README.md").split("```ts\n")[1]?.split("```")[0] ?? "";
  assert.ok(told.length > 100);
  assert.ok(read("types/readme.ts").endsWith(`\n\n${told}`));
});

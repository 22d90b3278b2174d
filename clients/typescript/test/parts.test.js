import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { Client, Forbidden, kind, Invalid, LeaseLost, NotFound, RetryAfter, Snooze } from "holdfast";
import { Unauthenticated, Unavailable, Worker } from "holdfast";
import { durationText, milliseconds, parseTime, rest, timeText } from "../src/clock.js";
import { ofProblem } from "../src/errors.js";
import { Context } from "../src/durable.js";
import { childBody, jobBody, newId } from "../src/jobs.js";
import { Run } from "../src/run.js";
import { Transport } from "../src/transport.js";
import { checked, kindOf, plainText, stackOf, words } from "../src/values.js";

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
  assert.equal(milliseconds("2562047h47m16.854775807s"), 2 ** 63 / 1e6); // the longest that a server says
  for (const wrong of ["", "5", "-1s", "1 s", "1d", -1, NaN, Infinity, 1e300, "9999999h"]) {
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

test("values that no server stores are refused where they are made", () => {
  const half = "😀".slice(0, 1);
  for (const [wrong, message] of /** @type {const} */ ([
    ["a\0b", /^it has a text with the NUL character, which no server stores$/],
    [{ "\0": 1 }, /NUL/],
    ["\\\0", /NUL/],
    [half, /half of a surrogate pair/],
    [{ a: [{ ["\udc00"]: 1 }] }, /half of a surrogate pair/],
    [nested(201), /nested more than 200 deep/],
    [{ a: nested(200) }, /nested more than 200 deep/],
  ])) {
    assert.throws(() => checked(wrong, "it"), { name: "Permanent", message });
  }
  const flat = Array.from({ length: 500 }, () => [{}]);
  for (const right of ["\\u0000", "\\\\u0000 \\ud800", "😀", nested(200), flat, "[".repeat(300), '"' + "{".repeat(300)]) {
    assert.deepEqual(checked(right, "it").value, right);
  }
});

/** @param {number} depth */
function nested(depth) {
  /** @type {unknown} */
  let value = 0;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

test("whatever is thrown has words, a kind and a stack, which are texts", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const changed = (/** @type {object} */ fields) => Object.assign(new Error("x"), fields);
  const none = Object.create(null);
  const strange = [proxy, none, undefined, Symbol("s"), changed({ message: none }), changed({ message: { a: 1 } })];
  strange.push(changed({ name: none }), changed({ stack: none }), changed({ constructor: { name: none } }));
  for (const thrown of strange) {
    for (const told of [words(thrown), kindOf(thrown), stackOf(thrown), plainText(words(thrown), 10)]) {
      assert.equal(typeof told, "string");
    }
  }
  assert.equal(words(changed({ message: { toString: () => "own words" } })), "own words");
});

test("what is said about a job is checked where it is said", () => {
  assert.equal(new Snooze("1s").when, 1000);
  assert.equal(new RetryAfter(5).after, 5);
  for (const wrong of [-1, NaN, "soon", new Date(NaN)]) assert.throws(() => new Snooze(wrong), TypeError);
  for (const wrong of [-1, 1e300]) assert.throws(() => new RetryAfter(wrong), TypeError);
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

test("options that are wrong are refused where they are given, and the error says what is meant", async () => {
  const at = /** @type {any} */ ({ url: "http://127.0.0.1:1", token: "t" });
  const client = /** @type {any} */ (new Client(at));
  const job = client.job("j");
  /** @param {any} options */
  const worker = (options) => new Worker(client, options);
  /** @type {Record<string, any>} */
  const run = new Run(/** @type {any} */ ({}), /** @type {any} */ ({}));
  const context = /** @type {any} */ (new Context(/** @type {any} */ (run)));
  /** @type {[(given: any) => unknown, any, RegExp][]} */
  const cases = [
    [(given) => new Client(given), "http://127.0.0.1:9999", /^a Client takes an object such as { url: … }; what was given is of type String$/],
    [(given) => new Client(given), new URL("http://127.0.0.1:1"), /is of type URL$/],
    [(given) => new Client(given), { ...at, uri: 1 }, /^a Client has no option uri; it has url, token, namespace, timeout, fetch$/],
    [(given) => new Client(given), { ...at, url: 9999 }, /^url is 9999; it takes the URL of a server$/],
    [(given) => new Client(given), { ...at, token: ["secret"] }, /^token is of type Array; it takes a text or a function$/],
    [worker, 3, /^a Worker takes an object such as { slots: … }; what was given is of type Number$/],
    [worker, { slot: 3 }, /^a Worker has no option slot; it has slots, /],
    [worker, { slots: "3" }, /^slots is "3"; it takes a number$/],
    [worker, { queues: "mails" }, /^queues is "mails"; it takes an array of texts$/],
    [(given) => new Worker(given), { slots: 3 }, /^a Worker takes a Client first/],
    [(given) => new Worker(client).run(given), false, /^run takes an object such as { signals: … }/],
    [(given) => client.list(given), "state:failed", /^list takes an object such as { query: … }; what was given is of type String$/],
    [(given) => client.list(given), { limit: "5" }, /^limit is "5"; it takes a number$/],
    [(given) => client.list(given), { state: ["failed"] }, /^state is of type Array; it takes a text or a number$/],
    [(given) => client.enqueue("mail", 1, given), "mails", /^an enqueue takes an object such as { queue: … }/],
    [(given) => client.enqueue("mail", 1, given), { queue: 1 }, /^queue is 1; it takes a text$/],
    [(given) => client.enqueue("mail", 1, given), { unique: true }, /^unique takes an object such as { key: … }/],
    [(given) => client.enqueue("mail", 1, given), { after: { job: "j" } }, /^after is of type Object; it takes an array$/],
    [(given) => client.enqueueMany([given]), { kind: "mail", colour: 1 }, /^a job of enqueueMany has no option colour/],
    [(given) => client.enqueueMany([given]), "mail", /^a job of enqueueMany takes an object such as { kind: … }/],
    [(given) => client.enqueueMany(given), { kind: "mail" }, /iterable/],
    [(given) => job.result(given), 1000, /^a wait for a result takes an object such as { timeout: … }; what was given is of type Number$/],
    [(given) => job.result(given), { signal: 9 }, /^signal is 9; it takes an AbortSignal$/],
    [(given) => job.signal("approved", 1, given), "key", /^a signal takes an object such as { key: … }/],
    [(given) => run.progress(given), 50, /^progress takes an object such as { percent: … }; what was given is of type Number$/],
    [(given) => context.progress(given), { value: 1 }, /^progress has no option value/],
    [(given) => context.step("s", () => 1, given), { attempt: 5 }, /^a step has no option attempt; it has attempts, /],
    [(given) => context.step("s", () => 1, given), { backoff: "soon" }, /^backoff is "soon"; it takes milliseconds/],
    [(given) => context.waitSignal("s", given), "72h", /^a wait for a signal takes an object such as { timeout: … }/],
    [(given) => context.child("ship", 1, given), { key: "a" }, /^a child has no option key/],
    [(given) => context.child("ship", 1, given), { onClose: 1 }, /^onClose is 1; it takes a text$/],
  ];
  for (const [take, given, message] of cases) {
    await assert.rejects(async () => take(given), { name: "TypeError", message }, JSON.stringify(given));
  }
});

test("options that are undefined are none", () => {
  const client = new Client({ url: new URL("http://127.0.0.1:1"), token: "t", namespace: undefined, fetch: undefined });
  assert.equal(/** @type {any} */ (client).transport.host, "127.0.0.1:1");
  assert.equal(new Worker(client, { slots: undefined, stopTimeout: "10s" }).slots, 10);
  assert.deepEqual(childBody("ship", { onClose: "abandon", maxAttempts: 2, delay: undefined }), {
    kind: "ship",
    on_close: "abandon",
    max_attempts: 2,
  });
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
  const { asked, through } = answering(new Response(null, { status: 302, headers: { Location: "http://else.example" } }));
  const redirected = new Transport("http://127.0.0.1:1", "t", 1000, /** @type {any} */ (through));
  await assert.rejects(redirected.call("POST", "/jobs"), {
    name: "Unavailable",
    message: "what answers at 127.0.0.1:1 is not Holdfast: it answers 302, and sends to http://else.example",
  });
  assert.equal(asked.length, 1);
});

test("a function that gives no token is a server that is away, for as long as it gives none", async () => {
  const out = new Error("the identity provider is away");
  const gives = [() => Promise.reject(out), () => { throw out; }, () => 7, () => "two\nlines", () => "a token\n"]; // prettier-ignore
  const { asked, through } = answering(new Response("{}"));
  const given = /** @type {any} */ (() => gives.shift()?.());
  const transport = new Transport("http://127.0.0.1:1", given, 60_000, /** @type {any} */ (through));
  const make = () => transport.call("GET", "/jobs");
  await assert.rejects(make(), { name: "Unavailable", cause: out, message: /has failed: the identity provider is away$/ });
  assert.deepEqual(await transport.repeat(make), {});
  assert.deepEqual([asked.length, gives.length], [1, 0]);
  const silent = new Transport("http://127.0.0.1:1", () => new Promise(() => {}), 50, /** @type {any} */ (through));
  await assert.rejects(silent.call("GET", "/jobs"), {
    name: "Unavailable",
    message: "the function that gives the token has failed: no answer within 0.05 s",
  });
  const reason = new Error("not wanted any more");
  await assert.rejects(silent.call("GET", "/jobs", { signal: AbortSignal.abort(reason) }), reason);
});

test("an answer that is not as Holdfast's own is none, and who asks from the beginning is told that", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const foreign = ["", "<html>", "null", "1", '"ok"', "[]", '{"status":"ok"}', '{"jobs":{},"mode":"run"}'];
  const answers = foreign.map((text) => new Response(text));
  const { through } = answering(...answers, new Response('{"jobs":[],"mode":"run"}'), new Response("<html>"));
  const transport = new Transport("http://127.0.0.1:1", "t", 1000, /** @type {any} */ (through));
  const make = () => transport.call("POST", "/poll", { has: { jobs: "array", mode: "string" } });
  for (const text of foreign) {
    await assert.rejects(make(), (error) => error instanceof Unavailable && error.isForeign, text);
  }
  assert.equal(warn.mock.callCount(), 0); // it is told by who repeats
  assert.deepEqual(await make(), { jobs: [], mode: "run" });
  await assert.rejects(transport.repeat(make, { within: 0 }), /not Holdfast: it answers 200 without an object of JSON/);

  const wrong = answering(new Response("<html>", { status: 403 }), new Response("", { status: 400 }), new Response("{}"));
  const client = new Transport("http://127.0.0.1:1", "t", 1000, /** @type {any} */ (wrong.through));
  assert.deepEqual(await client.repeat(() => client.call("GET", "/jobs")), {});
  assert.deepEqual(warn.mock.calls.map((call) => call.arguments[0]), [
    "holdfast: a request to the server has failed, and is repeated: what answers at 127.0.0.1:1 is not Holdfast: it answers 403",
  ]); // prettier-ignore
});

test("the types of the durable function in the README are checked", () => {
  const read = (/** @type {string} */ file) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");
  const told = read("README.md").split("```ts\n")[1]?.split("```")[0] ?? "";
  assert.ok(told.length > 100);
  assert.ok(read("types/readme.ts").endsWith(`\n\n${told}`));
});

test("what stands before servers that are being replaced is no answer of theirs", () => {
  for (const [status, problem, Kind] of /** @type {const} */ ([
    [404, {}, Unavailable],
    [405, {}, Unavailable],
    [404, { code: "not_found", detail: "no such job" }, NotFound],
    [401, {}, Unauthenticated],
    [401, { code: "unauthenticated" }, Unauthenticated],
    [307, {}, Unavailable],
    [400, {}, Unavailable],
    [400, { code: "invalid" }, Invalid],
    [403, {}, Unavailable],
    [403, { code: 403, message: "forbidden" }, Unavailable],
    [403, { code: "AccessDenied" }, Unavailable],
    [403, { code: "forbidden" }, Forbidden],
    [409, {}, Unavailable],
    [409, { code: "lease_lost" }, LeaseLost],
    [413, {}, Invalid],
    [413, { code: "too_large" }, Invalid],
    [421, {}, Unavailable],
    [499, {}, Unavailable],
    [502, {}, Unavailable],
  ])) {
    assert.equal(ofProblem(status, problem).constructor, Kind, `${status} ${JSON.stringify(problem)}`);
  }
});

test("the message has what is wrong where, as far as the detail does not say it", () => {
  /**
   * @param {string} detail
   * @param {any} errors
   */
  const told = (detail, errors) => ofProblem(422, { code: "invalid", detail, errors }).message;
  const short = { pointer: "/kind", detail: "expected length >= 1" };
  assert.equal(
    told("validation failed", [short, { pointer: "", detail: "it is odd" }]),
    "validation failed: /kind: expected length >= 1; it is odd",
  );
  assert.equal(told("/kind: expected length >= 1", [short]), "/kind: expected length >= 1");
  const many = Array.from({ length: 7 }, (_, n) => ({ pointer: `/${n}`, detail: "no" }));
  assert.equal(
    told("validation failed", many),
    "validation failed: /0: no; /1: no; /2: no; /3: no; /4: no; and 2 more",
  );
  for (const strange of ["text", 1, null, [1, null], [{}]]) assert.equal(told("no", strange), "no");
});

test("who has given no token is told that, and who has given a wrong one is not", async () => {
  for (const [token, message] of /** @type {const} */ ([
    ["", /HOLDFAST_TOKEN is not set/],
    ["wrong", /^no valid credential$/],
  ])) {
    const refusal = JSON.stringify({ code: "unauthenticated", detail: "no valid credential" });
    const { through } = answering(new Response(refusal, { status: 401 }));
    const transport = new Transport("http://127.0.0.1:1", token, 1000, /** @type {any} */ (through));
    await assert.rejects(transport.call("GET", "/jobs"), { name: "Unauthenticated", message });
  }
});

test("a retry whose answer was lost is repeated as the same request", async () => {
  /** @type {(string | undefined)[]} */
  const keys = [];
  const server = createServer((request, response) => {
    if (request.method === "GET") {
      response.end('{"id":"j","state":"failed"}');
    } else if (keys.push(String(request.headers["idempotency-key"])) === 1) {
      request.socket.destroy();
    } else {
      response.writeHead(409).end('{"code":"answer_not_kept","detail":"it was done"}');
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", () => done(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  const client = new Client({ url: `http://127.0.0.1:${address.port}`, token: "t" });
  assert.equal((await client.retry("j")).state, "failed");
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.notEqual(keys[0], "undefined");
});

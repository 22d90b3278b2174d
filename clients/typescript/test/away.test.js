/** What stands before servers, servers that do not answer, and ends of workers that do not wait for these. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { Client, Permanent, Worker } from "holdfast";
import { eventually, program, serve, TOKEN, works } from "../testing/server.js";

const { server, client } = await serve();

/**
 * Returns a worker whose requests go through a function.
 * @param {(url: string, init: any) => Promise<Response>} through
 * @param {import("holdfast").WorkerOptions} [options]
 */
function through(through, options) {
  const url = server.url;
  return new Worker(new Client({ url, token: TOKEN, fetch: /** @type {any} */ (through) }), options);
}

/** @param {unknown} body @param {number} [status] */
const answer = (body, status = 200) => new Response(JSON.stringify(body), { status });

/**
 * Answers of load balancers and other things before servers, which say nothing about a request.
 * @type {[number, string][]}
 */
const FOREIGN = [
  ...[302, 307, 400, 403, 404, 405, 409, 412, 421, 422, 499].map(html),
  [403, '{"kind":"Status","code":403,"message":"forbidden"}'],
  [200, ""],
  [200, "<html>maintenance"],
  [200, '{"status":"ok"}'],
  [200, '{"runs":[],"jobs":null,"entries":{}}'],
  [401, "<html>"],
];

/** @param {number} status @returns {[number, string]} */
function html(status) {
  return [status, "<html>"];
}

for (const [status, text] of FOREIGN) {
  test(`a foreign answer ends no worker, and undoes nothing: ${status} ${text}`, async (t) => {
    const warn = t.mock.method(console, "warn", () => {});
    /** @type {Map<string, number>} how often each kind of request was answered by something else */
    const answered = new Map();
    const worker = through(async (url, init) => {
      const what = /(workers|poll|beat|journal|progress|runs)($|\?)/.exec(url)?.[1] ?? "";
      const times = answered.get(what) ?? 0;
      if (times < 2 && init.method === "POST") {
        answered.set(what, times + 1);
        return new Response(text, { status });
      }
      if (what !== "workers") return fetch(url, init);
      const made = /** @type {object} */ (await (await fetch(url, init)).json());
      return answer({ ...made, beat_every: "20ms" }, 201);
    }, { deadAfter: "1m" }); // prettier-ignore
    const kind = `foreign${status}-${text.length}`;
    let effects = 0;
    worker.function(kind, async (context) => {
      await context.step("acts", async () => {
        effects += 1;
        await context.progress({ percent: 1 });
        await eventually("beats were answered", () => answered.get("beat") === 2);
      });
      return "done";
    });
    works(t, worker);
    const job = await client.enqueue(kind, null, { maxAttempts: 1 });
    assert.equal(await job.result({ timeout: "1m" }), "done");
    assert.deepEqual([effects, (await job.get()).attempt], [1, 1]);
    assert.deepEqual(Object.fromEntries(answered), { workers: 2, poll: 2, beat: 2, journal: 2, progress: 2, runs: 2 });
    assert.ok(warn.mock.callCount() > 0);
  });
}

test("a plain outcome that something else has answered is sent again, and not replaced", async (t) => {
  t.mock.method(console, "warn", () => {});
  /** @type {string[]} */
  const sent = [];
  const worker = through(async (url, init) => {
    if (!url.endsWith("/runs")) return fetch(url, init);
    sent.push(JSON.parse(init.body).outcomes[0].do);
    return sent.length < 4 ? new Response("<html>", { status: 400 }) : fetch(url, init);
  });
  worker.handle("answered", () => "done");
  works(t, worker);
  assert.equal(await (await client.enqueue("answered")).result({ timeout: "1m" }), "done");
  await eventually("it is sent", () => sent.length === 4);
  assert.deepEqual(sent, ["complete", "complete", "complete", "complete"]);
});

test("an outcome that is too large for what stands before the server keeps no others", async (t) => {
  t.mock.method(console, "warn", () => {});
  const worker = through((url, init) => {
    const isTooLarge = url.endsWith("/runs") && init.body.length > 20_000;
    return isTooLarge ? Promise.resolve(new Response("<html>", { status: 413 })) : fetch(url, init);
  });
  worker.handle("large", () => "a".repeat(30_000));
  worker.handle("small", () => "done");
  works(t, worker);
  const large = await client.enqueue("large", null, { maxAttempts: 1 });
  const small = await client.enqueue("small");
  assert.equal(await small.result({ timeout: "1m" }), "done");
  await assert.rejects(large.result({ timeout: "1m" }), /the outcome \(complete\) was refused: the server answered 413/);
});

test("an outcome that a firewall refuses is taken as refused once a beat was answered meanwhile", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const worker = through((url, init) => {
    const isRefused = url.endsWith("/runs") && init.body.includes("<script>");
    return isRefused ? Promise.resolve(new Response("<html>blocked", { status: 403 })) : fetch(url, init);
  }, { slots: 3, deadAfter: "2s" }); // prettier-ignore
  worker.handle("returns", (_, args) => args);
  worker.handle("raises", (_, args) => {
    throw new Permanent(args);
  });
  works(t, worker);
  const returned = await client.enqueue("returns", "<script>", { maxAttempts: 1 });
  const raised = await client.enqueue("raises", "<script>");
  for (let n = 0; n < 5; n++) {
    assert.equal(await (await client.enqueue("returns", n)).result({ timeout: "1m" }), n);
  }
  const [complete, fail] = [
    /the outcome \(complete\) was refused: what answers at .* 403$/,
    /the outcome \(fail\) was refused: .* 403; what the error said is left out/,
  ];
  await assert.rejects(returned.result({ timeout: "1m" }), complete);
  await assert.rejects(raised.result({ timeout: "1m" }), fail);
  assert.match(warn.mock.calls[0]?.arguments[0], /an outcome is sent again: what answers at/);
});

test("a token that is revoked is noticed while all slots are busy", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  let beats = 0;
  const job = { lease: "l", id: "j", kind: "long", args: null, attempt: 1, checkpoint: null, timeout: null };
  const worker = through(async (url) => {
    if (url.endsWith("/workers")) return answer({ worker: "w", beat_every: "1ms" }, 201);
    if (url.includes("/poll?")) return answer({ jobs: [job], mode: "run" });
    if (!url.endsWith("/beat")) throw new Error(`it is asked for ${url}`);
    now += 25_000;
    beats += 1;
    if (beats === 20) worker.stop(); // it has not been noticed
    if (beats === 2) return answer({ cancel: [], pause: [], lost: [], mode: "run" }); // the minute begins again
    return answer({ code: "unauthenticated", detail: "the key was revoked" }, 401);
  }, { slots: 1 }); // prettier-ignore
  worker.handle("long", (run) => new Promise((resolve) => run.signal.addEventListener("abort", resolve)));
  await assert.rejects(worker.run({ signals: false }), { name: "Unauthenticated", message: "the key was revoked" });
  assert.equal(beats, 6, "one, one that was accepted, and those of more than a minute");
  assert.match(warn.mock.calls[0]?.arguments[0], /^holdfast: .*the key was revoked$/);
});

test("a worker that no server knows registers again after pauses that grow, and says so", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  /** @type {number[]} */
  const made = [];
  const worker = through(async (url) => {
    if (url.endsWith("/leave")) return answer({ node: "n" });
    if (!url.endsWith("/workers")) return answer({ code: "not_found", detail: "there is no such worker" }, 404);
    made.push(performance.now());
    if (made.length === 6) worker.stop();
    return answer({ worker: `w${made.length}`, beat_every: "1h" }, 201);
  });
  worker.handle("mail", () => 1);
  await worker.run({ signals: false });
  assert.equal(made.length, 6);
  for (const [i, least] of [50, 100, 200, 400, 800].entries()) {
    const took = /** @type {number} */ (made[i + 1]) - /** @type {number} */ (made[i]);
    assert.ok(took >= least - 2, `${took} ms before registration ${i + 2}`);
  }
  assert.equal(warn.mock.callCount(), 1);
  assert.match(warn.mock.calls[0]?.arguments[0], /does not know the worker that has just registered/);
});

test("a stop does not wait for a server that does not answer", async () => {
  let isFrozen = false;
  let polls = 0;
  /** @type {typeof fetch} */
  const silent = (_, init) =>
    new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(new Error("it was cut off"))));
  const worker = through((url, init) => {
    if (url.includes("/poll?")) polls += 1;
    return isFrozen ? silent(url, init) : fetch(url, init);
  });
  worker.handle("idle", () => 1);
  const running = worker.run({ signals: false });
  await eventually("it polls", () => polls > 0);
  isFrozen = true;
  const began = performance.now();
  worker.stop();
  await running;
  assert.ok(performance.now() - began < 25_000, "one request of each alone may take 30 s");
});

test("a handler that never settles does not keep the process", async (t) => {
  const source = `
import { writeFileSync } from "node:fs";
import { Client, Worker } from "holdfast";
const worker = new Worker(new Client(), { stopTimeout: 10 });
worker.handle("stuck", () => {
  writeFileSync(process.argv[1], "");
  worker.stop();
  return new Promise(() => {});
});
await worker.run();
`;
  for (const timeout of [undefined, "1h"]) {
    const began = path.join(server.directory, `stuck-${timeout}`);
    const job = await client.enqueue("stuck", null, { timeout });
    const stuck = program(t, source, server.url, began);
    await eventually("it runs", () => existsSync(began));
    await eventually(`it has ended, with a timeout of ${timeout}`, () => stuck.exitCode !== null);
    assert.equal(stuck.exitCode, 0);
    await job.cancel();
  }
});

test("a second signal ends the process at once, whichever it is", async (t) => {
  const source = `
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Worker } from "holdfast";
const [began, first] = process.argv.slice(1);
const worker = new Worker(new Client(), { stopTimeout: "1h" });
worker.handle("signalled", async () => {
  writeFileSync(began, "");
  await pause(3600_000);
});
const running = worker.run();
process.once(first, () => writeFileSync(began + "-told", "")); // it is called after the listener of the worker
await running;
`;
  for (const [first, second] of /** @type {const} */ ([
    ["SIGTERM", "SIGINT"],
    ["SIGINT", "SIGTERM"],
    ["SIGTERM", "SIGTERM"],
  ])) {
    const began = path.join(server.directory, `${first}-${second}`);
    const job = await client.enqueue("signalled", null, { maxAttempts: 1 });
    const worker = program(t, source, server.url, began, first);
    await eventually("it runs", () => existsSync(began));
    worker.kill(first);
    await eventually("it was told", () => existsSync(`${began}-told`));
    worker.kill(second);
    await eventually("it has ended", () => worker.signalCode !== null || worker.exitCode !== null);
    assert.equal(worker.signalCode, second);
    await job.cancel();
  }
});

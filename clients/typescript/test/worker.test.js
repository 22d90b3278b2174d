import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Cancelled, Client, JobEnded, Permanent, RetryAfter, Snooze, Unauthenticated, Worker } from "holdfast";
import { eventually, exited, FAST, killed, program, serve, TOKEN, works } from "../testing/server.js";

const { server, client } = await serve();

/** @param {string} id */
const state = async (id) => (await client.get(id)).state;

/**
 * Returns how a job has ended that did not complete.
 * @param {import("holdfast").Job} job
 */
async function ended(job) {
  try {
    await job.result({ timeout: "1m" });
  } catch (error) {
    assert.ok(error instanceof JobEnded, String(error));
    return error;
  }
  throw new Error(`job ${job.id} has completed`);
}

test("what handlers say", async (t) => {
  const worker = new Worker(client, { slots: 5 });
  /** @type {Record<string, number[]>} */
  const seen = {};
  worker.handle("adds", (_, args) => args.reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b));
  worker.handle("fails", async (run, args) => {
    (seen[run.id] ??= []).push(run.attempt);
    throw args === "permanent" ? new Permanent("never") : new RangeError("no luck");
  });
  worker.handle("snoozes", (run) => {
    const runs = (seen[run.id] ??= []);
    runs.push(run.attempt);
    if (runs.length === 1) throw new Snooze(100, "later");
    if (runs.length === 2) throw new Snooze(new Date(Date.now() + 50));
    return runs;
  });
  worker.handle("retries", (run) => {
    if (run.attempt === 1) throw new RetryAfter(10, "the other side asks for a pause");
    return run.attempt;
  });
  worker.handle("remembers", async (run) => {
    if (run.checkpoint !== null) return run.checkpoint.done;
    await run.progress({ percent: 50, message: "halfway", value: { done: 7 } });
    throw new Error("again");
  });
  worker.handle("strange", () => ({ call() {} }));
  worker.handle("slow", (run) => pause(60_000, null, { signal: run.signal }));
  worker.handle("late", async (run) => {
    await new Promise((resolve) => run.signal.addEventListener("abort", resolve));
    return "too late";
  });
  worker.handle("nothing", () => {});
  works(t, worker);
  assert.equal(await (await client.enqueue("adds", [1, 2, 3])).result(), 6);
  assert.equal(await (await client.enqueue("nothing")).result(), null);
  assert.deepEqual(await (await client.enqueue("snoozes")).result(), [1, 1, 1]);
  assert.equal(await (await client.enqueue("retries", null, { backoff: { base: "1h", cap: "1h" } })).result(), 2);
  assert.equal(await (await client.enqueue("remembers", null, { backoff: FAST })).result(), 7);
  for (const [job, says, attempts] of /** @type {const} */ ([
    [await client.enqueue("fails", "often", { maxAttempts: 3, backoff: FAST }), "RangeError: no luck", 3],
    [await client.enqueue("fails", "permanent", { maxAttempts: 3 }), "Permanent: never", 1],
    [await client.enqueue("strange", 1, { maxAttempts: 1 }), "a function is no JSON", 0],
    [
      await client.enqueue("slow", 1, { maxAttempts: 1, timeout: 200 }),
      "AttemptTimeout: the attempt took longer than 0.2 s",
      0,
    ],
    [
      await client.enqueue("late", 1, { maxAttempts: 1, timeout: 200 }),
      "AttemptTimeout: the attempt took longer than 0.2 s",
      0,
    ],
  ])) {
    const error = await ended(job);
    assert.equal(error.state, "failed");
    assert.ok(error.error?.includes(says), `${error.error}`);
    if (attempts)
      assert.deepEqual(
        seen[job.id],
        Array.from({ length: attempts }, (_, i) => i + 1),
      );
  }
});

test("what handlers must not say costs the job an attempt, and nothing else", async (t) => {
  const worker = new Worker(client, { slots: 2 });
  /** @type {Record<string, () => unknown>} */
  const does = {
    untold: () => {
      throw { toString: () => { throw new Error("no words"); } }; // prettier-ignore
    },
    unnamed: () => {
      const fails = { get: () => { throw new Error("it has none"); } }; // prettier-ignore
      throw Object.defineProperties(new Error("x"), { name: fails, message: fails, stack: fails });
    },
    nothing: () => {
      throw undefined;
    },
    deep: () => {
      /** @type {unknown[]} */
      let deep = [];
      for (let i = 0; i < 100_000; i++) deep = [deep];
      return deep;
    },
    large: () => "x".repeat(2 << 20),
    wordy: () => {
      throw new Cancelled("x".repeat(5000));
    },
    words: () => {
      throw new Error("\ud800\0".repeat(100_000));
    },
    message: () => {
      throw Object.assign(new Error("x"), { message: Object.create(null) });
    },
    revoked: () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    },
    snooze: () => {
      const snooze = new Snooze(new Date());
      /** @type {Date} */ (snooze.when).setTime(NaN);
      throw snooze;
    },
    after: () => {
      throw Object.assign(new RetryAfter(1, "busy"), { after: "soon" });
    },
    refused: () => {
      throw new RetryAfter(2 ** 63 / 1e6, "busy"); // in microseconds it is more than a server counts
    },
    nul: () => "\0",
    well: () => "well",
  };
  worker.handle("does", (_, args) => does[args]?.());
  works(t, worker);
  /** @type {Record<string, string>} */
  const ends = {};
  /** @type {Record<string, string>} */
  const errors = {};
  for (const args of Object.keys(does)) {
    const job = await client.enqueue("does", args, { maxAttempts: 1 });
    await job.result({ timeout: "1m" }).catch(() => {});
    ends[args] = await state(job.id);
    errors[args] = (await job.get()).error ?? "";
  }
  const failed = {
    untold: "failed",
    unnamed: "failed",
    nothing: "failed",
    deep: "failed",
    large: "failed",
    words: "failed",
    message: "failed",
    revoked: "failed",
    snooze: "failed",
    after: "failed",
    refused: "failed",
    nul: "failed",
  };
  assert.deepEqual(ends, { ...failed, wordy: "cancelled", well: "completed" });
  assert.match(errors.snooze ?? "", /it cannot be told as it was thrown: Invalid time value/);
  assert.match(errors.after ?? "", /busy .it cannot be told as it was thrown: the duration is "soon"/);
  assert.match(errors.refused ?? "", /^RetryAfter: busy; the outcome \(fail\) was refused: /);
  assert.match(errors.nul ?? "", /the result has a text with the NUL character/);
});

test("connections are used again", async (t) => {
  const worker = new Worker(client, { slots: 4 });
  const sockets = () =>
    /** @type {any} */ (process).getActiveResourcesInfo().filter((/** @type {string} */ one) => one === "TCPSocketWrap")
      .length;
  worker.handle("says", async (run, args) => {
    await run.progress({ percent: args });
    return sockets();
  });
  const jobs = await client.enqueueMany(Array.from({ length: 200 }, (_, n) => ({ kind: "says", args: n % 100 })));
  works(t, worker);
  for (const job of jobs) assert.ok(/** @type {number} */ (await job.result({ timeout: "1m" })) < 20);
});

test("a namespace", async (t) => {
  const shop = new Client({ url: server.url, token: TOKEN, namespace: "shop" });
  const worker = new Worker(shop);
  worker.handle("mail", async (run) => {
    await run.progress({ percent: 1 });
    return run.job.namespace;
  });
  works(t, worker);
  assert.equal(await (await shop.enqueue("mail")).result({ timeout: "1m" }), "shop");
});

test("a lost batch is sent again", async (t) => {
  let bodies = /** @type {any[]} */ ([]);
  const through = async (/** @type {any} */ url, /** @type {any} */ init) => {
    if (!url.endsWith("/runs")) return fetch(url, init);
    bodies.push(JSON.parse(init.body));
    if (bodies.length === 1) {
      await (await fetch(url, init)).text();
      throw new TypeError("fetch failed", { cause: new Error("the answer is lost") });
    }
    if (bodies.length > 3) return fetch(url, init);
    const error = { code: "unavailable", detail: "for a moment", retryable: true };
    const runs = bodies.at(-1).outcomes.map(() => ({ ended: null, error }));
    return new Response(JSON.stringify({ runs }));
  };
  const worker = new Worker(new Client({ url: server.url, token: TOKEN, fetch: /** @type {any} */ (through) }));
  worker.handle("once", (run) => run.attempt);
  works(t, worker);
  const job = await client.enqueue("once");
  assert.equal(await job.result({ timeout: "1m" }), 1);
  await eventually("the repeat has arrived", () => bodies.length >= 4);
  assert.deepEqual(
    bodies.slice(0, 4).map((body) => body.outcomes[0].repeat),
    [false, true, true, true],
  );
});

test("a lost registration is one worker, and one that is gone meanwhile another", async (t) => {
  const keys = /** @type {string[]} */ ([]);
  const nodes = /** @type {any[]} */ ([]);
  const through = async (/** @type {any} */ url, /** @type {any} */ init) => {
    if (!url.endsWith("/workers")) return fetch(url, init);
    keys.push(init.headers["Idempotency-Key"]);
    const answer = await fetch(url, init);
    const text = await answer.text();
    const { node, worker } = JSON.parse(text);
    nodes.push(node);
    if (nodes.length === 2) {
      const headers = { Authorization: init.headers.Authorization, "Content-Type": "application/json" };
      await fetch(`${url}/${worker}/leave`, { method: "POST", headers, body: "{}" });
    }
    if (nodes.length <= 2) throw new TypeError("fetch failed", { cause: new Error("the answer is lost") });
    return new Response(text, { status: answer.status });
  };
  const worker = new Worker(new Client({ url: server.url, token: TOKEN, fetch: /** @type {any} */ (through) }));
  worker.handle("registered", (run) => run.attempt);
  works(t, worker);
  const job = await client.enqueue("registered");
  assert.equal(await job.result({ timeout: "1m" }), 1);
  assert.equal(nodes.length, 4);
  assert.ok(nodes[0] && nodes[0] === nodes[1] && nodes[2] === undefined, `${nodes}`);
  assert.ok(nodes[3] && nodes[3] !== nodes[0], `${nodes}`);
  assert.ok(keys[0] && keys[0] === keys[1] && keys[1] === keys[2] && keys[3] !== keys[0], `${keys}`);
});

test("a lost poll is sent again, and a credential that is replaced is waited for", async (t) => {
  let polls = /** @type {any[]} */ ([]);
  const through = async (/** @type {any} */ url, /** @type {any} */ init) => {
    if (!url.includes("/poll?")) return fetch(url, init);
    polls.push(JSON.parse(init.body));
    if (polls.length === 1)
      return new Response(JSON.stringify({ code: "unauthenticated", detail: "not yet" }), { status: 401 });
    const answer = await fetch(url, init);
    const text = await answer.text();
    if (polls.length === 2) throw new TypeError("fetch failed", { cause: new Error("the answer is lost") });
    return new Response(text, { status: answer.status });
  };
  const job = await client.enqueue("polled");
  const worker = new Worker(new Client({ url: server.url, token: TOKEN, fetch: /** @type {any} */ (through) }));
  worker.handle("polled", (run) => run.attempt);
  works(t, worker);
  assert.equal(await job.result({ timeout: "1m" }), 1);
  assert.deepEqual(polls.slice(0, 3).map(({ seq, repeat }) => [seq, repeat]), [[1, false], [1, true], [1, true]]); // prettier-ignore
});

test("a credential that is not accepted ends a worker as it begins only after a minute, and others at once", async () => {
  const refusing = async () => new Response(JSON.stringify({ code: "forbidden", detail: "no" }), { status: 403 });
  const worker = new Worker(new Client({ url: server.url, token: "t", fetch: /** @type {any} */ (refusing) }));
  worker.handle("mail", () => 1);
  await assert.rejects(worker.run({ signals: false }), { name: "Forbidden" });
  const unknown = new Worker(new Client({ url: server.url, token: "another token" }));
  unknown.handle("mail", () => 1);
  const running = unknown.run({ signals: false });
  assert.equal(
    await Promise.race([running.catch((error) => error instanceof Unauthenticated), pause(300, "it waits")]),
    "it waits",
  );
  unknown.stop();
  await assert.rejects(running, Unauthenticated);
});

test("a cancel arrives", async (t) => {
  const worker = new Worker(client, { deadAfter: "2s" });
  let running = 0;
  worker.handle("long", async (run, args) => {
    running += 1;
    if (args === "node") await pause(60_000, null, { signal: run.signal });
    else await new Promise((_, reject) => run.signal.addEventListener("abort", () => reject(run.signal.reason)));
  });
  works(t, worker);
  const jobs = [await client.enqueue("long", "node"), await client.enqueue("long", "own")];
  await eventually("both run", () => running === 2);
  for (const job of jobs) {
    await job.cancel("not wanted");
    const error = await ended(job);
    assert.deepEqual([error.state, error.error], ["cancelled", "not wanted"]);
  }
});

test("a run that takes longer than a worker may be silent stays its own", async (t) => {
  const worker = new Worker(client, { deadAfter: "2s" });
  worker.handle("lasts", async (run) => {
    await pause(3000, null, { signal: run.signal });
    return run.attempt;
  });
  works(t, worker);
  assert.equal(await (await client.enqueue("lasts", null, { maxAttempts: 1 })).result({ timeout: "1m" }), 1);
});

test("many while the server is killed", async (t) => {
  const worker = new Worker(client, { slots: 20, deadAfter: "1m" });
  /** @type {Map<number, number>} */
  const ran = new Map();
  worker.handle("count", async (_, args) => {
    await pause(5);
    ran.set(args, (ran.get(args) ?? 0) + 1);
    return args;
  });
  const jobs = await client.enqueueMany(Array.from({ length: 600 }, (_, n) => ({ kind: "count", args: n })));
  works(t, worker);
  for (const bound of [100, 300]) {
    await eventually(`${bound} jobs have run`, () => ran.size >= bound);
    await server.kill();
    await pause(200);
    await server.start();
  }
  for (const [n, job] of jobs.entries()) assert.equal(await job.result({ timeout: "1m" }), n);
  assert.deepEqual(
    [...ran].filter(([, times]) => times !== 1),
    [],
    "a server that dies takes no runs with it",
  );
  for (const job of jobs.filter((_, n) => n % 50 === 0)) assert.equal((await job.get()).attempt, 1);
});

const ENDLESS = `
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Worker } from "holdfast";
const worker = new Worker(new Client(), { name: "first", deadAfter: "2s" });
worker.handle("dies", async () => {
  writeFileSync(process.argv[1], "");
  await pause(3600_000);
});
await worker.run();
`;

test("a worker that is killed", async (t) => {
  const began = path.join(server.directory, "began");
  const job = await client.enqueue("dies", null, { backoff: FAST });
  const first = program(t, ENDLESS, server.url, began);
  await eventually("it runs", () => existsSync(began));
  await killed(first);
  rmSync(began);
  const worker = new Worker(client, { name: "second" });
  worker.handle("dies", (run) => run.attempt);
  works(t, worker);
  assert.equal(await job.result({ timeout: "1m" }), 2);
});

test("a worker that stood still loses its runs, and registers again", async (t) => {
  const began = path.join(server.directory, "began");
  const job = await client.enqueue("dies", null, { backoff: FAST });
  const frozen = program(t, ENDLESS, server.url, began);
  await eventually("it runs", () => existsSync(began));
  frozen.kill("SIGSTOP");
  await eventually("its job was taken from it", async () => (await state(job.id)) !== "running");
  rmSync(began);
  frozen.kill("SIGCONT");
  await eventually("it runs again", () => existsSync(began));
  await eventually("the second attempt", async () => (await job.get()).attempt === 2);
});

test("a stop waits for runs, and gives others back", async (t) => {
  const source = `
import { writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Worker } from "holdfast";
const worker = new Worker(new Client(), { stopTimeout: "2s" });
worker.handle("short", async () => {
  writeFileSync(process.argv[1] + "short", "");
  await pause(1000);
});
worker.handle("endless", (run) => {
  writeFileSync(process.argv[1] + "endless", "");
  return pause(3600_000, null, { signal: run.signal });
});
await worker.run();
`;
  const began = path.join(server.directory, "stops-");
  const worker = program(t, source, server.url, began);
  const short = await client.enqueue("short");
  const endless = await client.enqueue("endless");
  await eventually("both run", () => existsSync(`${began}short`) && existsSync(`${began}endless`));
  worker.kill("SIGTERM");
  assert.equal(await exited(worker), 0);
  assert.equal(await state(short.id), "completed");
  const left = await endless.get();
  assert.deepEqual([left.state, left.attempt], ["available", 0], "the attempt does not count");
});

test("the first program of the README", async (t) => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const source = readme.split("```js\n")[1]?.split("```")[0] ?? "";
  const first = program(t, source, server.url);
  const said = /** @type {import("node:stream").Readable} */ (first.stdout).toArray();
  assert.equal(await exited(first), 0);
  assert.equal(Buffer.concat(await said).toString(), "to ann@example.com attempt 1\n{ sent: true }\n");
  const { value } = await client.list({ query: "queue:mails" }).next();
  const job = await client.get(value?.id ?? "");
  assert.deepEqual([job.state, job.result], ["completed", { sent: true }]);
});

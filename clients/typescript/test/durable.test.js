import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  Cancelled,
  Client,
  JobEnded,
  kind,
  MessageInvalid,
  Permanent,
  RetryAfter,
  signal,
  Snooze,
  StepFailed,
  Worker,
} from "holdfast";
import { allTold, functionOf, plain } from "../testing/format.js";
import { api, eventually, FAST, killed, program, serve, TOKEN, works } from "../testing/server.js";

const { server, client } = await serve();

/** @param {string} id */
const state = async (id) => (await client.get(id)).state;

/** @param {string} id */
const entries = async (id) => (await api(server, `/jobs/${id}/journal?limit=200`)).items;

test("the functions of the golden files leave the same journals as those of Go", async (t) => {
  const worker = new Worker(client, { slots: 5 });
  const files = allTold();
  for (const [n, file] of files.entries()) worker.function(`order${n}`, functionOf(file));
  worker.handle("mail", (_, args) => {
    if (args === "fail") throw new Permanent("no such address");
    return args;
  });
  worker.function("listener", (ctx) => ctx.waitSignal("approved"));
  const jobs = [];
  for (const [n, file] of files.entries()) {
    const job = await client.enqueue(`order${n}`, file.args);
    for (const { name, payload } of file.signals) await job.signal(name, payload);
    jobs.push(job);
  }
  works(t, worker);
  for (const [n, file] of files.entries()) {
    const job = jobs[n];
    assert.ok(job);
    await t.test(file.about, async () => {
      await job.result({ timeout: "1m" });
      assert.deepEqual(plain(await entries(job.id)), plain(file.journal.entries));
    });
  }
});

test("a cancel reaches a function that waits, and one in a step; what it decided before stays", async (t) => {
  const worker = new Worker(client, { slots: 5 });
  /** @type {string[]} */
  const seen = [];
  worker.function("waits", async (ctx) => {
    try {
      await ctx.step("before", () => 1);
      await ctx.waitSignal("never");
    } catch (error) {
      if (error instanceof Cancelled) seen.push(error.message);
      throw error;
    }
  });
  worker.function("works", async (ctx) => {
    await ctx.step("long", ({ signal }) => pause(60_000, null, { signal }));
  });
  works(t, worker);
  for (const [kind, before] of /** @type {const} */ ([
    ["waits", "waiting"],
    ["works", "running"],
  ])) {
    // prettier-ignore
    const job = await client.enqueue(kind);
    await eventually(`${kind} is ${before}`, async () => (await state(job.id)) === before);
    await job.cancel("no stock");
    await assert.rejects(job.result({ timeout: "1m" }), (error) => {
      assert.ok(error instanceof JobEnded);
      assert.deepEqual([error.state, error.error], ["cancelled", "no stock"]);
      return true;
    });
    if (kind === "waits")
      assert.deepEqual(
        (await entries(job.id)).map((/** @type {any} */ e) => e.kind),
        ["step"],
      );
  }
  assert.deepEqual(seen, ["no stock"]);
});

test("a job whose function has changed is held, and goes on with the old code", async (t) => {
  const job = await client.enqueue("changes");
  /** @type {(ctx: import("holdfast").Context) => Promise<number>} */
  const before = async (ctx) => {
    const one = await ctx.step("one", () => 1);
    await ctx.waitSignal("go");
    return one + (await ctx.step("two", () => 2));
  };
  const first = new Worker(client).function("changes", before);
  let running = first.run({ signals: false });
  await eventually("it waits", async () => (await state(job.id)) === "waiting");
  first.stop();
  await running;
  const second = new Worker(client).function("changes", (ctx) => ctx.step("other", () => 1));
  running = second.run({ signals: false });
  await job.signal("go");
  await eventually("it is held", async () => JSON.stringify((await job.get()).wait).includes("asks for step"));
  second.stop();
  await running;
  await api(server, `/jobs/${job.id}/resume`, {});
  works(t, new Worker(client).function("changes", before));
  assert.equal(await job.result({ timeout: "1m" }), 3);
});

test("a step that fails its attempt is tried again with it, and what came before is not", async (t) => {
  const worker = new Worker(client, { slots: 1 });
  /** @type {Record<string, number>} */
  const calls = {};
  const counted = (/** @type {string} */ name, fails = 0) => {
    const count = (calls[name] = (calls[name] ?? 0) + 1);
    if (count <= fails) throw new Error("not yet");
    return count;
  };
  worker.function("tries", async (ctx) => {
    await ctx.step("first", () => counted("first"));
    return ctx.step("second", () => counted("second", 2));
  });
  worker.function("full", async (ctx) => {
    await ctx.step("large", () => "x".repeat(2 << 20));
  });
  worker.function("snoozes", async (ctx) => {
    const at = await ctx.now();
    if (counted("snoozes") === 1) throw new Snooze(10);
    await ctx.step("again", ({ attempt }) => {
      if (attempt === 1) throw new RetryAfter(20, "busy");
      return attempt;
    }, { attempts: 2, backoff: "1h" }); // prettier-ignore
    return at.getTime() > 0 && counted("snoozes");
  });
  worker.function("says", async (ctx) => {
    await ctx.step("says", () => {
      throw new Snooze(10);
    });
  });
  works(t, worker);
  const job = await client.enqueue("tries", null, { backoff: FAST });
  assert.equal(await job.result({ timeout: "1m" }), 3);
  assert.deepEqual([calls.first, calls.second], [1, 3]);
  await assert.rejects((await client.enqueue("full")).result({ timeout: "1m" }), /it may have 1048576/);
  assert.ok(Number(await (await client.enqueue("snoozes")).result({ timeout: "1m" })) >= 3);
  await assert.rejects(
    (await client.enqueue("says", null, { maxAttempts: 1 })).result({ timeout: "1m" }),
    /Misuse: the function of a step/,
  );
});

test("a step whose result no server stores has failed for good, and is not done again", async (t) => {
  const worker = new Worker(client, { slots: 5 });
  const nested = (/** @type {number} */ depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth));
  /** @type {Record<string, unknown>} */
  const values = { nul: "a\0b", half: { a: "😀".slice(0, 1) }, deep: nested(201) };
  /** @type {Record<string, number>} */
  const effects = {};
  worker.function("charges", (ctx, args) =>
    ctx.step("charge", () => {
      effects[args] = (effects[args] ?? 0) + 1;
      return values[args] ?? nested(200);
    }),
  );
  works(t, worker);
  for (const args of Object.keys(values)) {
    const job = await client.enqueue("charges", args, { backoff: FAST });
    await assert.rejects(job.result({ timeout: "1m" }), /the result of step charge .*which no server stores/);
  }
  assert.deepEqual(effects, { nul: 1, half: 1, deep: 1 });
  assert.deepEqual(await (await client.enqueue("charges", "right")).result({ timeout: "1m" }), nested(200));
});

test("a name that no server stores is refused before anything is done under it", async (t) => {
  const worker = new Worker(client, { slots: 1 });
  /** @type {string[]} */
  const effects = [];
  /** @type {Record<string, (ctx: import("holdfast").Context, name: any) => any>} */
  const operations = {
    step: (ctx, name) => ctx.step(name, () => effects.push("step")),
    waitSignal: (ctx, name) => ctx.waitSignal(name, { timeout: 0 }).catch(() => {}),
    child: (ctx, name) => ctx.child(name),
    signal: (ctx, name) => ctx.signal(ctx.id, name),
    publish: (ctx, name) => ctx.publish(name, 1),
    append: (ctx, name) => ctx.append(name, 1),
    patched: (ctx, name) => ctx.patched(name),
  };
  const common = ["a\0b", "\ud800", "", "é".repeat(101), "a\x7f", 5];
  /** @param {string} what */
  const wrong = (what) => {
    if (what === "publish") return common;
    const more = what === "child" ? ["mail@2"] : what === "signal" ? ["a".repeat(194)] : [];
    return [...common, "a\u200bb", ...more];
  };
  /** @param {string} what */
  const longest = (what) => `a${"é".repeat(94)}\u200c${what === "signal" ? "a" : "a".repeat(8)}`;
  worker.function("names", async (ctx, [what, number]) => {
    effects.push("attempt");
    await operations[what]?.(ctx, number === null ? longest(what) : wrong(what)[number]);
    await ctx.step("after", () => effects.push("after"));
    return "done";
  });
  works(t, worker);
  for (const what of Object.keys(operations)) {
    const right = await client.enqueue("names", [what, null], { backoff: FAST });
    assert.equal(await right.result({ timeout: "1m" }), "done", what);
    for (const [number, name] of wrong(what).entries()) {
      effects.length = 0;
      const job = await client.enqueue("names", [what, number], { backoff: FAST });
      await assert.rejects(job.result({ timeout: "1m" }), /cannot be named .*: no server stores a name that /);
      assert.deepEqual(effects, ["attempt"], `${what} ${JSON.stringify(name)}`);
    }
  }
});

test("a step that throws what cannot be looked at has failed", async (t) => {
  const worker = new Worker(client);
  worker.function("odd", async (ctx) => {
    const step = ctx.step("odd", () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    });
    return step.catch((error) => error instanceof StepFailed && error.detail);
  });
  worker.function("changed", async (ctx) =>
    ctx.step("changed", ({ attempt }) => {
      if (attempt === 1) throw Object.assign(new RetryAfter(10), { after: NaN });
      return attempt;
    }, { attempts: 2, backoff: 1 })); // prettier-ignore
  works(t, worker);
  assert.equal(await (await client.enqueue("odd")).result({ timeout: "1m" }), "a thrown object without words");
  assert.equal(await (await client.enqueue("changed")).result({ timeout: "1m" }), 2);
});

test("signals, children and their failures are the same on every replay", async (t) => {
  const counted = signal("counted");
  const part = /** @type {import("holdfast").Kind<number, number>} */ (kind("part"));
  const worker = new Worker(client, { slots: 4 });
  let replays = 0;
  worker.handle(part, (_, n) => {
    if (n < 0) throw new Permanent("negative");
    return n * 2;
  });
  worker.function("asks", async (ctx) => {
    replays += 1;
    const children = [await ctx.child(part, 1), await ctx.child(part, -1), await ctx.child(part, 3)];
    const got = [];
    for (const child of children.reverse()) got.push(await child.result().catch((error) => error.error));
    const wrong = await ctx
      .waitSignal(counted, { decode: Number.prototype.toFixed.call.bind(Number.prototype.toFixed) })
      .catch((error) => {
        assert.ok(error instanceof MessageInvalid);
        return error.problem;
      });
    const second = await ctx.waitSignal(counted, { decode: (payload) => payload * 10 });
    const to = ctx.uuid();
    const lost = await ctx.signal(to, counted, 1).catch((error) => error instanceof StepFailed && error.step);
    await ctx.sleep(120);
    return { got, wrong: typeof wrong, second, to, lost, again: ctx.uuid() };
  });
  works(t, worker);
  const job = await client.enqueue("asks");
  await job.signal(counted, "one");
  await job.signal(counted, 2, { key: "k" });
  assert.equal((await job.signal(counted, 2, { key: "k" })).duplicate, true);
  const result = /** @type {any} */ (await job.result({ timeout: "1m" }));
  assert.deepEqual(result.got, [6, "Permanent: negative", 2]);
  assert.deepEqual([result.wrong, result.second, result.lost], ["string", 20, "signal counted"]);
  assert.ok(replays > 1);
  assert.notEqual(result.to, result.again);
});

test("an append whose answer is lost is sent again, and nothing is done twice", async (t) => {
  /** @type {Map<string, any[]>} */
  const sent = new Map();
  const through = async (/** @type {any} */ url, /** @type {any} */ init) => {
    if (init.method !== "POST" || !/journal|park|runs$/.test(new URL(url).pathname)) return fetch(url, init);
    const { repeat, outcomes, ...body } = JSON.parse(init.body);
    const key = JSON.stringify(
      outcomes?.map((/** @type {any} */ one) => ({ ...one, repeat: undefined })) ?? [url, body],
    );
    const times = sent.get(key) ?? [];
    sent.set(key, [...times, repeat ?? outcomes[0].repeat]);
    const answer = await fetch(url, init);
    const text = await answer.text();
    if (times.length === 0) throw new TypeError("fetch failed", { cause: new Error("the answer is lost") });
    return new Response(text, { status: answer.status });
  };
  const worker = new Worker(new Client({ url: server.url, token: TOKEN, fetch: /** @type {any} */ (through) }));
  let steps = 0;
  worker.function("unlucky", async (ctx) => {
    await ctx.step("one", () => (steps += 1));
    const child = await ctx.child("lucky", 5);
    await ctx.append("log", 1);
    return child.result();
  });
  worker.handle("lucky", (_, args) => args);
  works(t, worker);
  const job = await client.enqueue("unlucky");
  assert.equal(await job.result({ timeout: "1m" }), 5);
  assert.equal(steps, 1);
  assert.deepEqual((await entries(job.id)).map((/** @type {any} */ e) => e.kind), ["step", "child", "streamed"]); // prettier-ignore
  await eventually("each was sent twice", () => [...sent.values()].every((times) => times.length === 2));
  assert.ok(sent.size >= 5);
  for (const times of sent.values()) assert.deepEqual(times, [false, true]);
  let children = 0;
  for await (const _ of client.list({ query: "kind:lucky" })) children += 1;
  assert.equal(children, 1);
});

const ORDER = `
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Worker } from "holdfast";
const worker = new Worker(new Client(), { slots: 4, deadAfter: "2s" });
worker.function("order", async (ctx, n) => {
  const noted = async (what) => {
    appendFileSync(process.argv[1], ctx.id + " " + what + "\\n");
    await pause(50);
    return what;
  };
  let total = 0;
  for (let i = 0; i < 4; i++) {
    await ctx.step("part " + i, () => noted(i));
    await ctx.sleep(150);
    total += await ctx.call("add", [n, i]);
    await ctx.append("log", i);
  }
  const by = await ctx.waitSignal("approved");
  await ctx.publish("by", by);
  await ctx.step("last", () => noted("last"));
  return [total, by];
});
worker.handle("add", (run, args) => args[0] + args[1]);
await worker.run();
`;

/**
 * Kills workers, and the server, again and again: each function is done once, as its journal says.
 * @param {import("node:test").TestContext} t
 * @param {{ server: import("../testing/server.js").Server, client: Client }} at
 */
async function survives(t, at) {
  const log = path.join(at.server.directory, "steps");
  writeFileSync(log, "");
  const start = () => program(t, ORDER, at.server.url, log);
  const workers = [start(), start()];
  const jobs = [];
  for (let n = 0; n < 6; n++) {
    const job = await at.client.enqueue("order", n);
    await job.signal("approved", "ann");
    jobs.push(job);
  }
  for (let round = 0; round < 5; round++) {
    await pause(700);
    const victim = workers[round % 2];
    if (victim) await killed(victim);
    if (round % 2 === 1) {
      await at.server.kill();
      await at.server.start();
    }
    workers[round % 2] = start();
  }
  const want = [0, 1, 2, 3].flatMap((i) => [
    ["step", `${4 * i + 1}`, `part ${i}`],
    ["timer", `${4 * i + 2}`, ""],
    ["child", `${4 * i + 3}`, "add"],
    ["streamed", `${4 * i + 4}`, "log"],
  ]);
  want.push(["received", "17", "approved"], ["published", "18", "by"], ["step", "19", "last"]);
  for (const [n, job] of jobs.entries()) {
    assert.deepEqual(await job.result({ timeout: "2m" }), [4 * n + 6, "ann"]);
    const { items } = await api(at.server, `/jobs/${job.id}/journal?limit=200`);
    assert.deepEqual(
      items.map((/** @type {any} */ e) => [e.kind, e.path, e.name ?? ""]),
      want,
    );
  }
  const done = readFileSync(log, "utf8").split("\n");
  for (const job of jobs) {
    for (const what of ["0", "1", "2", "3", "last"]) assert.ok(done.includes(`${job.id} ${what}`), `${job.id} ${what}`);
  }
  let children = 0;
  for await (const _ of at.client.list({ query: "kind:add" })) children += 1;
  assert.equal(children, 4 * jobs.length);
}

test("server and workers are killed again and again, on SQLite", (t) => survives(t, { server, client }));

test(
  "server and workers are killed again and again, on PostgreSQL",
  { skip: !process.env.HOLDFAST_POSTGRES },
  async (t) => {
    await survives(t, await serve(process.env.HOLDFAST_POSTGRES));
  },
);

test("a worker that drains lets its functions leave at their next operation", async () => {
  let steps = 0;
  const worker = new Worker(new Client({ url: server.url, token: TOKEN }));
  worker.function("drains", async (ctx) => {
    for (let i = 0; i < 1000; i++) await ctx.step(`step ${i}`, async () => (steps += 1));
  });
  const job = await client.enqueue("drains");
  const running = worker.run({ signals: false });
  await eventually("it runs", () => steps > 3);
  worker.stop();
  await running;
  assert.ok(steps < 1000);
  const left = await job.get();
  assert.deepEqual([left.state, left.attempt], ["available", 0]);
  assert.equal((await entries(job.id)).length, Math.min(steps, 200), "what was done is remembered");
  await job.cancel();
});

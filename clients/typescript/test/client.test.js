import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Client, Forbidden, Invalid, JobEnded, NotAllEnqueued, NotFound, Unavailable, WaitTimeout } from "holdfast";
import { milliseconds } from "../src/clock.js";
import { newId } from "../src/jobs.js";
import { serve } from "../testing/server.js";

const at = await serve();

/**
 * @param {AsyncIterable<any>} items
 * @returns {Promise<any[]>}
 */
async function all(items) {
  const got = [];
  for await (const item of items) got.push(item);
  return got;
}

test("enqueue and look", async () => {
  const { client } = at;
  const options = { queue: "bulk", priority: 1, tags: ["a"], runAt: new Date(Date.now() + 3_600_000), timeout: 1500 };
  const job = await client.enqueue("mail", { to: "ann" }, options);
  assert.equal(job.existing, false);
  const found = await job.get();
  assert.deepEqual(
    [found.kind, found.queue, found.state, found.args, found.tags],
    ["mail", "bulk", "scheduled", { to: "ann" }, ["a"]],
  );
  assert.equal(milliseconds(found.timeout ?? ""), 1500);
  const again = await client.enqueue("mail", { to: "ann" }, { ...options, id: job.id });
  assert.deepEqual([again.id, again.existing], [job.id, true]);
});

test("many, and pages", async () => {
  const client = new Client({ ...settings(), namespace: "pages" });
  const jobs = Array.from({ length: 240 }, (_, n) => ({ kind: "mail", args: n }));
  const made = await client.enqueueMany([...jobs, { kind: "push", delay: "1h" }]);
  assert.equal(new Set(made.map((job) => job.id)).size, 241);
  assert.equal((await all(client.list())).length, 241);
  assert.equal((await all(client.list({ limit: 205 }))).length, 205);
  assert.deepEqual(
    (await all(client.list({ query: "kind:push" }))).map((job) => job.kind),
    ["push"],
  );
  assert.deepEqual(
    (await all(client.list({ state: "scheduled" }))).map((job) => job.kind),
    ["push"],
  );
  await assert.rejects(client.enqueueMany([{ kind: "mail" }, { kind: "mail", priority: 9 }]), Invalid);
  assert.equal((await all(client.list())).length, 241);
  await assert.rejects(client.enqueueMany([{ kind: "mail" }, { kind: "mail", after: [{ job: newId() }] }]), (error) => {
    assert.ok(error instanceof NotAllEnqueued);
    assert.deepEqual(
      error.jobs.map((job) => job.code !== null),
      [false, true],
    );
    return true;
  });
  assert.equal((await all(client.list())).length, 242);
});

test("wait", async () => {
  const { client } = at;
  const job = await client.enqueue("mail", null, { delay: "1h" });
  await assert.rejects(job.result({ timeout: 200 }), WaitTimeout);
  const reason = new Error("no time left");
  await assert.rejects(job.result({ signal: AbortSignal.timeout(100) }), { name: "TimeoutError" });
  await assert.rejects(job.result({ signal: AbortSignal.abort(reason) }), reason);
  const waits = assert.rejects(job.result(), (error) => {
    assert.ok(error instanceof JobEnded);
    assert.deepEqual([error.state, error.jobId], ["cancelled", job.id]);
    return true;
  });
  await pause(200);
  await job.cancel("not wanted");
  await waits;
  assert.equal((await job.retry()).state, "available");
  assert.equal((await client.job(job.id).get()).state, "available");
});

test("mistakes", async () => {
  const { client } = at;
  const stranger = new Client({ ...settings(), token: "another token", timeout: "1s" });
  await assert.rejects(stranger.enqueue("mail"), Forbidden);
  await assert.rejects(
    client.get(newId()),
    (error) => error instanceof NotFound && error.code === "not_found" && error.status === 404,
  );
  await assert.rejects(
    client.enqueue("mail", 1, { priority: 9 }),
    (error) => error instanceof Invalid && error.errors.length > 0,
  );
  await assert.rejects(client.enqueue("mail", 1, /** @type {any} */ ({ colour: "red" })), TypeError);
  await assert.rejects(client.enqueue("mail", NaN), TypeError);
  const nowhere = new Client({ url: "http://127.0.0.1:1", token: "t", timeout: 200 });
  await assert.rejects(nowhere.get(newId()), Unavailable);
});

test("a server that is away is waited for", async () => {
  const { client, server } = at;
  await server.kill();
  const enqueued = client.enqueue("away");
  await pause(300);
  await server.start();
  assert.equal((await (await enqueued).get()).state, "available");
  assert.equal((await all(client.list({ query: "kind:away" }))).length, 1);
});

function settings() {
  return { url: at.server.url, token: "the token of the tests, which is long" };
}

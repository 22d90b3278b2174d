import assert from "node:assert/strict";
import test from "node:test";
import { Context } from "../src/durable.js";
import { foreign, ofProblem, Unavailable } from "../src/errors.js";
import { Memory } from "../src/memory.js";
import { allTold, functionOf, replayed, told } from "../testing/format.js";

const steps = () => replayed(told("steps.json").journal);

test("a function comes past all that a Go function has left, and does nothing", async (t) => {
  const files = allTold();
  assert.ok(files.length >= 7);
  for (const file of files) {
    await t.test(file.about, async () => {
      const outcome = await new Context(replayed(file.journal)).outcome(functionOf(file));
      assert.deepEqual(outcome, { do: "complete", result: null });
    });
  }
});

test("code that asks for something else than the journal has is told as a Go node tells it", async () => {
  for (const [code, says] of /** @type {[(ctx: Context) => unknown, string][]} */ ([
    [
      (ctx) => ctx.step("pay", () => 1),
      'the code asks for step "pay" at place 1, where the journal (entry 1) has step "charge"',
    ],
    [(ctx) => ctx.sleep(1), 'the code asks for a timer at place 1, where the journal (entry 1) has step "charge"'],
    [
      (ctx) => ctx.step("charge", () => 1),
      'without asking for step "nothing" at place 2, which the journal has (entry 2)',
    ],
    [() => null, 'without asking for step "charge" at place 1'],
    [
      (ctx) => ctx.now().catch(() => {}),
      'the code asks for a value at place 1, where the journal (entry 1) has step "charge"',
    ],
  ])) {
    const outcome = await new Context(steps()).outcome(code);
    assert.equal(outcome?.do, "hold");
    assert.ok(outcome?.reason?.includes(says), outcome?.reason);
  }
});

/** @param {Context} ctx */
async function past(ctx) {
  for (const name of ["charge", "nothing", "text"]) await ctx.step(name, () => 1);
}

/**
 * A run that stores what it is given, slowly.
 * @param {any[]} [stored]
 */
function storing(stored = []) {
  const run = steps();
  const request = run.request;
  run.request = async (/** @type {string} */ method, /** @type {string} */ what, /** @type {any} */ how) => {
    if (method === "GET") return request(method, what, how);
    stored.push(...how.body.entries);
    const last = how.body.after + how.body.entries.length;
    return {
      last,
      entries: how.body.entries.map(() => ({ seq: last, name: null, data: null })),
      now: "2000-01-01T02:00:00Z",
    };
  };
  return run;
}

test("operations are awaited one after the other, and do not nest", async () => {
  for (const [code, says] of /** @type {[(ctx: Context) => unknown, RegExp][]} */ ([
    [(ctx) => ctx.step("new", () => ctx.now()), /now was called while step "new" was under way/],
    [(ctx) => ctx.step("new", () => ctx.now().catch(() => 1)), /now was called while step "new" was under way/],
    [(ctx) => ctx.step("new", () => ctx.uuid()), /uuid was called while step "new" was under way/],
    [
      (ctx) => Promise.all([ctx.step("a", () => 1), ctx.step("b", () => 2)]),
      /step "b" was called while step "a" was under way/,
    ],
    [(ctx) => void ctx.step("a", () => 1), /the function returned while step "a" was under way/],
    [(ctx) => Promise.race([ctx.sleep(30), ctx.step("a", () => 1)]), /step "a" was called while a sleep was under way/],
  ])) {
    await assert.rejects(
      new Context(storing()).outcome(async (ctx) => {
        await past(ctx);
        await code(ctx);
      }),
      (error) => error instanceof Error && error.name === "Misuse" && says.test(error.message),
    );
  }
});

test("a function that catches everything is parked all the same, and nothing of it runs after that", async () => {
  let after = 0;
  const outcome = await new Context(steps()).outcome(async (ctx) => {
    await past(ctx);
    try {
      await ctx.waitSignal("approved");
    } catch {
      after += 1;
    } finally {
      after += 1;
    }
    after += 1;
  });
  assert.deepEqual([outcome?.do, outcome?.waits_for, outcome?.seen], ["park", ["signal approved"], 0]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(after, 0);
});

test("what was decided goes with the end, in order, and large steps in requests of their own", async () => {
  const stored = /** @type {any[]} */ ([]);
  const outcome = await new Context(storing(stored)).outcome(async (ctx) => {
    await past(ctx);
    assert.equal(ctx.patched("change"), true);
    assert.equal(ctx.patched("change"), true);
    const result = await ctx.step("dates", (/** @type {any} */ { idempotencyKey, attempt }) => ({
      at: new Date(0),
      idempotencyKey,
      attempt,
    }));
    assert.deepEqual(result, { at: "1970-01-01T00:00:00.000Z", idempotencyKey: `${ctx.id}/dates`, attempt: 1 });
    await ctx.now();
    await ctx.sleep("1h");
  });
  assert.deepEqual(stored.map(({ kind, path, name }) => [kind, path, name]), [["patched", undefined, "change"], ["step", "4", "dates"]]); // prettier-ignore
  assert.equal(outcome?.do, "park");
  assert.equal(outcome?.journal?.after, 5);
  assert.deepEqual(outcome?.journal?.entries.map(({ kind, path }) => [kind, path]), [["value", "5"], ["timer", "6"]]); // prettier-ignore
  assert.equal(outcome?.until, outcome?.journal?.entries[1]?.data.until);
});

test("what the server would refuse again ends the job, whatever the function catches; else the attempt ends", async () => {
  const about = [{ pointer: "/entries/0/name", detail: "it is odd" }];
  for (const [status, code, errors, isPermanent] of /** @type {const} */ ([
    [422, "invalid", about, true],
    [400, "malformed", [], true],
    [413, "too_large", [], true],
    [413, "", [], true],
    [404, "not_found", about, true],
    [409, "conflict", about, true],
    [409, "conflict", [], false],
    [409, "journal_full", [], false],
    [401, "unauthenticated", [], false],
    [403, "forbidden", [], false],
    [421, "wrong_host", [], false],
  ])) {
    const refused = ofProblem(status, { code, detail: "no such thing", errors });
    const run = steps();
    const read = run.request;
    run.request = async (/** @type {string} */ method, /** @type {string} */ what, /** @type {any} */ how) => {
      if (method === "GET") return read(method, what, how);
      throw refused;
    };
    let effects = 0;
    const ended = new Context(run).outcome(async (ctx) => {
      await past(ctx);
      await ctx.step("new", () => (effects += 1)).catch(() => {});
    });
    const error = await ended.then(() => undefined, (why) => why); // prettier-ignore
    assert.equal(effects, 1);
    assert.match(error.message, /no such thing/);
    assert.deepEqual([error.name === "Permanent", isPermanent ? error.cause : error], [isPermanent, refused], code);
  }
});

test("an append that a firewall refuses ends the job once beats were answered meanwhile, and is repeated until then", async () => {
  const run = steps();
  const read = run.request;
  let refused = 0;
  run.request = async (/** @type {string} */ method, /** @type {string} */ what, /** @type {any} */ how) => {
    if (method === "GET") return read(method, what, how);
    refused += 1;
    throw foreign(403, "at 127.0.0.1:1", "it answers 403");
  };
  run.repeat = async (/** @type {(again: boolean) => Promise<any>} */ make) => {
    for (;;) {
      try {
        return await make(true);
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
      }
    }
  };
  Object.defineProperty(run, "answeredBeats", { get: () => Math.max(refused - 10, 0) });
  const ended = new Context(run).outcome(async (ctx) => {
    await past(ctx);
    await ctx.step("new", () => 1);
  });
  const says = /would refuse it again: what answers at 127.0.0.1:1 is not Holdfast/;
  await assert.rejects(ended, (error) => error instanceof Error && error.name === "Permanent" && says.test(error.message));
  assert.equal(refused, 12);
});

test("UUIDs are those of Python, and of Go", () => {
  const memory = new Memory("00dc6acf-ac00-7006-86bc-6409df2d74de");
  assert.equal(memory.uuid(), "aa98d11e-5264-8b7d-bc1a-87c28a699237");
  assert.equal(memory.uuid(), "3123d263-b580-8e32-84d6-3f77d3e0c636");
  memory.times = 3;
  assert.equal(memory.uuid(), "b2dc7830-bba1-885e-b1dd-612ab2c5abee");
});

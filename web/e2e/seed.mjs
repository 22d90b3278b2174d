// Data for the tests and pictures of the dashboard, made through the public API by the client for
// TypeScript: orders that wait, fail and end, as a shop would have them.
import { Client, Permanent, Worker } from "../../clients/typescript/src/index.js";

/** Starts a worker, and enqueues what it and others run. It returns what tests look for, and stop. */
export async function seed(url, token) {
  const client = new Client({ url, token });
  const worker = new Worker(client, { slots: 8, name: "shop-1", version: "1.4.0" });

  worker.function("order", async (ctx, args) => {
    const steps = (state) => [
      { name: "charge", state: "completed" },
      { name: "approve", state, actions: state === "waiting" ? [{ label: "Approve", signal: "approved", payload: { by: "the dashboard" } }] : [] },
      { name: "ship", state: state === "waiting" ? "scheduled" : "completed" },
    ];
    await ctx.step("charge", async () => (await wait(30), { cents: args.cents }), { attempts: 3 });
    await ctx.step("reserve", async () => (await wait(20), "shelf 7"));
    await ctx.publish("steps", steps("waiting"));
    const approval = await ctx.waitSignal("approved", { timeout: "72h" });
    await ctx.publish("steps", steps("completed"));
    const parcel = await ctx.call("ship", { order: args.id });
    await ctx.step("say thanks", () => approval);
    return parcel;
  });
  worker.function("flaky", async (ctx) => {
    let tries = 0;
    await ctx.step("ask the bank", async ({ attempt }) => {
      await wait(15);
      if ((attempt ?? ++tries) < 3 && ++tries < 3) throw new Error("the bank did not answer");
      return "it did";
    }, { attempts: 5, backoff: "100ms" });
    return "done";
  });
  worker.function("long", async (ctx, args) => {
    for (let i = 0; i < args.steps; i++) await ctx.step(`part ${i + 1}`, () => i);
    return args.steps;
  });
  worker.function("slow", async (ctx) => {
    for (const name of ["one", "two", "three"]) await ctx.step(name, () => wait(700));
  });
  worker.handle("ship", async (run) => {
    await run.progress({ percent: 50, message: "in the van" });
    await wait(80);
    return { parcel: "P-1" };
  });
  worker.handle("mail", async (run, args) => {
    if (args.to === "nobody") throw new Permanent("550 no such mailbox: nobody@example.com");
    await wait(5);
    return { sent: true };
  });
  worker.handle("unlucky", async () => {
    throw new Error("not today");
  });
  worker.handle("once-flaky", async (run) => {
    if (run.attempt === 1) throw new Error("the first one fails");
  });
  worker.handle("parcel", async (run, args) => {
    if (!args.right) throw new Permanent("no such address");
  });
  const running = worker.run();
  const stop = async () => {
    worker.stop();
    await running;
  };
  try {
    return { client, stop, ...(await fill(client, url, token)) };
  } catch (error) {
    await stop(); // else the process would go on
    throw error;
  }
}

const wait = (ms) => new Promise((wake) => setTimeout(wake, ms));

/** Enqueues jobs, and makes all else that pages show. */
async function fill(client, url, token) {
  const jobs = {};
  const keep = async (name, kind, args, options) => (jobs[name] = (await client.enqueue(kind, args, options)).id);
  await keep("waits", "order", { id: 7, cents: 1990 }, { queue: "orders", key: "order-7", tags: ["urgent"] });
  await keep("ends", "order", { id: 8, cents: 450 }, { queue: "orders", key: "order-8" });
  await keep("retries", "flaky", {}, { queue: "orders" });
  await keep("long", "long", { steps: 300 }, { queue: "batch" });
  for (let i = 0; i < 30; i++) await client.enqueue("mail", { to: `ann+${i}@example.com` }, { queue: "letters", tags: i % 3 === 0 ? ["newsletter"] : [] });
  for (let i = 0; i < 4; i++) await keep("fails", "mail", { to: "nobody" }, { queue: "letters", maxAttempts: 2 });
  await keep("scheduled", "report", { month: "2026-11" }, { queue: "reports", delay: "2h" });
  await keep("unserved", "report", { month: "2026-10" }, { queue: "reports" });
  await client.job(jobs.ends).signal("approved", { by: "ann" });
  await client.job(jobs.ends).result({ timeout: 60_000 });
  await client.job(jobs.retries).result({ timeout: 60_000 });
  await client.job(jobs.long).result({ timeout: 60_000 });
  for (let i = 0; i < 100 && (await client.job(jobs.fails).get()).state !== "failed"; i++) await wait(50);

  const api = async (method, path, body, etag) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json", ...(etag ? { "If-Match": etag } : {}) };
    const answer = await fetch(`${url}/api/v1${path}`, { method, headers, body: method === "GET" ? undefined : JSON.stringify(body ?? {}) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  };
  await api("POST", "/schedules", { name: "nightly-report", cron: "30 2 * * *", tz: "Europe/Berlin", job: { kind: "report", queue: "reports", args: { month: "now" } } });
  await api("POST", "/schedules", { name: "heartbeat", every: "10m", job: { kind: "mail", queue: "letters", args: { to: "ops@example.com" } } });
  await api("POST", "/schedules/heartbeat/trigger");
  await api("POST", "/schedules/heartbeat/pause", { note: "until the mail server is back" }, "*");
  await api("PUT", "/limits/mail-server", { capacity: 3, kinds: { mail: 1 } });
  await api("PUT", "/limits/bank", { rate: "50/s", queues: ["orders"] });
  await api("POST", "/operations", { action: "pause", ids: [jobs.scheduled], reason: "the month is not over" });
  await api("POST", "/keys", { name: "ci", role: "viewer", namespace: "default" });
  const batch = (await api("POST", "/batches", { name: "import of May", on_end: [{ kind: "mail", queue: "letters", args: { to: "ops@example.com" } }] })).id;
  await api("POST", "/jobs/batch", { jobs: [1, 2].map((n) => ({ kind: "report", queue: "reports", args: { n }, delay: "9h", batch })) });
  await api("POST", `/batches/${batch}/close`);
  jobs.payout = await waitsForACallback(client, api);
  return { jobs, api, batch, callback: () => waitsForACallback(client, api, "refund") };
}

/** A run that waits for the callback of an outside system, made by the protocol of workers. It returns the job. */
async function waitsForACallback(client, api, kind = "payout") {
  const { worker } = await api("POST", "/workers", { name: "bank-1", kinds: [kind], slots: 1, journal: 1 });
  const { id } = await client.enqueue(kind, { cents: 100 }, { queue: "orders" });
  const { jobs } = await api("POST", `/workers/${worker}/poll?wait=10s`, { want: 1, seq: 1 });
  const run = `/runs/${jobs[0].lease}`;
  await api("POST", run + "/journal", { after: 0, entries: [{ kind: "callback", path: "1", data: { name: "bank" } }] });
  await api("POST", run + "/park", { messages: ["callback", "callback failed"], seen: 0, waits_for: ["callback bank"], for: "24h" });
  await api("POST", `/workers/${worker}/leave`);
  return id;
}

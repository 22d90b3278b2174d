/** How programs use the types, and what these refuse. */

import { Client, JobEnded, kind, signal, Worker, type Job } from "holdfast";

const mail = kind<{ to: string }, { sent: boolean }>("mail");
const tick = kind<void, number>("tick");
const approved = signal<{ by: string }>("approved");

export async function enqueues(client: Client): Promise<void> {
  const job: Job<{ sent: boolean }> = await client.enqueue(mail, { to: "ann" }, { queue: "mails", timeout: "30s" });
  const { sent } = await job.result({ timeout: 1000 });
  sent satisfies boolean;
  // @ts-expect-error the args are of another type
  await client.enqueue(mail, { to: 1 });
  // @ts-expect-error the args are missing
  await client.enqueue(mail);
  // @ts-expect-error there is no such option
  await client.enqueue(mail, { to: "ann" }, { colour: "red" });
  // @ts-expect-error a priority is a number
  await client.enqueue(mail, { to: "ann" }, { priority: "high" });

  const ticked = await client.enqueue(tick);
  (await ticked.result()) satisfies number;
  const untyped = await client.enqueue("anything", { at: [1, 2] }, { delay: 500 });
  // @ts-expect-error the result of a kind that is told by its name is unknown
  (await untyped.result()) satisfies number;
  const told = await client.enqueue<{ n: number }, string>("told", { n: 1 });
  (await told.result()) satisfies string;

  await job.signal(approved, { by: "ann" });
  // @ts-expect-error the payload is of another type
  await job.signal(approved, { from: "ann" });
  await client.signal(job.id, "free", 1);
  for await (const one of client.list({ query: "kind:mail", limit: 5, state: "failed" }))
    one.lease_number satisfies string | null;
  await client
    .job<number>("id")
    .result()
    .catch((error: unknown) => error instanceof JobEnded && error.reason);
  // @ts-expect-error a job is made by a client
  new (await import("holdfast")).Job();
}

export function works(client: Client): Worker {
  return new Worker(client, { slots: 5, queues: ["mail-*"], stopTimeout: "10s" })
    .handle(mail, async (run, args) => {
      args.to satisfies string;
      await fetch("http://mail.example", { signal: run.signal });
      return { sent: true };
    })
    .handle("untyped", (_, args) => args.anything)
    .function(tick, async (ctx) => {
      const step = await ctx.step("one", async ({ attempt }) => ({ attempt }));
      step.attempt satisfies number;
      const { by } = await ctx.waitSignal(approved, { timeout: "1h" });
      by satisfies string;
      const decoded = await ctx.waitSignal("count", { decode: (payload) => Number(payload) });
      decoded satisfies number;
      const child = await ctx.child(mail, { to: by }, { onClose: "abandon" });
      (await child.result()).sent satisfies boolean;
      await ctx.signal(child, approved, { by });
      (await ctx.now()).getTime() satisfies number;
      // @ts-expect-error a child has no key
      await ctx.child(mail, { to: by }, { key: "a" });
      return step.attempt;
    });
}

export function wrong(client: Client): void {
  const worker = new Worker(client);
  // @ts-expect-error the handler returns another type
  worker.handle(mail, () => ({ sent: "yes" }));
  // @ts-expect-error a worker has no such option
  new Worker(client, { threads: 4 });
}

/** The durable function of the README, word for word: a test compares them. */

import { Client, kind, Permanent, signal, WaitTimeout, Worker } from "holdfast";

type Order = { id: number; cents: number };

export const order = kind<Order, string>("order");
export const ship = kind<{ order: number; by: string }, string>("ship");
export const approved = signal<{ by: string }>("approved");

export const worker = new Worker(new Client());

worker.function(order, async (ctx, args) => {
  const paid = await ctx.step("charge", ({ signal, idempotencyKey }) => charge(args, idempotencyKey, signal), {
    attempts: 5,
  });
  const approval = await ctx.waitSignal(approved, { timeout: "72h" }).catch((error) => {
    throw error instanceof WaitTimeout ? new Permanent("it was not approved in time") : error;
  });
  await ctx.publish("state", "packing");
  const parcel = await ctx.call(ship, { order: args.id, by: approval.by });
  await ctx.sleep("336h");
  await ctx.step("ask how it was", () => console.log(paid, parcel));
  return parcel;
});

async function charge(order: Order, key: string, signal: AbortSignal): Promise<string> {
  const headers = { "Idempotency-Key": key };
  const answer = await fetch("https://bank.example/charges", {
    method: "POST",
    headers,
    signal,
    body: JSON.stringify(order),
  });
  return answer.text();
}

// Forms with which people answer a run that waits for them.
import { change } from "../api/data";
import { path } from "../api/http";
import type { Job, JournalEntry, JournalMessage, MessageAnswer } from "../api/schema";
import { json, type Ask } from "../ui/action";

/** The names of what a job waits for, of a kind: "signal" or "callback". */
export function awaited(j: Pick<Job, "wait">, kind = "signal"): string[] {
  const list = (j.wait?.for as { waits_for?: unknown } | null | undefined)?.waits_for;
  if (!Array.isArray(list)) return [];
  return list.filter((one): one is string => typeof one === "string" && one.startsWith(kind + " ")).map((one) => one.slice(kind.length + 1));
}

/** The callbacks that a run has given out tokens for, and has no answer to, by their names. */
export function openCallbacks(entries: JournalEntry[], messages: JournalMessage[]): { name: string; token: string }[] {
  const answered = new Set(messages.filter((m) => m.kind === "callback" || m.kind === "callback failed").map((m) => m.name));
  const all: { name: string; token: string }[] = [];
  for (const e of entries) {
    if (e.kind !== "callback" || !e.name || answered.has(e.name)) continue;
    const name = (e.data as { name?: unknown } | null)?.name;
    all.push({ name: typeof name === "string" ? name : "callback", token: e.name });
  }
  return all;
}

/** Answers a callback in place of the outside system. */
export function callbackForm(c: { name: string; token: string }, fails = false): Ask {
  return {
    title: fails ? `Let the callback ${c.name} fail` : `Complete the callback ${c.name}`, yes: fails ? "Let it fail" : "Complete", danger: fails,
    text: "In place of the system outside, which finds it answered when it comes.",
    fields: [fails ? { name: "message", label: "Why", required: true } : { name: "payload", label: "Payload, as JSON", type: "json" }],
    run: async (v, { once }) => {
      await change("POST", path`/callbacks/${c.token}/${fails ? "fail" : "complete"}`, fails ? { message: v.message } : { payload: json(v.payload) }, { once });
      return `The callback ${c.name} is answered`;
    },
  };
}

export function signalForm(j: Job, name = awaited(j)[0] ?? ""): Ask {
  return {
    title: name ? `Send the signal ${name}` : "Send a signal", yes: "Send", text: <>To {j.kind} <span class="mono">{j.id}</span>. What the payload has to be is said by the code that waits for it.</>,
    fields: [{ name: "name", label: "Signal", required: true, value: name }, { name: "payload", label: "Payload, as JSON", type: "json", hint: 'such as true, or {"by": "ann"}; none, if it is empty' }],
    run: async (v, { once }) => {
      await change("POST", path`/jobs/${j.id}/signals`, { name: v.name, payload: json(v.payload), dedup_key: once });
      return `The signal ${v.name} is sent`;
    },
  };
}

/** Asks a run for something, and tells what it has answered. */
export function updateForm(j: Job, names: string[] = []): Ask {
  return {
    title: "Make a request", yes: "Send", text: "A request is answered by the run, or refused.",
    fields: [
      names.length > 0 ? { name: "name", label: "Request", type: "select", options: names, value: names[0] } : { name: "name", label: "Request", required: true },
      { name: "payload", label: "Payload, as JSON", type: "json" },
    ],
    run: async (v, { once }) => {
      const done = await change<MessageAnswer>("POST", path`/jobs/${j.id}/updates/${v.name ?? ""}`, { payload: json(v.payload), dedup_key: once }, { params: { wait: "5s" } });
      if (done.error) throw new Error(done.error);
      return done.state === "waiting" ? "It is sent; the run has not answered yet" : `It answered ${JSON.stringify(done.answer)}`;
    },
  };
}

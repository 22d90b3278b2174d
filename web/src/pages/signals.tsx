// Forms with which people answer a run that waits for them.
import { change } from "../api/data";
import { path } from "../api/http";
import type { Job, MessageAnswer } from "../api/schema";
import { json, type Ask } from "../ui/action";

/** The names of the signals that a job waits for, as far as it says. */
export function awaited(j: Pick<Job, "wait">): string[] {
  const list = (j.wait?.for as { waits_for?: unknown } | null | undefined)?.waits_for;
  if (!Array.isArray(list)) return [];
  return list.filter((one): one is string => typeof one === "string" && one.startsWith("signal ")).map((one) => one.slice("signal ".length));
}

export function signalForm(j: Job, name = awaited(j)[0] ?? "", payload = ""): Ask {
  return {
    title: name ? `Send the signal ${name}` : "Send a signal", yes: "Send",
    fields: [{ name: "name", label: "Signal", required: true, value: name }, { name: "payload", label: "Payload, as JSON", type: "json", value: payload, hint: "such as true; none, if it is empty" }],
    run: async (v) => {
      await change("POST", path`/jobs/${j.id}/signals`, { name: v.name, payload: json(v.payload) });
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
    run: async (v) => {
      const done = await change<MessageAnswer>("POST", path`/jobs/${j.id}/updates/${v.name ?? ""}`, { payload: json(v.payload) }, { params: { wait: "5s" } });
      if (done.error) throw new Error(done.error);
      return done.state === "completed" ? `It answered ${JSON.stringify(done.answer)}` : "It is sent; the run has not answered yet";
    },
  };
}

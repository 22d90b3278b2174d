// The dialog that enqueues a job.
import { change } from "../api/data";
import type { Enqueued } from "../api/schema";
import { go, href } from "../state/route";
import { json, type Ask } from "../ui/action";

export function enqueue(from: { kind?: string; queue?: string; args?: string } = {}): Ask {
  return {
    title: "Enqueue a job", yes: "Enqueue", text: "Options that code gives the kind where it enqueues, such as a queue and attempts, are not known here.",
    fields: [
      { name: "kind", label: "Kind", required: true, value: from.kind, known: "/kinds" },
      { name: "args", label: "Args, as JSON", type: "json", value: from.args },
      { name: "queue", label: "Queue", value: from.queue, hint: "default, if it is empty", known: "/queues" },
      { name: "max_attempts", label: "Attempts at most", type: "number", hint: "as the queue and the handler say, or 25, if it is empty" },
      { name: "delay", label: "Not before", hint: "such as 10m or 2h; now, if it is empty" },
      { name: "key", label: "Key", hint: "by which signals find it" },
      { name: "tags", label: "Tags", hint: "with commas between them" },
    ],
    async run(v, { once }) {
      const tags = (v.tags ?? "").split(",").map((t) => t.trim()).filter(Boolean);
      const done = await change<Enqueued>("POST", "/jobs", {
        kind: v.kind, args: json(v.args), queue: v.queue || undefined, delay: v.delay || undefined, max_attempts: v.max_attempts ? Number(v.max_attempts) : undefined, key: v.key || undefined, tags: tags.length > 0 ? tags : undefined,
      }, { once });
      go(href("/jobs/" + done.id));
      return done.existing ? "The job was there already" : "The job is enqueued";
    },
  };
}

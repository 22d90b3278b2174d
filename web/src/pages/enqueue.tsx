// The dialog that enqueues a job.
import { change } from "../api/data";
import type { Enqueued } from "../api/schema";
import { go, href } from "../state/route";
import { json, type Ask } from "../ui/action";

export function enqueue(from: { kind?: string; queue?: string; args?: string } = {}): Ask {
  return {
    title: "Enqueue a job", yes: "Enqueue",
    fields: [
      { name: "kind", label: "Kind", required: true, value: from.kind },
      { name: "args", label: "Args, as JSON", type: "json", value: from.args },
      { name: "queue", label: "Queue", value: from.queue, hint: "default, if it is empty" },
      { name: "delay", label: "Not before", hint: "such as 10m or 2h; now, if it is empty" },
      { name: "key", label: "Key", hint: "by which signals find it" },
      { name: "tags", label: "Tags", hint: "with commas between them" },
    ],
    async run(v, { once }) {
      const tags = (v.tags ?? "").split(",").map((t) => t.trim()).filter(Boolean);
      const done = await change<Enqueued>("POST", "/jobs", {
        kind: v.kind, args: json(v.args), queue: v.queue || undefined, delay: v.delay || undefined, key: v.key || undefined, tags: tags.length > 0 ? tags : undefined,
      }, { once });
      go(href("/jobs/" + done.id));
      return done.existing ? "The job was there already" : "The job is enqueued";
    },
  };
}

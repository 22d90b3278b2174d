// The form that makes a new job of what another one remembers.
import { change } from "../api/data";
import { path } from "../api/http";
import type { Forked } from "../api/schema";
import { go, href } from "../state/route";
import type { Ask } from "../ui/action";

export function forkForm(id: string, from = ""): Ask {
  return {
    title: "Fork the job", yes: "Fork", text: "A new job begins with what this one remembers, up to a place; this one stays as it is.",
    fields: [{ name: "from", label: "From the place", value: from, hint: "of the timeline, such as 3; from the beginning, if it is empty" }, { name: "reason", label: "Reason, which is recorded" }],
    run: async (v, { once }) => {
      const done = await change<Forked>("POST", path`/jobs/${id}/fork`, { from: v.from || undefined, reason: v.reason || undefined }, { once });
      go(href("/jobs/" + done.id));
      return "The fork is enqueued";
    },
  };
}

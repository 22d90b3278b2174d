// The query of jobs: the same words as the command line and the API have. What it means is the
// server's to say; here it is only completed.

export const words = ["state", "queue", "kind", "tag", "id", "reason", "key", "parent", "root", "batch", "fingerprint", "since", "before",
  "finished_since", "finished_before", "args.", "metadata.", "attr."];

export const states = ["available", "running", "scheduled", "retryable", "waiting", "completed", "failed", "cancelled"];

/** The conditions of a query: cut at spaces that are not within quotes. */
export function conditions(text: string): string[] {
  return text.match(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g) ?? [];
}

/** The value of a name in a query, without quotes; "": it has none. */
export function valueOf(text: string, name: string): string {
  const found = conditions(text).find((c) => c.startsWith(name + ":"));
  return found ? found.slice(name.length + 1).replace(/^"|"$/g, "") : "";
}

/** A value as a query has it: in quotes where it needs them. */
export const quoted = (value: string) => (/[\s,"]/.test(value) ? JSON.stringify(value) : value);

/** The query with a condition in place of those of its name; "": without them. */
export function withValue(text: string, name: string, value: string): string {
  const rest = conditions(text).filter((c) => !c.startsWith(name + ":"));
  return [...rest, ...(value ? [`${name}:${quoted(value)}`] : [])].join(" ");
}

/** The query of one condition, whatever its value has in it. */
export const by = (name: string, value: string) => withValue("", name, value);

/** What a person means by a word alone: a kind or a queue that there is, or else a query as it is. */
export function meant(text: string, known: Record<string, string[]>): string {
  const word = text.trim();
  if (word === "" || /[:\s]/.test(word)) return word;
  for (const name of ["kind", "queue"]) if (known[name]?.includes(word)) return by(name, word);
  return /^[0-9a-f]{8}-[0-9a-f-]{27}$/i.test(word) ? "id:" + word : word;
}

/** What may stand at the end of a query, as the whole queries that they would make. */
export function completions(text: string, known: Record<string, string[]>): string[] {
  const at = /(\S*)$/.exec(text)?.[1] ?? "";
  const before = text.slice(0, text.length - at.length);
  const colon = at.indexOf(":");
  if (colon < 0) {
    const all = [...words, ...(known["attr."] ?? []).map((name) => "attr." + name)];
    const found = all.filter((w) => w.startsWith(at) && w !== at).map((w) => before + w + (w.endsWith(".") ? "" : ":"));
    return found.length > 0 ? found : ["kind", "queue", "tag"].map((name) => before + by(name, at)); // a word alone is no query
  }
  const name = at.slice(0, colon);
  const list = at.slice(colon + 1);
  const begun = list.slice(list.lastIndexOf(",") + 1);
  const kept = at.slice(0, at.length - begun.length);
  const values = name === "state" ? states : name.startsWith("finished_") || name === "since" || name === "before" ? ["15m", "1h", "24h", "7d"] : (known[name] ?? []);
  return values.filter((v) => v.startsWith(begun) && v !== begun).slice(0, 20).map((v) => before + kept + quoted(v) + " ");
}

// Buttons that change something: a dialog asks first where that cannot be undone or needs to be said
// more of, and a note tells what came of it.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useData } from "../api/data";
import { Failure, parse } from "../api/http";
import { page, place } from "../state/route";
import { may } from "../state/session";
import { freeRows } from "./hold";
import { toast } from "./toast";

export interface Field {
  name: string;
  label: string;
  type?: "text" | "number" | "json" | "select" | "checkbox" | "datetime-local";
  value?: string;
  options?: string[];
  required?: boolean;
  hint?: string;
  /** A list of the API: the names of its things may be picked. */
  known?: "/kinds" | "/queues";
}

export type Values = Record<string, string>;

export interface Ask {
  title: string;
  text?: ComponentChildren;
  fields?: Field[];
  /** What the button says. */
  yes: string;
  danger?: boolean;
  /** What has to be typed before the button works, where much is at stake. */
  typed?: string;
  /** Does it, and says what was done, or asks what is to be asked then. */
  run(values: Values, o: Doing): Promise<string | Ask>;
}

export interface Doing {
  /** A key of this try: the same again if its answer was lost, another one for other values. */
  once: string;
  /** Whether the person has gone away from it: what has many pieces stops then. */
  isLeft(): boolean;
}

const asked = signal<Ask | null>(null);
let closedAt = 0; // when a dialog was, and gave the focus back

export const ask = (a: Ask) => (asked.value = a);

// What is asked is about the page and the namespace that are shown.
let shown = "";
page.subscribe((now) => {
  if (now !== shown) asked.value = null;
  shown = now;
});

/** A key that nothing else has, also where browsers have no randomUUID: on pages without TLS. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
}

/** A number of a text, by which other texts are told from it (FNV-1a). */
function hash(text: string): string {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h >>> 0).toString(16);
}

/** A JSON value that a person has written; "": none. It throws an error that says where it is wrong. */
export function json(text: string | undefined): unknown {
  if (!text?.trim()) return undefined;
  try {
    return parse(text);
  } catch (error) {
    throw new Error("That is no JSON: " + (error as Error).message);
  }
}

/** How long a button rests after a click, in milliseconds: the second one of two was not meant. */
const doubleClick = 500;

export function Action({ ask: a, run, prepare, children, danger, disabled, quiet, title }: {
  ask?: Ask;
  /** Does it. once is the same until it has come to an end. */
  run?: (once: string) => Promise<string>;
  /** Finds out what to ask. */
  prepare?: () => Promise<Ask>;
  children: ComponentChildren;
  danger?: boolean;
  disabled?: boolean;
  quiet?: boolean;
  title?: string;
}) {
  const [busy, setBusy] = useState(false);
  const once = useRef(newKey());
  const click = async (event: MouseEvent) => {
    if (event.detail === 0 && Date.now() - closedAt < doubleClick) return; // Enter was pressed in the dialog, and once more
    if (a) return void ask(a);
    setBusy(true);
    const here = place.peek();
    const rested = new Promise((wake) => setTimeout(wake, doubleClick));
    try {
      if (run) {
        toast(await run(once.current));
        once.current = newKey();
      }
      const found = await prepare?.();
      if (found && place.peek() === here) ask(found); // else it is of another list
    } catch (error) {
      if (!(error instanceof Failure) || error.status > 0) once.current = newKey(); // it was answered
      toast((error as Error).message, true);
    }
    await rested;
    setBusy(false);
  };
  return (
    <button class={(danger ? "danger " : "") + (quiet ? "quiet" : "")} disabled={disabled || busy} title={title} onClick={(e) => void click(e)}>
      {children}
    </button>
  );
}

/** The dialog of what is asked. */
export function Dialog() {
  const a = asked.value;
  return a ? <Open key={keyOf(a)} ask={a} /> : null;
}

const keysOf = new WeakMap<Ask, string>();

function keyOf(a: Ask): string {
  const key = keysOf.get(a) ?? newKey();
  keysOf.set(a, key);
  return key;
}

function Open({ ask: a }: { ask: Ask }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>(Object.fromEntries((a.fields ?? []).map((f) => [f.name, f.value ?? ""])));
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const isLeft = () => asked.peek() !== a;
  const closed = () => {
    closedAt = Date.now();
    if (!isLeft()) asked.value = null;
  };
  const close = () => {
    closedAt = Date.now();
    dialog.current?.close(); // gives the focus back, and then tells closed
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    try {
      const done = await a.run(values, { once: keyOf(a) + hash(JSON.stringify(values)), isLeft });
      freeRows();
      if (typeof done === "string") toast(done);
      else if (!isLeft()) return void ask(done);
      close();
    } catch (e) {
      if (isLeft()) toast(`${a.title}: ${(e as Error).message}`, true);
      setError(e as Error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onClose={closed}>
      <form method="dialog" onSubmit={(e) => void submit(e)}>
        <h2 id="ask-title">{a.title}</h2>
        {a.text && <div class="text">{a.text}</div>}
        {a.fields?.map((f) => <Input key={f.name} field={f} value={values[f.name] ?? ""} set={(v) => setValues((all) => ({ ...all, [f.name]: v }))} />)}
        {a.typed && (
          <label>
            Type <code>{a.typed}</code> to go on
            <input value={typed} onInput={(e) => setTyped(e.currentTarget.value)} autocomplete="off" spellcheck={false} />
          </label>
        )}
        {error && <Refusal error={error} fields={a.fields ?? []} />}
        <div class="buttons">
          <button type="button" onClick={close}>Close</button>
          <button type="submit" class={a.danger ? "danger solid" : "solid"} disabled={busy || (!!a.typed && typed !== a.typed)}>{a.yes}</button>
        </div>
      </form>
    </dialog>
  );
}

/** Why it was refused. A field is told by the name that it has in the form. */
function Refusal({ error, fields }: { error: Error; fields: Field[] }) {
  const said = error instanceof Failure ? error.fields.map((f) => ({ ...f, label: fields.find((one) => f.pointer === "/" + one.name)?.label })) : [];
  if (!said.some((f) => f.label) && said.length < 2) return <div class="trouble" role="alert"><p>{error.message}</p></div>;
  return (
    <div class="trouble" role="alert">
      {said.length > 1 && <p>{error.message}</p>}
      <ul>{said.map((f) => <li key={f.pointer}>{f.label ? <b>{f.label}:</b> : <code>{f.pointer}</code>} {f.detail}</li>)}</ul>
    </div>
  );
}

/** Names to pick from. */
function Known({ id, of }: { id: string; of: "/kinds" | "/queues" }) {
  const all = useData<{ items: { name: string }[] }>(may("queues:read") ? of : null, { limit: 200 }, "never");
  return <datalist id={id}>{all.value?.items.map((one) => <option key={one.name} value={one.name} />)}</datalist>;
}

function Input({ field: f, value, set }: { field: Field; value: string; set: (v: string) => void }) {
  const hint = f.hint && <small>{f.hint}</small>;
  if (f.type === "checkbox") {
    return (
      <label class="check">
        <input type="checkbox" checked={value === "true"} onChange={(e) => set(String(e.currentTarget.checked))} /> {f.label} {hint}
      </label>
    );
  }
  return (
    <label>
      {f.label}
      {f.type === "select" ? (
        <select value={value} onChange={(e) => set(e.currentTarget.value)}>
          {f.options?.map((o) => <option key={o} value={o}>{o || "–"}</option>)}
        </select>
      ) : f.type === "json" ? (
        <textarea rows={6} spellcheck={false} class="mono" value={value} required={f.required} onInput={(e) => set(e.currentTarget.value)} />
      ) : (
        <input type={(f.type ?? "text") as "text"} step={f.type === "datetime-local" ? "1" : undefined} value={value} required={f.required} spellcheck={false}
          autocomplete="off" list={f.known && "known-" + f.name} onInput={(e) => set(e.currentTarget.value)} />
      )}
      {f.known && <Known id={"known-" + f.name} of={f.known} />}
      {hint}
    </label>
  );
}

// Buttons that change something: a dialog asks first where that cannot be undone or needs to be said
// more of, and a note tells what came of it.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, parse } from "../api/http";
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
  run(values: Values): Promise<string | Ask>;
}

const asked = signal<Ask | null>(null);

export const ask = (a: Ask) => (asked.value = a);
export const isAsking = () => asked.value !== null;

/** Does something without asking, and tells what came of it. */
export async function attempt(run: () => Promise<string>): Promise<void> {
  try {
    toast(await run());
  } catch (error) {
    toast((error as Error).message, true);
  }
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

export function Action({ ask: a, run, prepare, children, danger, disabled, quiet, title }: {
  ask?: Ask;
  run?: () => Promise<string>;
  /** Finds out what to ask, and asks. */
  prepare?: () => Promise<void>;
  children: ComponentChildren;
  danger?: boolean;
  disabled?: boolean;
  quiet?: boolean;
  title?: string;
}) {
  const [busy, setBusy] = useState(false);
  const click = async () => {
    if (a) return void ask(a);
    setBusy(true);
    try {
      if (run) await attempt(run);
      await prepare?.();
    } catch (error) {
      toast((error as Error).message, true);
    }
    setBusy(false);
  };
  return (
    <button class={(danger ? "danger " : "") + (quiet ? "quiet" : "")} disabled={disabled || busy} title={title} onClick={() => void click()}>
      {children}
    </button>
  );
}

/** The dialog of what is asked. */
export function Dialog() {
  const a = asked.value;
  return a ? <Open key={a.title} ask={a} /> : null;
}

function Open({ ask: a }: { ask: Ask }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>(Object.fromEntries((a.fields ?? []).map((f) => [f.name, f.value ?? ""])));
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => (asked.value = null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const done = await a.run(values);
      freeRows();
      if (typeof done !== "string") return void ask(done);
      toast(done);
      close();
    } catch (e) {
      setError(e as Error);
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="ask-title" onClose={close} onCancel={close}>
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
        {error && <Refusal error={error} />}
        <div class="buttons">
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class={a.danger ? "danger solid" : "solid"} disabled={busy || (!!a.typed && typed !== a.typed)}>{a.yes}</button>
        </div>
      </form>
    </dialog>
  );
}

function Refusal({ error }: { error: Error }) {
  return (
    <div class="trouble" role="alert">
      <p>{error.message}</p>
      {error instanceof Failure && error.fields.length > 1 && (
        <ul>{error.fields.map((f) => <li key={f.pointer}><code>{f.pointer}</code> {f.detail}</li>)}</ul>
      )}
    </div>
  );
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
          autocomplete="off" onInput={(e) => set(e.currentTarget.value)} />
      )}
      {hint}
    </label>
  );
}

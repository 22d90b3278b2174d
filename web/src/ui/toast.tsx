// Short notes about what was done. They are read out by screen readers.
import { signal } from "@preact/signals";

interface Note { id: number; text: string; bad: boolean }

const notes = signal<Note[]>([]);
let last = 0;

export function toast(text: string, bad = false): void {
  const id = ++last;
  notes.value = [...notes.value.slice(-3), { id, text, bad }];
  if (!bad) setTimeout(() => drop(id), 5000); // what went wrong stays until it was seen
}

const drop = (id: number) => (notes.value = notes.value.filter((n) => n.id !== id));

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {notes.value.map((n) => (
        <div key={n.id} class={n.bad ? "toast bad" : "toast"}>
          <span>{n.text}</span>
          <button class="quiet" aria-label="Dismiss" onClick={() => drop(n.id)}>×</button>
        </div>
      ))}
    </div>
  );
}

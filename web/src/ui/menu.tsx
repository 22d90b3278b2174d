// A menu of buttons. It closes when one of them is used, at a click elsewhere, and at Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Menu({ name, children }: { name: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (e: Event) => {
      if (!box.current?.contains(e.target as Node)) setOpen(false);
    };
    const escape = (e: KeyboardEvent) => {
      if (e.key !== "Escape") return;
      setOpen(false);
      box.current?.querySelector("summary")?.focus();
    };
    addEventListener("click", outside);
    addEventListener("keydown", escape);
    return () => {
      removeEventListener("click", outside);
      removeEventListener("keydown", escape);
    };
  }, [open]);
  return (
    <details class="menu" ref={box} open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{name}</summary>
      <div onClick={() => setOpen(false)}>{children}</div>
    </details>
  );
}

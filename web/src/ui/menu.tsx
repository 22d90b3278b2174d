// A menu of buttons. It closes when one of them is used, at a click elsewhere, and at Escape.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export function Menu({ name, children, stays }: { name: string; children: ComponentChildren; /** It stays open when something in it is used. */ stays?: boolean }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (e: Event) => {
      if (!e.composedPath().includes(box.current as Node)) setOpen(false); // also where it is gone by now
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
      <div onClick={() => !stays && setOpen(false)}>{children}</div>
    </details>
  );
}

// Payloads: JSON as the server has it. Large ones are cut, and hidden ones say which scope shows them.
import { may } from "../state/session";
import { copy, save } from "./basics";
import { number } from "./format";

const most = 64 * 1024;

const scope = "payloads:read";

/** Whether the server has left a payload out, since the caller may not see it. */
export const isHidden = (value: unknown): value is { hidden: string } =>
  !may(scope) && typeof value === "object" && value !== null && Object.keys(value).length === 1 && (value as { hidden?: unknown }).hidden === scope;

export function Payload({ value, name }: { value: unknown; name: string }) {
  if (value === undefined || value === null) return <p class="faint">There is no {name}.</p>;
  if (isHidden(value)) return <p class="faint">Hidden: it needs the scope {value.hidden}.</p>;
  const text = JSON.stringify(value, null, 2);
  return (
    <figure class="payload">
      <pre tabIndex={0} aria-label={name}>{text.length > most ? text.slice(0, most) + "\n…" : text}</pre>
      <span>
        <button class="quiet" onClick={() => void copy(text)}>Copy</button>
        {text.length > most && <button class="quiet" onClick={() => save(name + ".json", text)}>Download all {number(Math.round(text.length / 1024))} KiB</button>}
      </span>
    </figure>
  );
}

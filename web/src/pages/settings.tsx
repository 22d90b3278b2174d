// What a person has chosen in this browser, who that is, and what the pages are called.
import { shortcuts, theme, zone } from "../state/prefs";
import { caller, signOut } from "../state/session";
import { look } from "../state/look";
import { Action } from "../ui/action";
import { Card, Facts, Page } from "../ui/basics";
import { keys } from "../shell/keys";
import type { Signal } from "@preact/signals";

function Choice<T extends string>({ of, name, values }: { of: Signal<T>; name: string; values: [T, string][] }) {
  return (
    <fieldset class="choice">
      <legend>{name}</legend>
      {values.map(([value, label]) => (
        <label key={value} class="check"><input type="radio" name={name} checked={of.value === value} onChange={() => (of.value = value)} /> {label}</label>
      ))}
    </fieldset>
  );
}

export function Settings() {
  const c = caller.value;
  return (
    <Page title="Settings" actions={<Action run={async () => { await signOut(); return "You are signed out"; }}>Sign out</Action>}>
      <div class="columns">
        <Card title="In this browser">
          <Choice of={theme} name="Colours" values={[["system", "as the system"], ["light", "light"], ["dark", "dark"]]} />
          <Choice of={zone} name="Times" values={[["local", "of this place"], ["utc", "UTC"]]} />
          <Choice of={shortcuts} name="Keys" values={[["on", "single keys do things"], ["off", "they do not"]]} />
        </Card>
        <Card title="Who you are">
          <Facts of={[
            ["Name", c?.name], ["Namespaces", c?.namespaces?.join(", ") ?? "all"], ["May", <span key="s" class="scopes">{c?.scopes.map((s) => <code key={s}>{s}</code>)}</span>],
            ["Server", c?.read_only ? "only reads" : "reads and writes"], ["Database", c?.store], ["Version", look.version],
          ]} />
        </Card>
        <Card title="Title, logo and colour">
          <p>They are those of the server, so that all see the same:</p>
          <Facts of={[["Title", look.title], ["Accent", look.accent ? <><i class="swatch accent" aria-hidden="true" /> {look.accent}</> : "that of the design"], ["Logo", look.logo ? <img src={look.logo} alt="The logo" height={24} /> : "that of Holdfast"]]} />
          <pre class="wrap">holdfast server --title "Shop, production" --accent '#b3261e' --logo shop.svg</pre>
        </Card>
        <Card title="Keys">
          <Facts of={keys.map(([key, what]) => [what, <kbd key={key}>{key}</kbd>])} />
        </Card>
      </div>
    </Page>
  );
}

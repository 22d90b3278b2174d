// API keys. A secret is shown once.
import { useState } from "preact/hooks";
import { change } from "../api/data";
import { path } from "../api/http";
import type { APIKey, CreatedAPIKey } from "../api/schema";
import { may, namespace } from "../state/session";
import { now, serverNow } from "../state/clock";
import { Action, type Ask } from "../ui/action";
import { Command, CopyAs, Empty, Page, State, Time } from "../ui/basics";
import { List } from "../ui/table";

const stateOf = (k: APIKey) =>
  k.revoked_at ? <State state="cancelled" text="revoked" /> : k.expires_at && Date.parse(k.expires_at) < now.value ? <State state="failed" text="expired" /> : <State state="ok" text="valid" />;

export function Keys() {
  const [made, setMade] = useState<CreatedAPIKey | null>(null);
  const create: Ask = {
    title: "New API key", yes: "Create",
    fields: [
      { name: "name", label: "Name", required: true, hint: "what changes are recorded with" },
      { name: "role", label: "Role", type: "select", options: ["viewer", "operator", "admin"], value: "viewer" },
      { name: "scopes", label: "Or these scopes", hint: "such as jobs:read jobs:write; then the role does not count" },
      { name: "here", label: `Only in the namespace ${namespace.value}`, type: "checkbox", value: "true" },
      { name: "days", label: "Valid for so many days", type: "number", value: "90", hint: "for ever, if it is empty" },
    ],
    run: async (v) => {
      const key = await change<CreatedAPIKey>("POST", "/keys", {
        name: v.name, ...(v.scopes?.trim() ? { scopes: v.scopes.trim().split(/[\s,]+/) } : { role: v.role }), namespace: v.here === "true" ? namespace.value : undefined, expires_at: v.days ? new Date(serverNow() + Number(v.days) * 86_400_000).toISOString() : undefined,
      });
      setMade(key);
      return "The key is made";
    },
  };
  return (
    <Page title="API keys" actions={<>{may("keys:admin") && <Action ask={create}>New key…</Action>}<CopyAs command="key list" get="/keys" go={`keys, err := apikey.List(ctx, hf, "", "", 100)`} /></>}>
      {made && (
        <div class="note" role="alert">
          <p><strong>The secret of {made.name}</strong>: it cannot be shown again.</p>
          <Command text={made.secret} />
          <button onClick={() => setMade(null)}>I have it</button>
        </div>
      )}
      <List<APIKey> caption="API keys" path="/keys" refresh="slow" id={(k) => k.id}
        empty={<Empty title="There are no API keys" command="holdfast key create ci --role operator">A program signs in with one, or a person:</Empty>}
        columns={[
          { name: "Name", cell: (k) => k.name },
          { name: "State", cell: stateOf },
          { name: "May", cell: (k) => <span title={k.scopes?.join(", ")}>{k.role ?? `${k.scopes?.length ?? 0} scopes`}</span> },
          { name: "In", cell: (k) => k.namespace ?? "all namespaces" },
          { name: "Made", wide: true, cell: (k) => <><Time at={k.created_at} /> {k.created_by && <span class="faint">by {k.created_by}</span>}</> },
          { name: "Expires", wide: true, cell: (k) => <Time at={k.expires_at} /> },
          { name: "Used", cell: (k) => <Time at={k.last_used_at} /> },
          { name: "", cell: (k) => may("keys:admin") && !k.revoked_at && (
            <Action quiet danger ask={{ title: `Revoke ${k.name}`, yes: "Revoke", danger: true, text: "Who uses it is refused from then on. This cannot be undone.", run: async () => { await change("DELETE", path`/keys/${k.id}`); return "The key is revoked"; } }}>Revoke…</Action>
          ) },
        ]} />
    </Page>
  );
}

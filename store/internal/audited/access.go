package audited

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// KeyMade is of a key that was made. It has neither the secret nor its hash.
func KeyMade(k *store.APIKey) store.AuditEntry {
	is := map[string]any{"name": k.Name, "role": k.Role, "scopes": append([]string{}, k.Scopes...)}
	if !k.ExpiresAt.IsZero() {
		is["expires_at"] = k.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	e := ofKey(k.CreatedBy, "create", k.Namespace, k.ID)
	e.After = text(is)
	return e
}

// KeyRevoked is of a key of a namespace that was revoked.
func KeyRevoked(p *store.RevokeAPIKeyParams, namespace string) store.AuditEntry {
	e := ofKey(p.Actor, "revoke", namespace, p.ID)
	e.Before, e.After = set("revoked", false), set("revoked", true)
	return e
}

func ofKey(actor, action, namespace, id string) store.AuditEntry {
	target := store.AuditTarget{Kind: store.AuditAPIKey, Name: id}
	return store.AuditEntry{Actor: actor, Action: action, Namespace: namespace, Target: target, Detail: "API key " + id}
}

// NamespaceMade is of a namespace that was made.
func NamespaceMade(p *store.CreateNamespaceParams) store.AuditEntry {
	e := ofNamespace(p.Actor, "create", p.Name)
	e.After = text(map[string]any{"note": p.Note})
	return e
}

// NamespaceDeleted is of a namespace that was deleted, and had this note.
func NamespaceDeleted(p *store.DeleteNamespaceParams, note string) store.AuditEntry {
	e := ofNamespace(p.Actor, "delete", p.Name)
	e.Before = text(map[string]any{"note": note})
	return e
}

func ofNamespace(actor, action, name string) store.AuditEntry {
	target := store.AuditTarget{Kind: store.AuditNamespace, Name: name}
	return store.AuditEntry{Actor: actor, Action: action, Namespace: name, Target: target, Detail: "namespace " + name}
}

// EndpointSet is of an endpoint that was made or changed. Stores cannot tell what of its data is
// secret: the entry has its versions, and what its caller says of it.
func EndpointSet(p *store.SetEndpointParams) store.AuditEntry {
	e := ofEndpoint(&p.EndpointName, p.Actor, "create")
	e.After = version(p.Version+1, p.Is)
	if p.Version > 0 {
		e.Action, e.Before = "update", version(p.Version, p.Was)
	}
	return e
}

// EndpointDeleted is of an endpoint that was deleted, and had this version.
func EndpointDeleted(p *store.DeleteEndpointParams, was int64) store.AuditEntry {
	e := ofEndpoint(&p.EndpointName, p.Actor, "delete")
	e.Before = version(was, p.Was)
	return e
}

// version is what is said of something, with its version.
func version(n int64, said string) string {
	of := map[string]any{}
	if said != "" {
		in := json.NewDecoder(strings.NewReader(said))
		in.UseNumber()
		if in.Decode(&of) != nil || of == nil {
			of = map[string]any{} // it is no object
		}
	}
	of["version"] = n
	return text(of)
}

func ofEndpoint(n *store.EndpointName, actor, action string) store.AuditEntry {
	kind := store.AuditEndpoint
	if n.Purpose == store.EndpointWebhook {
		kind = store.AuditWebhook
	}
	target := store.AuditTarget{Kind: kind, Name: n.Name}
	return store.AuditEntry{Actor: actor, Action: action, Namespace: n.Namespace, Target: target, Detail: n.String()}
}

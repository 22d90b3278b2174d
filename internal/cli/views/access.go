package views

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/namespace"
	"github.com/holdfastdev/holdfast/store"
)

// APIKey is an API key, without its secret.
type APIKey struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Namespace  Text      `json:"namespace"` // null: all
	Role       Text      `json:"role"`
	Scopes     []string  `json:"scopes"`
	CreatedAt  Timestamp `json:"created_at"`
	CreatedBy  Text      `json:"created_by"`
	ExpiresAt  Timestamp `json:"expires_at"`
	LastUsedAt Timestamp `json:"last_used_at"`
	RevokedAt  Timestamp `json:"revoked_at"`
	RevokedBy  Text      `json:"revoked_by"`
}

// NewAPIKey returns the view of a key.
func NewAPIKey(k *store.APIKey) APIKey {
	return APIKey{
		ID: k.ID, Name: k.Name, Namespace: Text(k.Namespace), Role: Text(k.Role), Scopes: append([]string{}, k.Scopes...),
		CreatedAt: Timestamp(k.CreatedAt), CreatedBy: Text(k.CreatedBy), ExpiresAt: Timestamp(k.ExpiresAt),
		LastUsedAt: Timestamp(k.LastUsedAt), RevokedAt: Timestamp(k.RevokedAt), RevokedBy: Text(k.RevokedBy),
	}
}

// Identity is that of the key.
func (v APIKey) Identity() (kind, id string) { return "key", v.ID }

// CreatedAPIKey is a key that was made, with its secret.
type CreatedAPIKey struct {
	APIKey

	Secret string `json:"secret"`
}

// APIKeyHeader is the header of a table of keys.
var APIKeyHeader = []string{"ID", "NAME", "NAMESPACE", "MAY", "USED", "STATE"}

// APIKeyRow formats a key for a table.
func APIKeyRow(now time.Time, k *store.APIKey) []string {
	may := strings.TrimPrefix(strings.Join(append([]string{k.Role}, k.Scopes...), ","), ",")
	used := "never"
	if !k.LastUsedAt.IsZero() {
		used = output.Ago(now, k.LastUsedAt)
	}
	state := "valid"
	switch {
	case !k.RevokedAt.IsZero():
		state = "revoked " + output.Ago(now, k.RevokedAt) + " by " + output.Clip(k.RevokedBy, output.MaxName)
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		state = "expired " + output.Ago(now, k.ExpiresAt)
	case !k.ExpiresAt.IsZero():
		state = "expires " + output.Ago(now, k.ExpiresAt)
	}
	return []string{k.ID, output.Clip(k.Name, output.MaxName), cmp.Or(output.Clip(k.Namespace, output.MaxName), "(all)"), may, used, state}
}

// Namespace is a namespace that has a row, or is in use.
type Namespace struct {
	Name      string    `json:"name"`
	Note      Text      `json:"note"`
	CreatedAt Timestamp `json:"created_at"` // of the row; null: it has none
	CreatedBy Text      `json:"created_by"`
}

// NewNamespace returns the view of a namespace.
func NewNamespace(n *store.Namespace) Namespace {
	return Namespace{Name: n.Name, Note: Text(n.Note), CreatedAt: Timestamp(n.CreatedAt), CreatedBy: Text(n.CreatedBy)}
}

// Identity is that of the namespace, its name.
func (v Namespace) Identity() (kind, id string) { return "namespace", v.Name }

// NamespaceDetails are a namespace with what is in it.
type NamespaceDetails struct {
	Namespace

	Jobs      map[string]Count `json:"jobs"` // by state
	Queues    int              `json:"queues"`
	Limits    int              `json:"limits"`
	Nodes     int              `json:"nodes"` // that live
	Schedules int              `json:"schedules"`
	Keys      int              `json:"keys"`
}

// NewNamespaceDetails returns the view of a namespace with what is in it.
func NewNamespaceDetails(d *namespace.Details) NamespaceDetails {
	v := NamespaceDetails{
		Namespace: NewNamespace(&d.Namespace), Jobs: map[string]Count{},
		Queues: d.Queues, Limits: d.Limits, Nodes: d.Nodes, Schedules: d.Schedules.N, Keys: d.Keys.N,
	}
	for _, state := range store.States {
		v.Jobs[state.String()] = NewCount(d.Jobs[state])
	}
	return v
}

// NamespaceLines are what is told of a namespace: a name and a value each.
func NamespaceLines(now time.Time, d *namespace.Details) [][2]string {
	created := "no; it is in use"
	if !d.CreatedAt.IsZero() {
		created = output.Ago(now, d.CreatedAt) + " by " + d.CreatedBy
	}
	lines := [][2]string{{"name", d.Name}, {"created", created}}
	if d.Note != "" {
		lines = append(lines, [2]string{"note", d.Note})
	}
	for _, state := range store.States {
		if n := d.Jobs[state]; n.N > 0 {
			lines = append(lines, [2]string{state.String(), CountText(n)})
		}
	}
	return append(lines, [][2]string{
		{"queues", strconv.Itoa(d.Queues)},
		{"schedules", CountText(d.Schedules)},
		{"limits", strconv.Itoa(d.Limits)},
		{"nodes", strconv.Itoa(d.Nodes)},
		{"keys", CountText(d.Keys)},
	}...)
}

// NamespaceHeader is the header of a table of namespaces.
var NamespaceHeader = []string{"NAME", "CREATED", "NOTE"}

// NamespaceRow formats a namespace for a table.
func NamespaceRow(now time.Time, n *store.Namespace) []string {
	created := "(in use)"
	if !n.CreatedAt.IsZero() {
		created = output.Ago(now, n.CreatedAt) + " by " + output.Clip(n.CreatedBy, output.MaxName)
	}
	return []string{output.Clip(n.Name, output.MaxName), created, output.Clip(n.Note, 80)}
}

// DeletedNamespace is a namespace that was deleted.
type DeletedNamespace struct {
	Namespace string `json:"namespace"`
	Deleted   bool   `json:"deleted"`
}

// Identity is that of the namespace.
func (v DeletedNamespace) Identity() (kind, id string) { return "namespace", v.Namespace }

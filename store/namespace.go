package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Namespaces keeps what people say of namespaces. A namespace needs no row to be used: one is there
// as soon as something is in it.
type Namespaces interface {
	// Namespaces returns a page of the namespaces that have a row, or are in use: that have a queue
	// that was not deleted, a schedule, a limit, a node that lives, an API key, an endpoint or a
	// webhook; by name. No job is looked at. The error is ErrInvalid.
	Namespaces(ctx context.Context, params NamespaceParams) ([]Namespace, error)
	// CreateNamespace makes the row of a namespace, which may be in use already. The errors are
	// ErrInvalid, and ErrConflict if it has one. It is recorded who has done it.
	CreateNamespace(ctx context.Context, params CreateNamespaceParams) (Namespace, error)
	// DeleteNamespace removes the row of a namespace, if there is one, and its queues as
	// DeleteQueue does. The errors are ErrInvalid, ErrNotFound for one that has no row and is not
	// in use, and ErrConflict, which says what is in it, while there are jobs, finished ones as
	// well, schedules, limits, nodes that live, API keys that are not revoked, endpoints or
	// webhooks. It is recorded who has done it.
	//
	// It keeps nothing out: what comes into the namespace meanwhile, or later, makes it one that is
	// in use.
	DeleteNamespace(ctx context.Context, params DeleteNamespaceParams) error
}

// MostNote bounds what is said of a namespace, in bytes.
const MostNote = 1000

// Namespace is where jobs, queues and keys live.
type Namespace struct {
	Name      string
	Note      string    // what people say of it
	CreatedAt time.Time // of the row; zero: it has none, and is in use
	CreatedBy string
}

// NamespaceParams asks for namespaces.
type NamespaceParams struct {
	Name  string // "": any
	After string // only names behind this one
	Limit int    // 1 to 1000
}

// CreateNamespaceParams makes a namespace.
type CreateNamespaceParams struct {
	Name, Note string
	Actor      string
}

// DeleteNamespaceParams deletes a namespace.
type DeleteNamespaceParams struct {
	Name  string
	Actor string
}

// Check returns an ErrInvalid for what cannot be made.
func (p *CreateNamespaceParams) Check() error {
	if len(p.Note) > MostNote || !isText(p.Note) {
		return fmt.Errorf("%w: the note of namespace %.200q has %d bytes; it is up to %d of UTF-8 without NUL", ErrInvalid, p.Name,
			len(p.Note), MostNote)
	}
	return checkNamespace(p.Name)
}

// Check returns an ErrInvalid for what cannot be the name of a namespace.
func (p *DeleteNamespaceParams) Check() error { return checkNamespace(p.Name) }

func checkNamespace(name string) error {
	if name == "" || len(name) > 200 || !isText(name) {
		return fmt.Errorf("%w: namespace %.200q: names are 1 to 200 bytes of UTF-8 without NUL", ErrInvalid, name)
	}
	return nil
}

// NamespaceThere is the ErrConflict of a namespace that has a row.
func NamespaceThere(name string) error {
	return fmt.Errorf("%w: there is a namespace %q already", ErrConflict, name)
}

// NoNamespace is the ErrNotFound of a namespace that has no row and is not in use.
func NoNamespace(name string) error {
	return fmt.Errorf("%w: there is no namespace %q", ErrNotFound, name)
}

// NamespaceContent is what keeps a namespace from being deleted.
type NamespaceContent struct {
	Jobs                           bool
	Schedules, Limits, Nodes, Keys bool
	Endpoints                      bool // or webhooks
}

// Check returns an ErrConflict that says what is in the namespace.
func (c *NamespaceContent) Check(name string) error {
	var is []string
	for _, one := range []struct {
		there bool
		word  string
	}{
		{c.Jobs, "jobs"},
		{c.Schedules, "schedules"},
		{c.Limits, "limits"},
		{c.Nodes, "nodes that live"},
		{c.Keys, "API keys"},
		{c.Endpoints, "endpoints or webhooks"},
	} {
		if one.there {
			is = append(is, one.word)
		}
	}
	if len(is) == 0 {
		return nil
	}
	return fmt.Errorf("%w: namespace %q has %s; remove them first", ErrConflict, name, strings.Join(is, ", "))
}

// JobsOf is the list that finds whether a namespace has a job.
func JobsOf(namespace string) ListParams {
	return ListParams{Filter: Filter{Namespace: namespace}, Limit: 1}
}

// Package namespace keeps what people say of namespaces: a row with a note, which a namespace does
// not need. One is there as soon as something is in it.
//
//	_, err := namespace.Create(ctx, hf, "shop", "the web shop; ask Ann")
//
// # How it fails
//
// By ErrInvalid, ErrNotFound and ErrConflict, as each function says.
//
// # Imports
//
// Of ours, the root package, store and internal/access.
package namespace

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// List returns a page of the namespaces of a client's database that have a row or are in use, by
// name: at most limit, up to 1000, behind a name. The error is ErrInvalid.
func List(ctx context.Context, c *holdfast.Client, after string, limit int) ([]store.Namespace, error) {
	e, _ := access.Engine(c)
	return e.Store.Namespaces(ctx, store.NamespaceParams{After: after, Limit: limit})
}

// Create makes the row of a namespace, in the name of the client's actor. The errors are
// ErrInvalid, and ErrConflict for one that has a row.
func Create(ctx context.Context, c *holdfast.Client, name, note string) (store.Namespace, error) {
	e, _ := access.Engine(c)
	return e.Store.CreateNamespace(ctx, store.CreateNamespaceParams{Name: name, Note: note, Actor: c.Actor()})
}

// Delete removes the row of a namespace, and its queues. The errors are ErrInvalid, ErrNotFound for
// one that has no row and is not in use, and ErrConflict, which says what is in it.
func Delete(ctx context.Context, c *holdfast.Client, name string) error {
	e, _ := access.Engine(c)
	return e.Store.DeleteNamespace(ctx, store.DeleteNamespaceParams{Name: name, Actor: c.Actor()})
}

package push

import (
	"context"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/store"
)

// source is the store of a client, as a database that other clients of this process open.
type source struct {
	store store.Store
	relay *relay.Store
	name  string // of who opens it, among those who listen
}

func sourceOf(client *holdfast.Client, name string) source {
	e, _ := access.Engine(client)
	return source{store: e.Store, relay: access.Relay(client), name: name}
}

// Open implements store.Source.
func (s source) Open(context.Context) (store.Store, error) { return shared{s.store, s}, nil }

// Migrate implements store.Source. The client has done it.
func (s source) Migrate(ctx context.Context) (store.Schema, error) { return s.Schema(ctx) }

// Schema implements store.Source.
func (source) Schema(context.Context) (store.Schema, error) { return store.Schema{}, nil }

// Migrations implements store.Source.
func (source) Migrations() []store.Migration { return nil }

// String implements store.Source.
func (source) String() string { return "the server's database" }

// shared is a store that is the client's: its wake-ups are passed on between them.
type shared struct {
	store.Store

	by source
}

// Watch implements store.Store.
func (s shared) Watch(ctx context.Context, wake func(store.Wake)) error {
	return s.by.relay.Listen(ctx, s.by.name, wake)
}

// Notify implements store.Store.
func (s shared) Notify(wakes ...store.Wake) { s.by.relay.Hear(s.by.name, wakes...) }

// Close implements store.Store. The client closes it.
func (shared) Close() error { return nil }

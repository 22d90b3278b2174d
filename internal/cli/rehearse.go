package cli

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// rehearse does something with a client whose database takes everything and keeps nothing. What the library refuses there it refuses of
// any database, and only the command line can have asked for it: so that is known before a database is opened, input is read, or half
// of the work is done. It takes no time that Ctrl-C could cut short.
func (a *app) rehearse(ctx context.Context, work func(context.Context, *holdfast.Client) error) error {
	ctx = context.WithoutCancel(ctx)
	client, err := holdfast.Open(ctx, nowhere{now: a.env.Now}, holdfast.WithLogger(silent()), holdfast.WithNamespace(a.namespace))
	if err == nil {
		err = errors.Join(work(ctx, client), closeClient(ctx, client))
	}
	return invalidIsUsage(err)
}

// nowhere is such a database, and its own source. It has the methods that a rehearsal calls.
type nowhere struct {
	store.Source
	store.Store

	now func() time.Time
}

func (n nowhere) Open(context.Context) (store.Store, error) { return n, nil }

func (nowhere) String() string { return "nowhere" }

func (nowhere) Traits() store.Traits { return store.Traits{Name: "nowhere", Writers: 1, MaxBatch: 1} }

func (n nowhere) Now() time.Time { return n.now() }

func (nowhere) Apply(context.Context, *store.Batch) error { return nil }

func (nowhere) Pause(context.Context, store.PauseParams) error { return nil }

func (nowhere) Notify(...store.Wake) {}

func (nowhere) Close() error { return nil }

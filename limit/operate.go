package limit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Set makes a limit, or changes the one of that name: what an option says is set, the rest stays. A
// new one needs a Capacity or a Rate. The error is ErrInvalid.
func Set(ctx context.Context, c *holdfast.Client, name string, opts ...Option) (store.Limit, error) {
	return change(ctx, c, name, func(l *store.Limit) (bool, error) { return true, apply(l, opts) })
}

// Get returns a limit. The error is ErrNotFound.
func Get(ctx context.Context, c *holdfast.Client, name string) (store.Limit, error) {
	e, _ := access.Engine(c)
	found, err := e.Store.Limits(ctx, c.Namespace(), name)
	if err == nil && (len(found) == 0 || name == "") {
		err = store.NoLimit(c.Namespace(), name)
	}
	if err != nil {
		return store.Limit{}, err
	}
	return found[0], nil
}

// List returns the limits of the namespace by name.
func List(ctx context.Context, c *holdfast.Client) ([]store.Limit, error) {
	e, _ := access.Engine(c)
	return e.Store.Limits(ctx, c.Namespace(), "")
}

const (
	deletePatience = 2 * time.Second // how long nodes have to give back slots that they do not use
	deleteEvery    = 20 * time.Millisecond
)

// Delete removes a limit. Nodes are asked to give back the slots that they do not use. If after two
// seconds some are still held the error is a *store.HeldError, which names the nodes; if force is
// set the limit is removed all the same, and its jobs are without it. A limit per key has no slots
// that nodes hold, and is removed whatever runs. Otherwise the error is ErrNotFound. A limit that
// code declares comes back with the next Sync.
func Delete(ctx context.Context, c *holdfast.Client, name string, force bool) error {
	e, _ := access.Engine(c)
	for until := time.Now().Add(deletePatience); ; {
		err := e.DeleteLimit(ctx, c.Namespace(), name, force, c.Actor())
		if _, held := errors.AsType[*store.HeldError](err); !held || time.Now().After(until) {
			return err
		}
		e.WantSlots(c.Namespace(), name)
		select {
		case <-time.After(deleteEvery):
		case <-ctx.Done():
			return err
		}
	}
}

// Reset sets a limit to what code has declared last. The errors are ErrNotFound, and ErrConflict if
// no code has declared it.
func Reset(ctx context.Context, c *holdfast.Client, name string) (store.Limit, error) {
	if _, err := Get(ctx, c, name); err != nil {
		return store.Limit{}, err
	}
	return change(ctx, c, name, func(l *store.Limit) (bool, error) {
		if l.Declared == "" {
			return false, fmt.Errorf("%w: no code has declared the limit %q", store.ErrConflict, name)
		}
		return true, setDeclared(l, l.Declared)
	})
}

// tries is how often a change is repeated that another one has overtaken.
const tries = 10

// change reads a limit, or begins a new one, has it changed, and saves it, again if it was changed
// meanwhile. how returns false if there is nothing to be saved.
func change(ctx context.Context, c *holdfast.Client, name string, how func(*store.Limit) (bool, error)) (store.Limit, error) {
	e, _ := access.Engine(c)
	for range tries {
		l, err := Get(ctx, c, name)
		if errors.Is(err, store.ErrNotFound) {
			l, err = empty(c, name), nil
		}
		if err != nil {
			return l, err
		}
		save, err := how(&l)
		if err != nil || !save {
			return l, err
		}
		saved, err := e.SaveLimit(ctx, l, l.Version, c.Actor())
		if !errors.Is(err, store.ErrConflict) && (l.Version == 0 || !errors.Is(err, store.ErrNotFound)) {
			return saved, err
		}
	}
	return store.Limit{}, fmt.Errorf("%w: limit %q changes all the time; try again", store.ErrConflict, name)
}

package locks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Grab locks those of the bodies that no other transaction holds, until the transaction ends, and
// returns the others.
func Grab(ctx context.Context, t pg.Runner, ids []store.ID) (unavailable map[store.ID]bool, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	unavailable = map[store.ID]bool{}
	err = t.Run(ctx, "grab_bodies", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		unavailable[id.Bytes] = true
		return err
	}, pg.UUIDsOf(ids))
	return unavailable, err
}

// ParentsOf returns the parents that jobs answer when they end.
func ParentsOf(ctx context.Context, t pg.Runner, ids []store.ID) (map[store.ID]store.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	parents := map[store.ID]store.ID{}
	err := t.Run(ctx, "parents_of", func(r pg.Row) error {
		var id, parent pgtype.UUID
		err := r.Scan(&id, &parent)
		parents[id.Bytes] = parent.Bytes
		return err
	}, pg.UUIDsOf(ids))
	return parents, err
}

// GrabFor locks the bodies of jobs, and of the parents that they answer, and returns the jobs of
// which it has got all.
func GrabFor(ctx context.Context, t pg.Runner, ids []store.ID) (free []store.ID, err error) {
	parents, err := ParentsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(ids)
	for _, parent := range parents {
		wanted = append(wanted, parent)
	}
	unavailable, err := Grab(ctx, t, wanted)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return unavailable[id] || unavailable[parents[id]] }), nil
}

// RetryWhileHeld calls f for the jobs of a person's request, and again, a little later each time,
// for those that another transaction has locked, which f returns. It returns those that are locked
// still: by a caller's transaction.
func RetryWhileHeld(ctx context.Context, ids []store.ID, f func(ids []store.ID) (moved []store.ID, err error)) ([]store.ID, error) {
	const tries = 8
	for wait, n := time.Millisecond, 1; len(ids) > 0; wait, n = 2*wait, n+1 {
		var err error
		if ids, err = f(ids); err != nil || len(ids) == 0 || n == tries {
			return ids, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
	}
	return ids, nil
}

// ErrBlocked is the error of an operation that a caller's transaction is in the way of.
func ErrBlocked(what string) error {
	return fmt.Errorf("%w needed to %s", store.ErrBusy, what)
}

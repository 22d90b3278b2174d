package operate

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// request is one of a person whose job does not run.
type request struct {
	id            store.ID
	reason, actor string
}

// cancelling is a request to cancel on its way, and what became of it.
type cancelling struct {
	store.CancelParams
	recorded bool // it is what a person does, at this moment
	apart    bool // parents are told by statements of their own
	states   map[store.ID]store.State
	ended    map[store.ID]bool // by this very request
	busy     map[store.ID]bool // a caller's transaction holds it
	woken    write.Woken
	wakes    []store.Wake // what nodes are to be told of, once all is done
}

// putRequests stores requests for jobs that moved, or were locked, whenever they were looked at. It
// returns those of which a caller's transaction is storing or removing the request: it does not
// wait for that.
func (s *Store) putRequests(
	ctx context.Context, ids []store.ID, put func(ids []pgtype.UUID) pg.Statement,
) (busy []store.ID, err error) {
	wait := write.Briefly
	for parts := [][]store.ID{ids}; len(parts) > 0; {
		part := parts[0]
		parts = parts[1:]
		err := pg.RetryOnConflict(ctx, func() error { return s.Send(ctx, pg.WaitAtMost(wait), put(pg.UUIDsOf(part))) })
		switch {
		case err == nil:
		case pg.CodeOf(err) != pg.CodeLockTimeout:
			return nil, err
		case len(part) == 1:
			busy = append(busy, part...)
		default:
			half := len(part) / 2
			parts = append([][]store.ID{part[:half], part[half:]}, parts...)
		}
		if err != nil {
			wait = write.AtOnce
		}
	}
	return busy, nil
}

// found is what one try to cancel jobs has found and done: state 0 is a job that moved at that
// moment.
type found struct {
	states map[store.ID]store.State
	ended  map[store.ID]bool
	busy   map[store.ID]bool // another transaction has locked them
	woken  write.Woken
}

package edges

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// More finds out which others a job that is there has to wait for from now on, those included that
// it waits for already. The error is a *store.DependencyError if it cannot.
func More(ctx context.Context, t pg.Runner, job *store.Job, after []store.Dependency) (List, error) {
	waits := map[store.ID]bool{}
	err := t.Run(ctx, "edges_of", func(r pg.Row) error {
		var id pgtype.UUID
		var policy int32
		err := r.Scan(&id, &policy)
		waits[id.Bytes] = true
		return err
	}, pg.UUIDOf(job.ID))
	if err != nil {
		return List{}, err
	}
	var all List
	all.Add(job, after)
	open, missing, err := all.Open(ctx, t, waits)
	if err != nil || open.IsEmpty() && len(missing) == 0 {
		return List{}, err
	}
	if on, is := missing[job.ID]; is {
		return List{}, &store.DependencyError{Job: job.ID, On: on, Fault: store.MissingPredecessor}
	}
	return open, fits(ctx, t, job.ID, open.on, waits)
}

// fits reports why a job cannot wait for these others too, a *store.DependencyError.
func fits(ctx context.Context, t pg.Runner, job store.ID, on []pgtype.UUID, waits map[store.ID]bool) error {
	for _, id := range on {
		waits[id.Bytes] = true
	}
	if cyclic, err := isCycle(ctx, t, job, on); err != nil {
		return err
	} else if cyclic {
		for _, id := range on {
			if cyclic, err := isCycle(ctx, t, job, []pgtype.UUID{id}); cyclic || err != nil {
				return errors.Join(err, &store.DependencyError{Job: job, On: id.Bytes, Fault: store.CyclicDependency})
			}
		}
	}
	if len(waits) > store.MaxDependencies {
		return &store.DependencyError{Job: job, Fault: store.TooManyDependencies}
	}
	return nil
}

// isCycle reports whether one of the predecessors waits for the job, or for one that does.
func isCycle(ctx context.Context, t pg.Runner, job store.ID, on []pgtype.UUID) (cyclic bool, err error) {
	err = t.Run(ctx, "edge_cycle", func(r pg.Row) error { return r.Scan(&cyclic) }, on, pg.UUIDOf(job))
	return cyclic, err
}

package operate

import (
	"context"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// visit is what one call does in a caller's transaction.
type visit struct {
	store *Store
	t     pg.Runner
	now   int64

	states map[store.ID]store.State // of the jobs, as far as is known
	errs   map[store.ID]error       // of those to which nothing was done
	news   news
}

// news is what nodes and waiters are told when the transaction commits.
type news struct {
	ended, asked []store.ID // that have finished; that run, and are asked to end
	woken        write.Woken
}

// inCallers does something to jobs in a caller's transaction: try is called for a thousand of them
// at the most, and again for those that another transaction has, which it returns. What is left at
// last is ErrBusy, with what was to be done. It answers for all jobs in the order given.
func (s *Store) inCallers(
	ctx context.Context, t pg.Runner, namespace string, ids []store.ID, doing string,
	try func(v *visit, ids []store.ID) (left []store.ID, err error),
) ([]store.Result, error) {
	if err := write.CheckIsolation(ctx, t); err != nil {
		return nil, err
	}
	others, err := local.Foreign(ctx, t, namespace, ids)
	if err != nil {
		return nil, err
	}
	s.Freshen(ctx, t)
	v := &visit{
		store: s, t: t, now: s.Micros(), states: map[store.ID]store.State{}, errs: map[store.ID]error{}, news: news{woken: write.Woken{}},
	}
	for some := range slices.Chunk(distinct(ids, others), jobsAtOnce) {
		left, err := locks.RetryWhileHeld(ctx, some, func(ids []store.ID) ([]store.ID, error) { return try(v, ids) })
		if err != nil {
			return nil, err
		}
		for _, id := range left {
			v.errs[id] = locks.ErrBlocked(doing + " job " + id.String())
		}
	}
	results := make([]store.Result, len(ids))
	ended := setOf(v.news.ended)
	for i, id := range ids {
		results[i] = v.result(id)
		results[i].Ended = ended[id]
		delete(ended, id) // of a job that is named twice the first answer tells
	}
	return results, v.tell(ctx)
}

// distinct are the jobs of a list but for some, each once.
func distinct(ids []store.ID, but map[store.ID]bool) []store.ID {
	seen := maps.Clone(but)
	if seen == nil {
		seen = map[store.ID]bool{}
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

func setOf(ids []store.ID) map[store.ID]bool {
	set := make(map[store.ID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// result is what became of a job.
func (v *visit) result(id store.ID) store.Result {
	r := store.Result{Job: id, State: v.states[id], Err: v.errs[id]}
	if r.State == 0 && r.Err == nil {
		r.Err = store.NoJob(id)
	}
	return r
}

// grab locks the bodies of jobs, those that it can have.
func (v *visit) grab(ctx context.Context, ids []store.ID) (free, left []store.ID, err error) {
	unavailable, err := locks.Grab(ctx, v.t, ids)
	for _, id := range ids {
		if unavailable[id] {
			left = append(left, id)
		} else {
			free = append(free, id)
		}
	}
	return free, left, err
}

// over notes jobs that have finished, and what their parents are to be told.
func (v *visit) over(ctx context.Context, ids []store.ID) error {
	if len(ids) == 0 {
		return nil
	}
	v.news.ended = append(v.news.ended, ids...)
	return v.t.Run(ctx, "untold_put", func(pg.Row) error { return nil }, pg.UUIDsOf(ids))
}

// tell notifies nodes and waiters when the transaction commits.
func (v *visit) tell(ctx context.Context) error {
	var wakes []store.Wake
	if len(v.news.ended) > 0 {
		wakes = append(wakes, about(store.WakeNews, v.news.ended)...)
		wakes = append(wakes,
			store.Wake{Kind: store.WakeLeader}, // of parents and children
			write.DueAt(v.now))                 // of turns
	}
	wakes = append(wakes, about(store.WakeCancel, v.news.asked)...)
	return v.store.WakeTx(ctx, v.t, v.news.woken, v.now, wakes...)
}

// maxNamed is how many jobs wake-ups name before one stands for all.
const maxNamed = 1000

// about are wake-ups about jobs, as many as they fit into.
func about(kind store.WakeKind, ids []store.ID) (wakes []store.Wake) {
	if len(ids) > maxNamed {
		return []store.Wake{{Kind: kind}}
	}
	for some := range slices.Chunk(ids, local.MaxWakeJobs) {
		wakes = append(wakes, store.Wake{Kind: kind, Jobs: some})
	}
	return wakes
}

// CancelTx is that of store.Callers in the transaction of t, without the class of its error.
func (s *Store) CancelTx(ctx context.Context, t pg.Runner, params store.CancelParams) ([]store.Result, error) {
	if err := params.CheckTx(); err != nil {
		return nil, err
	}
	params.Reason, params.Actor = pg.CleanText(params.Reason), pg.CleanText(params.Actor)
	c := &cancelling{CancelParams: params, recorded: true, apart: true}
	return s.inCallers(ctx, t, params.Namespace, params.Jobs, "cancel", func(v *visit, ids []store.ID) ([]store.ID, error) {
		free, left, err := v.grab(ctx, ids)
		if err != nil || len(free) == 0 {
			return left, err
		}
		var f found
		cancel := f.cancelling(c, pg.UUIDsOf(free), v.now)
		if err := t.Run(ctx, cancel.Name, cancel.Each, cancel.Args...); err != nil {
			return nil, err
		}
		var ended []store.ID
		for _, id := range free {
			state, there := f.states[id]
			switch {
			case there && state == 0:
				left = append(left, id) // it moved at that moment
			case f.ended[id]:
				ended = append(ended, id)
			case state == store.Running:
				v.news.asked = append(v.news.asked, id)
			}
			v.states[id] = state
		}
		maps.Copy(v.news.woken, f.woken)
		return left, v.over(ctx, ended)
	})
}

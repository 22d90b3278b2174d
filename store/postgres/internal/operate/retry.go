package operate

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// Retry is that of store.Operators, without the class of its error.
func (s *Store) Retry(ctx context.Context, params store.RetryParams) (results []store.Result, wakes []store.Wake, err error) {
	results, err = s.EachIn(ctx, params.Namespace, params.Jobs, func(own []store.ID) (results []store.Result, err error) {
		params.Jobs = own
		results, wakes, err = s.retryOwn(ctx, params)
		return results, err
	})
	return results, wakes, err
}

// retryOwn retries jobs whose namespace is known.
func (s *Store) retryOwn(
	ctx context.Context, params store.RetryParams,
) (results []store.Result, wakes []store.Wake, err error) {
	results = make([]store.Result, 0, len(params.Jobs))
	w := write.Woken{}
	for ids := params.Jobs; len(ids) > 0; {
		n := min(len(ids), jobsAtOnce)
		var part []store.Result
		if part, err = s.retry(ctx, ids[:n], params, w); err != nil {
			break // what has happened is told
		}
		results, ids = append(results, part...), ids[n:]
	}
	wakes = s.AfterCommit(ctx, w, len(w) > 0)
	if err != nil {
		return nil, wakes, err
	}
	return results, wakes, nil
}

func (s *Store) retry(ctx context.Context, ids []store.ID, params store.RetryParams, w write.Woken) ([]store.Result, error) {
	done := retried{w, map[store.ID]*store.UniqueError{}}
	busy, err := locks.RetryWhileHeld(ctx, ids, func(ids []store.ID) (busy []store.ID, err error) {
		for again := newAttempt(len(ids), params); len(ids) > 0; {
			held, left, err := s.retrySome(ctx, ids, again, done)
			if err != nil {
				return nil, err
			}
			busy, ids = append(busy, held...), left
		}
		return busy, nil
	})
	if err != nil {
		return nil, err
	}
	records, err := s.reader.RecordsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	states := make(map[store.ID]store.State, len(records))
	for _, r := range records {
		states[r.ID] = r.State
	}
	results := make([]store.Result, len(ids))
	for i, id := range ids {
		r := &results[i]
		r.Job, r.State = id, states[id]
		switch {
		case done.isAgain(id):
			r.State = store.Available
		case slices.Contains(busy, id):
			r.Err = locks.ErrBlocked("retry job " + id.String())
		case params.Failed && r.State == store.Available:
			r.Err = store.JobIs(id, r.State)
		default:
			r.Err = done.refusal(id, r.State)
		}
	}
	return results, nil
}

// retrySome is the part of an attempt that fits into one transaction. It returns the jobs that
// another transaction has, or whose keys it is taking, and those that are left to the next part.
func (s *Store) retrySome(ctx context.Context, ids []store.ID, again *attempt, done retried) (held, left []store.ID, err error) {
	var now retried
	s.Freshen(ctx, pg.One{DB: s.DB})
	err = pg.RetryOnConflict(ctx, func() error {
		now = newRetried() // what a try that was ended has noted did not happen
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			free, err := locks.GrabFor(ctx, t, ids)
			if err != nil {
				return err
			}
			busy := slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return slices.Contains(free, id) })
			if again.params.Failed && len(free) > 0 {
				spots, err := spotsOf(ctx, t, free)
				if err != nil {
					return err
				}
				free = slices.DeleteFunc(free, func(id store.ID) bool { return spots[id].state != store.Failed })
			}
			held, left, err = again.some(ctx, t, free, s.Micros(), func(_ []store.ID, part retried) error {
				now.add(part)
				return nil
			})
			held = append(held, busy...)
			return err
		})
	})
	if err == nil {
		done.add(now)
	}
	return held, left, err
}

// attempt is how jobs are retried whose bodies are locked.
type attempt struct {
	params store.RetryParams
	wait   time.Duration // for the next lock
	size   int           // how many are tried together
}

func newAttempt(size int, params store.RetryParams) *attempt {
	return &attempt{params: params, wait: write.Briefly, size: size}
}

// some lets jobs run again, as many at a time as go through: half as many after a failure, twice as
// many after a success. Jobs whose keys another transaction is taking or giving back are held: they
// are not waited for long. After many waits the rest is left, so that the locks are given back. For
// those that were tried together each is called with what became of them.
func (a *attempt) some(
	ctx context.Context, t pg.Runner, ids []store.ID, now int64, each func(ids []store.ID, part retried) error,
) (held, left []store.ID, err error) {
	for waits := 0; len(ids) > 0 && waits < write.MostTries; {
		a.size = min(a.size, len(ids))
		some := ids[:a.size]
		part := newRetried()
		var busy []store.ID
		isHeld, err := patiently(ctx, t, a.wait, func() (err error) {
			busy, err = part.retry(ctx, t, some, now, a.params)
			return err
		})
		switch {
		case err != nil:
			return nil, nil, err
		case !isHeld:
			held, ids, a.size = append(held, busy...), ids[a.size:], 2*a.size
			free := slices.DeleteFunc(slices.Clone(some), func(id store.ID) bool { return slices.Contains(busy, id) })
			if err := each(free, part); err != nil {
				return nil, nil, err
			}
			continue
		case a.size > 1:
			a.size /= 2
		default:
			held, ids = append(held, some...), ids[1:]
		}
		a.wait, waits = write.AtOnce, waits+1
	}
	return held, ids, nil
}

// patiently does something in a transaction, but waits for locks no longer than limit: then nothing
// of it has happened, and it is held.
func patiently(ctx context.Context, t pg.Runner, limit time.Duration, do func() error) (held bool, err error) {
	var before string
	if err := t.Run(ctx, "lock_timeout", func(r pg.Row) error { return r.Scan(&before) }); err != nil {
		return false, err
	}
	if err := t.Run(ctx, "savepoint", nil); err != nil {
		return false, err
	}
	st := pg.WaitAtMost(limit)
	if err := t.Run(ctx, st.Name, nil, st.Args...); err != nil {
		return false, err
	}
	switch err := do(); {
	case err == nil:
		err = t.Run(ctx, "wait_at_most", nil, before)
		if err != nil {
			return false, err
		}
	case pg.IsLockTimeout(err):
		held = true
		if err := t.Run(ctx, "savepoint_back", nil); err != nil {
			return false, err
		}
	default:
		return false, err
	}
	return held, t.Run(ctx, "savepoint_release", nil)
}

// retried are jobs that run again, and who has the keys of the others.
type retried struct {
	again   write.Woken
	holders map[store.ID]*store.UniqueError
}

func newRetried() retried { return retried{write.Woken{}, map[store.ID]*store.UniqueError{}} }

// add adds what became of other jobs.
func (to retried) add(more retried) {
	maps.Copy(to.again, more.again)
	maps.Copy(to.holders, more.holders)
}

func (to retried) isAgain(id store.ID) bool {
	_, is := to.again[id]
	return is
}

// refusal is why a job does not run again that is in that state now, 0 if it is not there; nil if
// it was available before.
func (to retried) refusal(id store.ID, state store.State) error {
	holder, taken := to.holders[id]
	switch {
	case state == 0:
		return store.NoJob(id)
	case state == store.Available:
		return nil
	case taken && state.Finished() && state != store.Completed:
		return holder
	}
	return store.JobIs(id, state)
}

func (to retried) scanAgain(r pg.Row) error {
	var id pgtype.UUID
	var lane int32
	err := r.Scan(&id, &lane)
	to.again[id.Bytes] = write.WokenJob{Lane: lane}
	return err
}

// retry lets jobs run again whose bodies are locked, if they get their keys. It returns those whose
// keys another transaction is taking.
func (to retried) retry(ctx context.Context, t pg.Runner, ids []store.ID, now int64, params store.RetryParams) ([]store.ID, error) {
	wanted, busy, err := keys.TakeAgain(ctx, t, pg.UUIDsOf(ids), now)
	if err != nil {
		return nil, err
	}
	free := slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return slices.Contains(busy, id) })
	for _, st := range to.retrying(pg.UUIDsOf(free), now, params) {
		if err := st.On(ctx, t); err != nil {
			return nil, err
		}
	}
	return busy, keys.NoteHolders(ctx, t, wanted, now, to.holders)
}

// retrying are the statements that let jobs run again whose bodies are locked. They note those that
// do, and who has the keys of the others.
func (to retried) retrying(ids []pgtype.UUID, now int64, params store.RetryParams) []pg.Statement {
	actor, reason := pg.CleanText(params.Actor), pg.OptText(params.Reason)
	return []pg.Statement{
		{Name: "retry_finished", Args: []any{ids, now, actor, "retry", reason}, Each: to.scanAgain},
		{Name: "retry_deferred", Args: []any{ids, now, actor, reason}, Each: to.scanAgain},
		noteUniqueHolders(ids, to.holders),
	}
}

// noteUniqueHolders is the statement that notes who holds the unique keys of other jobs.
func noteUniqueHolders(ids []pgtype.UUID, holders map[store.ID]*store.UniqueError) pg.Statement {
	return pg.Statement{Name: "key_holders_of", Args: []any{ids}, Each: func(r pg.Row) error {
		var id, holder pgtype.UUID
		err := r.Scan(&id, &holder)
		holders[id.Bytes] = &store.UniqueError{Holder: holder.Bytes}
		return err
	}}
}

package operate

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
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
	done := retried{w, map[store.ID]store.ID{}}
	busy, err := write.RetryWhileHeld(ctx, ids, func(ids []store.ID) (busy []store.ID, err error) {
		var now retried
		err = pg.RetryOnConflict(ctx, func() error {
			now = newRetried() // what a try that was ended has noted did not happen
			return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
				free, err := s.GrabFor(ctx, t, ids)
				if err != nil {
					return err
				}
				busy = slices.DeleteFunc(slices.Clone(ids), func(id store.ID) bool { return slices.Contains(free, id) })
				return t.RunAll(ctx, now.retrying(pg.UUIDsOf(free), s.Micros(), params))
			})
		})
		if err == nil {
			maps.Copy(done.again, now.again)
			maps.Copy(done.holders, now.holders)
		}
		return busy, err
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
			r.Err = write.ErrBlocked("retry job " + id.String())
		default:
			r.Err = done.refusal(id, r.State)
		}
	}
	return results, nil
}

// retried are jobs that run again, and those who have the unique keys of the others.
type retried struct {
	again   write.Woken
	holders map[store.ID]store.ID
}

func newRetried() retried { return retried{write.Woken{}, map[store.ID]store.ID{}} }

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
		return &store.UniqueError{Holder: holder}
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

// retrying are the statements that let jobs run again whose bodies are locked. They note those that
// do, and who has the keys of the others.
func (to retried) retrying(ids []pgtype.UUID, now int64, params store.RetryParams) []pg.Statement {
	actor, reason := pg.CleanText(params.Actor), pg.OptText(params.Reason)
	return []pg.Statement{
		{Name: "retry_finished", Args: []any{ids, now, actor, "retry", reason}, Each: to.scanAgain},
		{Name: "retry_deferred", Args: []any{ids, now, actor, reason}, Each: to.scanAgain},
		{Name: "key_holders_of", Args: []any{ids}, Each: func(r pg.Row) error {
			var id, holder pgtype.UUID
			err := r.Scan(&id, &holder)
			to.holders[id.Bytes] = holder.Bytes
			return err
		}},
	}
}

package operate

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// jobsAtOnce is how many jobs an operator's request touches in one transaction.
const jobsAtOnce = 1000

// Cancel is that of store.Operators, without the class of its error.
func (s *Store) Cancel(ctx context.Context, params store.CancelParams) (results []store.Result, wakes []store.Wake, err error) {
	results, err = s.EachIn(ctx, params.Namespace, params.Jobs, func(own []store.ID) (results []store.Result, err error) {
		params.Jobs = own
		results, wakes, err = s.cancelOwn(ctx, params)
		return results, err
	})
	return results, wakes, err
}

// cancelOwn cancels jobs whose namespace is known.
func (s *Store) cancelOwn(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	if params.Skip {
		return s.skip(ctx, params)
	}
	c, err := s.cancelAll(ctx, params, !params.Unrecorded)
	if err == nil && !params.Unrecorded {
		err = s.freeTurns(ctx, c)
	}
	if err != nil {
		return nil, c.wakes, err
	}
	results := make([]store.Result, len(params.Jobs))
	for i, id := range params.Jobs {
		results[i] = store.Result{Job: id, State: c.states[id], Ended: c.ended[id]}
		delete(c.ended, id) // of a job that is named twice the first answer tells
		switch {
		case c.busy[id]:
			results[i].State, results[i].Err = 0, locks.ErrBlocked(string(c.Action())+" job "+id.String())
		case c.states[id] == 0:
			results[i].Err = store.NoJob(id)
		}
	}
	return results, c.wakes, nil
}

// freeTurns takes the turns from those of the jobs that have failed and keep them.
func (s *Store) freeTurns(ctx context.Context, c *cancelling) error {
	var failed []pgtype.UUID
	for _, id := range c.Jobs {
		if c.states[id] == store.Failed && !c.ended[id] {
			failed = append(failed, pg.UUIDOf(id))
		}
	}
	if len(failed) == 0 {
		return nil
	}
	_, wakes, err := s.freeTurnsOf(ctx, &c.CancelParams, failed)
	for _, wake := range wakes {
		c.wakes = store.AddWake(c.wakes, wake)
	}
	return err
}

// freeTurnsOf returns the jobs that had a turn.
func (s *Store) freeTurnsOf(
	ctx context.Context, params *store.CancelParams, jobs []pgtype.UUID,
) (had map[store.ID]bool, wakes []store.Wake, err error) {
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
			had, err = write.GiveUpTurns(ctx, t, jobs, params, s.Micros())
			return err
		})
	})
	if pg.IsLockTimeout(err) {
		return nil, nil, locks.ErrBlocked("skip jobs")
	}
	if err != nil {
		return nil, nil, err
	}
	return had, s.AfterCommit(ctx, nil, len(had) > 0), nil
}

// skip lets those behind jobs go on that have failed and keep their turns.
func (s *Store) skip(ctx context.Context, params store.CancelParams) ([]store.Result, []store.Wake, error) {
	had, wakes, err := s.freeTurnsOf(ctx, &params, pg.UUIDsOf(params.Jobs))
	if err != nil {
		return nil, nil, err
	}
	records, err := s.reader.RecordsOf(ctx, params.Jobs)
	if err != nil {
		return nil, wakes, err
	}
	states := make(map[store.ID]store.State, len(records))
	for i := range records {
		states[records[i].ID] = records[i].State
	}
	results := make([]store.Result, len(params.Jobs))
	for i, id := range params.Jobs {
		results[i] = store.Result{Job: id, State: states[id]}
		switch {
		case had[id]:
			results[i].State = store.Failed
			delete(had, id) // of a job that is named twice the first answer tells
		case states[id] == 0:
			results[i].Err = store.NoJob(id)
		default:
			results[i].Err = store.JobIs(id, states[id])
		}
	}
	return results, wakes, nil
}

// action is what is recorded, or nil.
func (c *cancelling) action() *string {
	if !c.recorded {
		return nil
	}
	return pg.OptText(string(c.Action()))
}

// cancelAll cancels jobs. With an error, too, it returns what has happened.
func (s *Store) cancelAll(ctx context.Context, params store.CancelParams, recorded bool) (*cancelling, error) {
	params.Reason, params.Actor = pg.CleanText(params.Reason), pg.CleanText(params.Actor)
	c := &cancelling{
		CancelParams: params, recorded: recorded, states: make(map[store.ID]store.State, len(params.Jobs)),
		ended: map[store.ID]bool{}, busy: map[store.ID]bool{}, woken: write.Woken{},
	}
	err := s.cancelEach(ctx, c)
	c.wakes = s.AfterCommit(ctx, c.woken, len(params.Jobs) > 0)
	return c, err
}

func (s *Store) cancelEach(ctx context.Context, c *cancelling) error {
	for ids := range slices.Chunk(c.Jobs, jobsAtOnce) {
		parts, err := s.inOrder(ctx, ids)
		if err != nil {
			return err
		}
		for _, part := range parts {
			if err := s.cancel(ctx, c, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// inOrder splits a list of jobs where a parent comes after a child that answers it.
func (s *Store) inOrder(ctx context.Context, ids []store.ID) (parts [][]store.ID, err error) {
	if len(ids) == 1 {
		return [][]store.ID{ids}, nil
	}
	parents, err := locks.ParentsOf(ctx, pg.One{DB: s.DB}, ids)
	if err != nil {
		return nil, err
	}
	begin := 0
	answered := map[store.ID]bool{}
	for i, id := range ids {
		if answered[id] {
			parts, begin = append(parts, ids[begin:i]), i
			clear(answered)
		}
		if parent, ok := parents[id]; ok {
			answered[parent] = true
		}
	}
	return append(parts, ids[begin:]), nil
}

// cancel cancels jobs and notes their states. A job that is moving, or that another transaction has
// locked, is tried again; if that fails again and again, a request to stop is stored, and
// SweepCancels applies it.
func (s *Store) cancel(ctx context.Context, c *cancelling, ids []store.ID) error {
	once := s.cancelOnce
	if c.Terminate {
		once = s.terminateOnce
	}
	var found found
	left, err := locks.RetryWhileHeld(ctx, ids, func(ids []store.ID) (moved []store.ID, err error) {
		err = pg.RetryOnConflict(ctx, func() (err error) {
			found, err = once(ctx, c, ids)
			return err
		})
		maps.Copy(c.states, found.states)
		maps.Copy(c.ended, found.ended)
		maps.Copy(c.woken, found.woken)
		for _, id := range ids {
			state, there := found.states[id]
			if there && (state == 0 || state == store.Running && c.Terminate) {
				moved = append(moved, id)
			}
		}
		return moved, err
	})
	left = slices.DeleteFunc(left, func(id store.ID) bool {
		c.busy[id] = c.Terminate && found.busy[id]
		return c.busy[id]
	})
	if err != nil || len(left) == 0 {
		return err
	}
	busy, err := s.putRequests(ctx, left, func(ids []pgtype.UUID) pg.Statement {
		return pg.Statement{Name: "cancel_request_put", Args: []any{ids, s.Micros(), c.Reason, c.Actor, c.action()}}
	})
	if err != nil {
		return err
	}
	for _, id := range busy {
		c.busy[id] = true
	}
	records, err := s.reader.RecordsOf(ctx, left)
	for i := range records {
		c.states[records[i].ID] = records[i].State
	}
	return err
}

// cancelling is the statement that cancels jobs that have a pointer, and asks those that run, or
// notes that they do.
func (f *found) cancelling(c *cancelling, ids []pgtype.UUID, now int64) pg.Statement {
	*f = found{map[store.ID]store.State{}, map[store.ID]bool{}, map[store.ID]bool{}, write.Woken{}}
	args := []any{ids, now, c.Reason, c.Actor, c.Terminate, c.recorded, c.apart || c.Terminate}
	return pg.Statement{Name: "cancel", Args: args, Each: func(r pg.Row) error {
		var id pgtype.UUID
		var state, lane int32
		var stopped bool
		err := r.Scan(&id, &state, &lane, &stopped)
		f.states[id.Bytes] = store.State(state)
		if stopped {
			f.ended[id.Bytes] = true
		}
		if store.State(state) == store.Available {
			f.woken[id.Bytes] = write.WokenJob{Lane: lane}
		}
		return err
	}}
}

// noteBusy notes that another transaction has locked those jobs that are not free.
func (f *found) noteBusy(ids, free []store.ID) {
	for _, id := range ids {
		if !slices.Contains(free, id) {
			f.states[id], f.busy[id] = 0, true
		}
	}
}

func (s *Store) cancelOnce(ctx context.Context, c *cancelling, ids []store.ID) (f found, err error) {
	err = s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
		free, err := locks.GrabFor(ctx, t, ids)
		if err != nil {
			return err
		}
		now := s.Micros()
		uuids := pg.UUIDsOf(free)
		list := []pg.Statement{f.cancelling(c, uuids, now)}
		list = append(list, f.woken.Wake(write.WakeCandidates{Children: uuids}, now))
		f.noteBusy(ids, free)
		return t.RunAll(ctx, list)
	})
	return f, err
}

// requestsLeft reads the requests whose job does not run, and forgets those that have nothing to do
// any more: their job has finished, or is gone.
func (s *Store) requestsLeft(ctx context.Context, look, forget string) ([]request, error) {
	var left []request
	err := s.Send(ctx, pg.Statement{Name: look, Args: []any{int32(jobsAtOnce)}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		var reason, actor *string
		err := r.Scan(&id, &reason, &actor)
		left = append(left, request{id.Bytes, pg.TextOf(reason), pg.TextOf(actor)})
		return err
	}})
	if err != nil || len(left) == 0 {
		return nil, err
	}
	ids := make([]store.ID, len(left))
	for i, q := range left {
		ids[i] = q.id
	}
	over := map[store.ID]bool{}
	err = s.Send(ctx, pg.Statement{Name: forget, Args: []any{pg.UUIDsOf(ids)}, Each: func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		over[id.Bytes] = true
		return err
	}})
	return slices.DeleteFunc(left, func(q request) bool { return over[q.id] }), err
}

// SweepCancels applies the requests that stand.
func (s *Store) SweepCancels(ctx context.Context) (swept store.Swept, err error) {
	left, err := s.requestsLeft(ctx, "cancel_requests_left", "cancel_requests_forget")
	if err != nil {
		return swept, err
	}
	for _, q := range left {
		c, err := s.cancelAll(ctx, store.CancelParams{Jobs: []store.ID{q.id}, Reason: q.reason, Actor: q.actor}, false)
		swept.Wakes = append(swept.Wakes, c.wakes...)
		if err != nil {
			return swept, err
		}
		if c.states[q.id] == store.Cancelled {
			swept.Jobs++
		}
		if c.ended[q.id] {
			swept.Ended = append(swept.Ended, q.id)
		}
	}
	return swept, nil
}

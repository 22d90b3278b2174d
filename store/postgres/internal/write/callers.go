package write

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// EnqueueTx is that of store.Writer in the transaction of t, without the class of its error.
func (s *Store) EnqueueTx(ctx context.Context, t pg.Runner, enqueues []*store.Enqueue) error {
	s.FreshenFor(ctx, t, enqueues)
	now := s.Micros()
	early := store.MarkPredecessors(enqueues)
	entries, err := s.entriesOf(ctx, enqueues, now, true)
	markEarly(entries, early)
	if err != nil || len(entries) == 0 {
		return err
	}
	woken, err := enqueueAndSend(ctx, t, entries, now, func(left []*Entry) error {
		return s.enqueueAdmitted(ctx, t, left, now, false, func(left []*Entry) error { return s.enqueueForCaller(ctx, t, left, now) })
	})
	if err != nil {
		return err
	}
	for _, st := range attributesOf(entries) {
		if err := st.On(ctx, t); err != nil {
			return err
		}
	}
	if err := s.notifyTx(ctx, t, wakesOf(entries, now)); err != nil {
		return err
	}
	var leader []store.Wake
	if slices.ContainsFunc(unfold(entries), (*Entry).waits) {
		leader = append(leader, store.Wake{Kind: store.WakeLeader}) // who is to look at what they wait for
	}
	return s.WakeTx(ctx, t, woken, now, leader...)
}

// notifyTx sends notifications when a caller's transaction commits.
func (s *Store) notifyTx(ctx context.Context, t pg.Runner, payloads []string) error {
	if len(payloads) == 0 {
		return nil
	}
	return t.Run(ctx, "notify", nil, s.Channel(), payloads)
}

// SendTx is that of store.Writer in the transaction of t, without the class of its error.
func (s *Store) SendTx(ctx context.Context, t pg.Runner, sends []*store.Send) error {
	possible := make([]*store.Send, 0, len(sends))
	for _, q := range sends {
		q.Result = store.SendResult{}
		if q.Err = q.Check(); q.Err == nil {
			possible = append(possible, q)
		}
	}
	if err := CheckIsolation(ctx, t); err != nil {
		return err
	}
	now := s.Micros()
	w, err := deliver(ctx, t, possible, now)
	if err != nil {
		return err
	}
	return s.WakeTx(ctx, t, w, now)
}

// WakeTx notifies, when a caller's transaction commits, of jobs that became available in it, and of
// what else is to be told.
func (s *Store) WakeTx(ctx context.Context, t pg.Runner, w Woken, now int64, more ...store.Wake) error {
	var payloads []string
	for _, wake := range more {
		payloads = append(payloads, local.EncodeWake(wake, ""))
	}
	if len(w) == 0 {
		return s.notifyTx(ctx, t, payloads)
	}
	// Their lanes are read in the same transaction: the caller's may hold the last connection of
	// the pool.
	var ids []int32
	for _, job := range w {
		ids = append(ids, job.Lane)
	}
	if err := t.Run(ctx, "lanes_by_id", s.CacheLane, ids); err != nil {
		return err
	}
	wakes, err := s.wakes(ctx, w)
	if err != nil {
		return err
	}
	var places []local.Late
	for _, job := range w {
		if at := (local.Late{int64(job.Lane), now}); !slices.Contains(places, at) && len(places) < local.MaxLates {
			places = append(places, at)
		}
	}
	payloads = append(payloads, local.EncodeLate(places, ""))
	for _, wake := range wakes {
		payloads = append(payloads, local.EncodeWake(wake, ""))
	}
	return s.notifyTx(ctx, t, payloads)
}

// CheckIsolation refuses a transaction that sees what was there when it began: whether a job still
// runs, or may still be sent to, is asked after its body was locked, and is not to be told by an
// older snapshot.
func CheckIsolation(ctx context.Context, t pg.Runner) error {
	var level string
	if err := t.Run(ctx, "isolation", func(r pg.Row) error { return r.Scan(&level) }); err != nil {
		return err
	}
	return checkIsolation(level)
}

func checkIsolation(level string) error {
	if level == "read committed" || level == "read uncommitted" { // which are the same
		return nil
	}
	return fmt.Errorf("%w: the transaction is at %s, which cannot see whether the job has ended meanwhile; use read committed",
		store.ErrInvalid, level)
}

// AppendTx is that of store.Writer in the transaction of t, without the class of its error.
func (s *Store) AppendTx(ctx context.Context, t pg.Runner, in *store.Append) (err error) {
	a := &appending{Append: in}
	now := s.Micros()
	if ready, err := s.prepare(ctx, a, now); err != nil || !ready {
		return err
	}
	var level string
	if err := LockBody(a.Lease.Job, &level).On(ctx, t); err != nil {
		return err
	}
	if level != "" { // of a job that is there
		if err := checkIsolation(level); err != nil {
			return err
		}
	}
	return s.appendHeld(ctx, t, a, now)
}

// AppendHeld is AppendTx in a transaction of ours that has locked the body. Other statements of it
// come before, in the round trip of the first of its own.
func (s *Store) AppendHeld(ctx context.Context, t pg.Session, in *store.Append, before ...pg.Statement) error {
	a := &appending{Append: in}
	now := s.Micros()
	if ready, err := s.prepare(ctx, a, now); err != nil || !ready {
		return err
	}
	return s.appendHeld(ctx, t, a, now, before...)
}

// LockBody is the statement that locks the body of a job whose step is written in a transaction,
// and says how that is isolated, if the job is there.
func LockBody(job store.ID, level *string) pg.Statement {
	return pg.Statement{Name: "lock_body_of_step", Args: []any{pg.UUIDOf(job), pg.SilenceInTx}, Each: func(r pg.Row) error {
		var silence string
		return r.Scan(&silence, level)
	}}
}

// prepare reports whether there is something to append; what is invalid has an error.
func (s *Store) prepare(ctx context.Context, a *appending, now int64) (ready bool, err error) {
	if !a.isPossible() {
		return false, nil
	}
	if a.entries, err = s.EntriesOf(ctx, a.Enqueues, now, true); err != nil {
		return false, err
	}
	return a.isPrepared(), nil
}

// appendHeld writes an append whose job's body is locked.
func (s *Store) appendHeld(ctx context.Context, t pg.Runner, a *appending, now int64, before ...pg.Statement) error {
	appends := []*appending{a}
	left, err := s.appendable(ctx, t, appends, before...)
	if err != nil || len(left) == 0 {
		return err
	}
	switch err := s.writeAppends(ctx, t, appends, now); {
	case errors.Is(err, errEnqueueFailed):
		a.refuse(ctx, err)
		return nil
	case err != nil:
		return err
	}
	for _, st := range saidBy(nil, appends, nil).Writing() {
		if err := t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
			return err
		}
	}
	return s.notifyTx(ctx, t, wakesOf(a.entries, now))
}

const (
	// firstAwait and lastAwait bound how often it is looked whether a caller's transaction has
	// ended.
	firstAwait = time.Millisecond
	lastAwait  = 100 * time.Millisecond
)

// AwaitTx is that of store.Writer, without the class of its error.
func (s *Store) AwaitTx(ctx context.Context, job store.ID) error {
	for wait := firstAwait; ; wait = min(2*wait, lastAwait) {
		unavailable, err := locks.Grab(ctx, pg.One{DB: s.DB}, []store.ID{job})
		if err != nil || !unavailable[job] {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// wakesOf returns the notifications of enqueues in a caller's transaction. They carry no origin:
// this store, too, hears of them only when the transaction commits, and claims may have passed the
// places by then.
func wakesOf(entries []*Entry, now int64) []string {
	ready, soonest := map[local.QueueName][]local.Late{}, map[local.QueueName]int64{}
	for _, e := range entries {
		q := local.QueueName{Namespace: e.Job.Namespace, Name: e.Job.Queue}
		runAt, lane := e.RunAt, e.Lane.ID
		if e.Result.Replaced {
			runAt, lane = e.Result.RunAt.UnixMicro(), e.replaced
		}
		switch {
		case e.Result.State == 0 && !e.Result.Replaced:
		case runAt <= now && e.Job.OrderingKey == "":
			if at := (local.Late{int64(lane), runAt}); !slices.Contains(ready[q], at) && len(ready[q]) < local.MaxLates {
				ready[q] = append(ready[q], at)
			}
		default:
			// What is due later, or needs the turn of its key, is a matter of promotion.
			if due, ok := soonest[q]; !ok || runAt < due {
				soonest[q] = runAt
			}
		}
	}
	var payloads []string
	for q, places := range ready {
		wake := store.Wake{Kind: store.WakeReady, Namespace: q.Namespace, Queue: q.Name}
		payloads = append(payloads, local.EncodeLate(places, ""), local.EncodeWake(wake, ""))
	}
	for q, due := range soonest {
		wake := store.Wake{Kind: store.WakeDeferred, Namespace: q.Namespace, Queue: q.Name, Due: pg.TimeOf(due)}
		payloads = append(payloads, local.EncodeWake(wake, ""))
	}
	return payloads
}

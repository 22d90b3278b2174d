package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// Tx wraps a caller's pgx transaction for EnqueueTx, SendTx and AppendTx.
func Tx(tx pgx.Tx) store.Tx { return callersTx{pgx: tx} }

// SQLTx wraps a caller's transaction of database/sql for the same. It must be of pgx's driver (pgx/v5/stdlib).
func SQLTx(tx *sql.Tx) store.Tx { return callersTx{sql: tx} }

type callersTx struct {
	pgx pgx.Tx
	sql *sql.Tx
}

// StoreName implements store.Tx.
func (callersTx) StoreName() string { return storeName }

// callers returns what runs statements in a caller's transaction. It must be on the same database as the store; its search path and
// settings do not matter.
func (s *Store) callers(wrapped store.Tx) (runner, error) {
	if s.db.isClosed() {
		return nil, errClosed
	}
	theirs, ok := wrapped.(callersTx)
	switch {
	case ok && theirs.pgx != nil:
		return pgxRunner{s.db, theirs.pgx}, nil
	case ok && theirs.sql != nil:
		return sqlRunner{s.db, theirs.sql}, nil
	}
	return nil, store.NotWrapped("postgres.Tx or postgres.SQLTx")
}

func (s *writeStore) enqueueTx(ctx context.Context, t runner, enqueues []*store.Enqueue) error {
	s.freshen(ctx, t, enqueues)
	now := s.micros()
	entries, err := s.entriesOf(ctx, enqueues, now, true)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := s.enqueueForCaller(ctx, t, entries, now); err != nil {
		return err
	}
	return s.notifyTx(ctx, t, wakesOf(entries, now))
}

// notifyTx sends notifications when a caller's transaction commits.
func (s *writeStore) notifyTx(ctx context.Context, t runner, payloads []string) error {
	if len(payloads) == 0 {
		return nil
	}
	return t.run(ctx, "notify", nil, s.channel(), payloads)
}

func (s *writeStore) sendTx(ctx context.Context, t runner, sends []*store.Send) error {
	possible := make([]*store.Send, 0, len(sends))
	for _, q := range sends {
		q.Result = store.SendResult{}
		if q.Err = q.Check(); q.Err == nil {
			possible = append(possible, q)
		}
	}
	var level string
	if err := t.run(ctx, "isolation", func(r row) error { return r.Scan(&level) }); err != nil {
		return err
	}
	if err := checkIsolation(level); err != nil {
		return err
	}
	now := s.micros()
	w, err := deliver(ctx, t, possible, now)
	if err != nil || len(w) == 0 {
		return err
	}
	// Their lanes are read in the same transaction: the caller's may hold the last connection of the pool.
	var ids []int32
	for _, job := range w {
		ids = append(ids, job.lane)
	}
	if err := t.run(ctx, "lanes_by_id", s.cacheLane, ids); err != nil {
		return err
	}
	wakes, err := s.wakes(ctx, w)
	if err != nil {
		return err
	}
	var places []late
	for _, job := range w {
		if at := (late{int64(job.lane), now}); !slices.Contains(places, at) && len(places) < maxLates {
			places = append(places, at)
		}
	}
	payloads := []string{encodeLate(places, "")}
	for _, wake := range wakes {
		payloads = append(payloads, encodeWake(wake, ""))
	}
	return s.notifyTx(ctx, t, payloads)
}

// checkIsolation refuses transactions that see what was there when they began: whether a job still runs, or may still be sent to, is
// asked after its body was locked, and is not to be told by an older snapshot.
func checkIsolation(level string) error {
	if level == "read committed" || level == "read uncommitted" { // which are the same
		return nil
	}
	return fmt.Errorf("%w: the transaction is at %s, which cannot see whether the job has ended meanwhile; use read committed",
		store.ErrInvalid, level)
}

func (s *writeStore) appendTx(ctx context.Context, t runner, in *store.Append) (err error) {
	a := &appending{Append: in}
	if !a.isPossible() {
		return nil
	}
	now := s.micros()
	if a.entries, err = s.entriesOf(ctx, a.Enqueues, now, true); err != nil {
		return err
	}
	if !a.isPrepared() {
		return nil
	}
	appends := []*appending{a}
	var level string
	locked := func(r row) error {
		var silence string
		return r.Scan(&silence, &level)
	}
	if err := t.run(ctx, "lock_body_of_step", locked, uuidOf(a.Lease.Job), silenceInTx); err != nil {
		return err
	}
	if level != "" { // of a job that is there
		if err := checkIsolation(level); err != nil {
			return err
		}
	}
	left, err := s.appendable(ctx, t, appends)
	if err != nil || len(left) == 0 {
		return err
	}
	switch err := s.writeAppends(ctx, t, appends, now); {
	case errors.Is(err, errEnqueueFailed):
		a.refuse(ctx, err)
		return nil
	case err != nil:
		return err
	default:
		return s.notifyTx(ctx, t, wakesOf(a.entries, now))
	}
}

const (
	// firstAwait and lastAwait bound how often it is looked whether a caller's transaction has ended.
	firstAwait = time.Millisecond
	lastAwait  = 100 * time.Millisecond
)

// AwaitTx is that of store.Writer, without the class of its error.
func (s *writeStore) AwaitTx(ctx context.Context, job store.ID) error {
	for wait := firstAwait; ; wait = min(2*wait, lastAwait) {
		held, err := grab(ctx, one{s.database}, []store.ID{job})
		if err != nil || !held[job] {
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

// wakesOf returns the notifications of enqueues in a caller's transaction. They carry no origin: this store, too, hears
// of them only when the transaction commits, and claims may have passed the places by then.
func wakesOf(entries []*entry, now int64) []string {
	ready, soonest := map[queueName][]late{}, map[queueName]int64{}
	for _, e := range entries {
		q := queueName{e.Job.Namespace, e.Job.Queue}
		switch {
		case e.Result.State == 0 && !e.Result.Replaced:
		case e.runAt <= now && e.Job.OrderingKey == "":
			if at := (late{int64(e.lane.id), e.runAt}); !slices.Contains(ready[q], at) && len(ready[q]) < maxLates {
				ready[q] = append(ready[q], at)
			}
		default:
			// What is due later, or needs the turn of its key, is a matter of promotion.
			if due, ok := soonest[q]; !ok || e.runAt < due {
				soonest[q] = e.runAt
			}
		}
	}
	var payloads []string
	for q, places := range ready {
		wake := store.Wake{Kind: store.WakeReady, Namespace: q.namespace, Queue: q.name}
		payloads = append(payloads, encodeLate(places, ""), encodeWake(wake, ""))
	}
	for q, due := range soonest {
		wake := store.Wake{Kind: store.WakeDeferred, Namespace: q.namespace, Queue: q.name, Due: timeOf(due)}
		payloads = append(payloads, encodeWake(wake, ""))
	}
	return payloads
}

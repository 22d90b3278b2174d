package operate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/feed"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
)

const (
	// maxSurvivors is how many jobs of a day may outlive it for its partitions to be dropped. They
	// are moved while everybody waits, at about 15 microseconds each.
	maxSurvivors = 100_000
	// lookAgain is how long a partition that could not be dropped is left alone: looking at it
	// costs a scan.
	lookAgain = time.Hour
	// dropWait is how long dropping may wait for those who use the tables. Everybody else waits
	// behind it.
	dropWait = "200ms"
	// deleteLimit is how many jobs are deleted at once if RetainParams does not say.
	deleteLimit = 1000
)

// errNotNow says that a partition is dropped some other time.
var errNotNow = errors.New("not now")

// Retain is that of store.Maintenance, without the class of its error.
func (s *Store) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	return s.retain(ctx, retention{params, s.Now()})
}

func (s *Store) retain(ctx context.Context, r retention) (retained store.Retained, err error) {
	err = pg.RetryOnConflict(ctx, func() error {
		return s.Send(ctx,
			pg.Statement{Name: "nodes_forget", Args: []any{s.Injected(), read.NodesKept.Microseconds()}},
			pg.Statement{Name: "lanes_noted", Args: []any{s.Micros()}},
			batches.Forget(r.now, r.Completed, deleteLimit))
	})
	if err != nil {
		return retained, err
	}
	limit := cmp.Or(max(r.Limit, 0), deleteLimit)
	refused, err := updates.ForgetRefused(ctx, s.DB, s.Micros(), limit)
	if err != nil {
		return retained, err
	}
	if err := s.tables.ExtendPartitions(ctx); err != nil {
		return retained, err
	}
	if err := s.forgetActions(ctx, r); err != nil {
		return retained, err
	}
	swept, err := keys.Sweep(ctx, s.DB, s.Micros(), limit)
	if err != nil {
		return retained, err
	}
	retained.More = refused || swept
	if r.shortest() == 0 {
		return retained, s.retainFeed(ctx, r, &retained)
	}
	if retained.Jobs, err = s.dropDays(ctx, r); err != nil {
		return retained, err
	}
	if err := s.retireLanes(ctx); err != nil {
		return retained, err
	}
	deleted, more, err := s.deleteFinished(ctx, r)
	retained.Jobs += deleted
	retained.More = retained.More || more
	if err != nil {
		return retained, err
	}
	return retained, s.retainFeed(ctx, r, &retained)
}

// retainFeed forgets changes that are old enough. It comes last, as it may fail by itself: for want
// of rights on its tables, which are newer, or of a lock.
func (s *Store) retainFeed(ctx context.Context, r retention, retained *store.Retained) error {
	told, err := feed.Forget(ctx, s.Store.Store, r.Feed, r.now)
	retained.More = retained.More || told
	return err
}

// dropDays drops the partitions of days whose time is over, and returns how many jobs that removed.
func (s *Store) dropDays(ctx context.Context, r retention) (jobs int, err error) {
	var list schema.Days
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		list, err = s.tables.Partitions(ctx, t)
		return err
	})
	if err != nil {
		return 0, err
	}
	var last *schema.Partition
	for _, p := range list.OfJobs() {
		if p.End().Add(r.shortest()).After(r.now) {
			break
		}
		if !s.worthLooking(p, r) {
			continue
		}
		removed, err := s.dropPartition(ctx, p, r)
		jobs += removed
		switch {
		case errors.Is(err, errNotNow):
			s.lookLater(p, r)
		case err != nil:
			return jobs, err
		default:
			last = &p
		}
	}
	if last == nil {
		return jobs, nil
	}
	_, to := last.Bounds()
	return jobs, s.forgetGone(ctx, to)
}

func (s *Store) worthLooking(p schema.Partition, r retention) bool {
	s.lookedMu.Lock()
	defer s.lookedMu.Unlock()
	at, ok := s.looked[looked{p, r.Retention}]
	return !ok || r.now.Sub(at) >= lookAgain || r.now.Before(at)
}

func (s *Store) lookLater(p schema.Partition, r retention) {
	s.lookedMu.Lock()
	defer s.lookedMu.Unlock()
	if s.looked == nil {
		s.looked = map[looked]time.Time{}
	}
	for l, at := range s.looked {
		if r.now.Sub(at) >= lookAgain {
			delete(s.looked, l)
		}
	}
	s.looked[looked{p, r.Retention}] = r.now
}

// dropPartition drops the partitions of a day and returns how many jobs that removed, or errNotNow
// if it is not the time for it.
//
// What needs a scan is done first and without a lock: counting, and finding the jobs that are to be
// kept. Under the lock only those are looked at again that may have changed since: jobs that had
// not finished, which are found through their pointers, and those that did not complete, which have
// an index.
func (s *Store) dropPartition(ctx context.Context, p schema.Partition, r retention) (removed int, err error) {
	finished, candidates, err := s.survivors(ctx, p, r)
	if err != nil {
		return 0, err
	}
	from, to := p.Bounds()
	bounds := slices.Clip([]any{pg.UUIDOf(from), pg.UUIDOf(to)})
	bound := int32(maxSurvivors + 1)
	states, since := r.since()
	if err := keys.Settle(ctx, s.DB, from, to, states, since); err != nil {
		return 0, err
	}
	err = s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
		try, err := t.Tx.Query(ctx, "SELECT pg_try_advisory_xact_lock($1::bigint)", s.tables.LockKey("partitions"))
		if err != nil {
			return err
		}
		if free, err := pgx.CollectExactlyOneRow(try, pgx.RowTo[bool]); err != nil || !free {
			return errors.Join(err, errNotNow)
		}
		existing, err := s.tables.Partitions(ctx, t)
		if err != nil {
			return err
		}
		if !slices.Contains(existing[p], "job") {
			return errNotNow
		}
		if err := t.Exec(ctx, "SET LOCAL lock_timeout = '"+dropWait+"'"); err != nil {
			return err
		}
		if err := t.Exec(ctx, s.Text("partition_lock")); err != nil {
			return err
		}
		var survivors idSet
		if err := t.Run(ctx, "unfinished_between", survivors.scan, append(bounds, bound)...); err != nil {
			return err
		}
		unfinished := len(survivors.ids)
		if err := t.Run(ctx, "kept_again", survivors.scan, append(bounds, states, since, candidates.ids)...); err != nil {
			return err
		}
		removed = finished - (len(survivors.ids) - unfinished)
		if removed <= 0 && len(survivors.ids) > 0 || len(survivors.ids) > maxSurvivors {
			return errNotNow // nothing would be won, or it would take too long
		}
		return s.replacePartition(ctx, t, p, existing[p], survivors.ids)
	})
	if pg.IsLockTimeout(err) || pg.CodeOf(err) == pg.CodeDeadlock {
		err = errNotNow
	}
	if err != nil {
		return 0, err
	}
	return max(removed, 0), nil
}

// survivors finds out how many jobs of a day have finished, and which ones may have to be kept; or
// errNotNow, if these are too many, or all, or remember too much.
func (s *Store) survivors(ctx context.Context, p schema.Partition, r retention) (finished int, candidates idSet, err error) {
	from, to := p.Bounds()
	bounds := slices.Clip([]any{pg.UUIDOf(from), pg.UUIDOf(to)})
	bound := int32(maxSurvivors + 1)
	states, since := r.since()
	moved := 0
	err = s.InTx(ctx, pg.BeginScan, func(t pg.Session) error {
		if err := t.Run(ctx, "count_finished_between", func(r pg.Row) error { return r.Scan(&finished) }, bounds...); err != nil {
			return err
		}
		if err := t.Run(ctx, "unfinished_between", candidates.scan, append(bounds, bound)...); err != nil {
			return err
		}
		if err := t.Run(ctx, "kept_between", candidates.scan, append(bounds, states, since, bound)...); err != nil {
			return err
		}
		return t.Run(ctx, "count_entries", func(r pg.Row) error { return r.Scan(&moved) }, append(bounds, candidates.ids, s.MoveMost+1)...)
	})
	if err != nil {
		return 0, candidates, err
	}
	if len(candidates.ids) > maxSurvivors || moved > s.MoveMost || finished == 0 && len(candidates.ids) > 0 {
		return 0, candidates, errNotNow
	}
	return finished, candidates, nil
}

// replacePartition drops the tables of a day, after the survivors have moved to the default
// partition.
func (s *Store) replacePartition(ctx context.Context, t pg.Session, p schema.Partition, tables []string, survivors []pgtype.UUID) error {
	from, to := p.Bounds()
	if survivors == nil {
		survivors = []pgtype.UUID{}
	}
	if err := t.Run(ctx, "keys_keep", nil, pg.UUIDOf(from), pg.UUIDOf(to), survivors); err != nil {
		return err
	}
	if err := t.Exec(ctx, s.tables.Scripts("partition_detach", tables, p)); err != nil {
		return err
	}
	for _, table := range tables {
		if len(survivors) == 0 {
			break
		}
		// Not a statement by name: its table is gone afterwards.
		if _, err := t.Tx.Exec(ctx, s.tables.Script("partition_keep", table, p), pgx.QueryExecModeExec, survivors); err != nil {
			return err
		}
	}
	if err := s.forgetBetween(ctx, t, pg.UUIDOf(from), pg.UUIDOf(to), survivors); err != nil {
		return err
	}
	return t.Exec(ctx, s.tables.Scripts("partition_drop", tables, p))
}

// idSet collects ids.
type idSet struct{ ids []pgtype.UUID }

func (set *idSet) scan(r pg.Row) error {
	var id pgtype.UUID
	err := r.Scan(&id)
	set.ids = append(set.ids, id)
	return err
}

// deleteFinished deletes what retention by partitions does not reach.
func (s *Store) deleteFinished(ctx context.Context, r retention) (deleted int, more bool, err error) {
	limit := r.Limit
	if limit <= 0 {
		limit = deleteLimit
	}
	var early, all []int32
	var earlyUntil, allUntil []int64
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		keep := r.keep(state)
		if keep <= 0 {
			continue
		}
		until := r.now.Add(-keep).UnixMicro()
		all, allUntil = append(all, int32(state)), append(allUntil, until)
		if state != store.Completed && (r.Completed == 0 || keep < r.Completed) {
			early, earlyUntil = append(early, int32(state)), append(earlyUntil, until)
		}
	}
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var over idSet
			if err := t.Run(ctx, "finished_over", over.scan, early, earlyUntil, all, allUntil, int32(limit)); err != nil {
				return err
			}
			busy, err := keys.Busy(ctx, t, over.ids)
			if err != nil {
				return err
			}
			over.ids = slices.DeleteFunc(over.ids, func(id pgtype.UUID) bool { return busy[id.Bytes] })
			if deleted = len(over.ids); deleted == 0 {
				return nil
			}
			return s.removeJobs(ctx, t, over.ids)
		})
	})
	return deleted, deleted >= limit, err
}

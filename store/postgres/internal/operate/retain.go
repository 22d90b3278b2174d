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
	"github.com/holdfastdev/holdfast/store/postgres/internal/apikeys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/feed"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/remains"
	"github.com/holdfastdev/holdfast/store/postgres/internal/requests"
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
	// triesToCount is how often a day is counted again, if its jobs have changed before its tables
	// were locked. The last count may be wrong by the jobs that were retried since.
	triesToCount = 5
	// deleteLimit is how many jobs are deleted at once if RetainParams does not say.
	deleteLimit = 1000
)

// errNotNow says that a partition is dropped some other time, and errChanged that its jobs have
// changed since they were counted.
var (
	errNotNow  = errors.New("not now")
	errChanged = errors.New("jobs have changed since they were counted")
)

// Retain is that of store.Maintenance, without the class of its error.
func (s *Store) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	r, err := s.ruled(ctx, params)
	if err != nil {
		return store.Retained{}, err
	}
	return s.retain(ctx, r)
}

func (s *Store) retain(ctx context.Context, r retention) (retained store.Retained, err error) {
	err = pg.RetryOnConflict(ctx, func() error {
		return s.Send(ctx,
			pg.Statement{Name: "nodes_forget", Args: []any{s.Injected(), read.NodesKept.Microseconds()}},
			pg.Statement{Name: "lanes_noted", Args: []any{s.Micros()}},
			classes.ForgetCounts(s.Micros(), deleteLimit),
			apikeys.Forget(s.Micros(), deleteLimit),
			remains.ForgetBuilds(r.now, r.rules.Builds(), deleteLimit),
			batches.Forget(r.now, r.Completed, deleteLimit))
	})
	if err != nil {
		return retained, err
	}
	limit := cmp.Or(max(r.Limit, 0), deleteLimit)
	if retained.More, err = s.retainOthers(ctx, r, limit); err != nil {
		return retained, err
	}
	if r.rules.Shortest() == 0 {
		return retained, s.retainFeed(ctx, r, &retained)
	}
	drop := s.dropDays
	if r.Archived {
		drop = s.dropEmptyDays
	}
	dropped, thins, err := drop(ctx, r, limit)
	retained.Jobs += dropped
	if err != nil {
		return retained, err
	}
	if err := s.retireLanes(ctx); err != nil {
		return retained, err
	}
	rows, more, err := s.retainRows(ctx, r, limit)
	retained.Jobs += rows
	retained.More = retained.More || more || thins
	if err != nil {
		return retained, err
	}
	bare, err := s.spans.Remove(ctx, s.DB, r.now, r.now.Add(-r.rules.Shortest()))
	if retained.More = retained.More || bare; err != nil {
		return retained, err
	}
	return retained, s.retainFeed(ctx, r, &retained)
}

// retainOthers removes what is old and belongs to no job that is there, and tells whether there is
// more.
func (s *Store) retainOthers(ctx context.Context, r retention, limit int) (more bool, err error) {
	for _, remove := range []func() (bool, error){
		func() (bool, error) { return updates.ForgetRefused(ctx, s.DB, s.Micros(), limit) },
		func() (bool, error) { return false, s.tables.ExtendPartitions(ctx) },
		func() (bool, error) { return false, s.forgetActions(ctx, r) },
		func() (bool, error) { return requests.Forget(ctx, s.DB, s.Micros(), limit) },
		func() (bool, error) { return keys.Sweep(ctx, s.DB, s.Micros(), limit) },
		func() (bool, error) { return remains.ForgetStubs(ctx, s.DB, r.now, r.Stubs, limit) },
	} {
		some, err := remove()
		if err != nil {
			return more, err
		}
		more = more || some
	}
	return more, nil
}

// retainRows removes jobs that do not go with their day.
func (s *Store) retainRows(ctx context.Context, r retention, limit int) (removed int, more bool, err error) {
	if r.Archived {
		return 0, false, nil
	}
	deleted, more, err := s.deleteFinished(ctx, r)
	if err != nil {
		return deleted, false, err
	}
	aged, walks, err := s.walkAges(ctx, r, limit)
	return deleted + aged, more || walks, err
}

// retainFeed forgets changes that are old enough. It comes last, as it may fail by itself: for want
// of rights on its tables, which are newer, or of a lock.
func (s *Store) retainFeed(ctx context.Context, r retention, retained *store.Retained) error {
	told, err := feed.Forget(ctx, s.Store.Store, r.Feed, r.now)
	retained.More = retained.More || told
	return err
}

// dropDays drops the partitions of days whose time is over, and thins those that stay as many of
// their jobs are kept. It returns how many jobs that removed, and whether there is more to do.
func (s *Store) dropDays(ctx context.Context, r retention, limit int) (jobs int, more bool, err error) {
	list, err := s.days(ctx)
	if err != nil {
		return 0, false, err
	}
	var last *schema.Partition
	thinned := 0
	for _, p := range list.OfJobs() {
		if p.End().Add(r.rules.Shortest()).After(r.now) {
			break
		}
		worth, thin := s.lookAt(p, r)
		if !worth {
			continue
		}
		if thin == nil {
			removed, err := 0, errChanged
			for try := 1; errors.Is(err, errChanged); try++ {
				removed, err = s.dropPartition(ctx, p, r, try < triesToCount)
			}
			jobs += removed
			if err == nil {
				last = &p
				continue
			}
			if !errors.Is(err, errNotNow) {
				return jobs, false, err
			}
			if len(r.rules.Queues()) == 0 {
				s.leaveAlone(p, r, r.now.Add(lookAgain))
				continue
			}
			thin = &thinning{}
		}
		if thinned >= limit {
			more = true
			continue
		}
		removed, end, err := s.thin(ctx, r, p, *thin, limit-thinned)
		jobs, thinned, more = jobs+removed, thinned+removed, more || !end
		if err != nil {
			return jobs, false, err
		}
	}
	if last == nil {
		return jobs, more, nil
	}
	_, to := last.Bounds()
	return jobs, more, s.forgetGone(ctx, to)
}

// dropPartition drops the partitions of a day and returns how many jobs that removed, or errNotNow
// if it is not the time for it.
//
// What needs a scan is done first and without a lock: counting, and finding the jobs that are to be
// kept. Under the lock only those are looked at again that may have changed since: jobs that had
// not finished, which are found through their pointers, and those that did not complete, which have
// an index.
//
// exact: it is errChanged if there is a job under the lock that was to go when they were counted,
// or was not there: a person may have retried one that was counted. A day with few jobs is counted
// again under the lock; of others, those that another one removes in between are counted twice.
func (s *Store) dropPartition(ctx context.Context, p schema.Partition, r retention, exact bool) (removed int, err error) {
	finished, candidates, counts, err := s.survivors(ctx, p, r)
	if err != nil {
		return 0, err
	}
	from, to := p.Bounds()
	bounds := slices.Clip([]any{pg.UUIDOf(from), pg.UUIDOf(to)})
	bound := int32(s.KeepMost + 1)
	states, since := r.sinceAll()
	if err := keys.Settle(ctx, s.DB, from, to, states, since); err != nil {
		return 0, err
	}
	err = s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
		tables, err := s.lockDay(ctx, t, p)
		if err != nil {
			return err
		}
		var survivors idSet
		if err := t.Run(ctx, "unfinished_between", survivors.scan, append(bounds, bound)...); err != nil {
			return err
		}
		unfinished := len(survivors.ids)
		if err := s.keptAgain(ctx, t, r, p, candidates.ids, &survivors); err != nil {
			return err
		}
		removed = finished - (len(survivors.ids) - unfinished)
		if removed <= 0 && len(survivors.ids) > 0 || len(survivors.ids) > s.KeepMost {
			return errNotNow // nothing would be won, or it would take too long
		}
		switch {
		case finished <= s.KeepMost: // counted at once, and no other has removed any since
			counts = classes.Counts{}
			err = counts.Between(ctx, t, pg.UUIDOf(from), pg.UUIDOf(to), survivors.ids)
		case exact && len(without(survivors.ids, candidates.ids)) > 0:
			return errChanged
		default: // what was kept when it was counted, and is not any more, goes too
			err = counts.Of(ctx, t, without(candidates.ids, survivors.ids))
		}
		if err != nil {
			return err
		}
		if err := counts.Write(ctx, t, s.Micros()); err != nil {
			return err
		}
		// Among those that survive are finished ones which others need.
		removed = counts.Sum()
		return s.replacePartition(ctx, t, p, tables, survivors.ids)
	})
	if err = notNow(err); err != nil {
		return 0, err
	}
	return removed, nil
}

// notNow is errNotNow for an error of a lock that could not be had.
func notNow(err error) error {
	if pg.IsLockTimeout(err) || pg.CodeOf(err) == pg.CodeDeadlock {
		return errNotNow
	}
	return err
}

// lockDay locks all tables of jobs, and returns those of a day, or errNotNow.
func (s *Store) lockDay(ctx context.Context, t pg.Session, p schema.Partition) ([]string, error) {
	try, err := t.Tx.Query(ctx, "SELECT pg_try_advisory_xact_lock($1::bigint)", s.tables.LockKey("partitions"))
	if err != nil {
		return nil, err
	}
	if free, err := pgx.CollectExactlyOneRow(try, pgx.RowTo[bool]); err != nil || !free {
		return nil, errors.Join(err, errNotNow)
	}
	existing, err := s.tables.Partitions(ctx, t)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(existing[p], "job") {
		return nil, errNotNow
	}
	if err := t.Exec(ctx, "SET LOCAL lock_timeout = '"+dropWait+"'"); err != nil {
		return nil, err
	}
	return existing[p], t.Exec(ctx, s.Text("partition_lock"))
}

// survivors finds out how many jobs of a day have finished, and which ones may have to be kept; or
// errNotNow, if these are too many, or all, or remember too much. It counts the others by queue.
func (s *Store) survivors(
	ctx context.Context, p schema.Partition, r retention,
) (finished int, candidates idSet, counts classes.Counts, err error) {
	from, to := p.Bounds()
	bounds := slices.Clip([]any{pg.UUIDOf(from), pg.UUIDOf(to)})
	bound := int32(s.KeepMost + 1)
	moved := 0
	err = s.InTx(ctx, pg.BeginScan, func(t pg.Session) error {
		if err := t.Run(ctx, "count_finished_between", func(r pg.Row) error { return r.Scan(&finished) }, bounds...); err != nil {
			return err
		}
		if err := t.Run(ctx, "unfinished_between", candidates.scan, append(bounds, bound)...); err != nil {
			return err
		}
		if err := s.keptBetween(ctx, t, r, p, bound, &candidates); err != nil {
			return err
		}
		err := t.Run(ctx, "count_entries", func(r pg.Row) error { return r.Scan(&moved) }, append(bounds, candidates.ids, s.MoveMost+1)...)
		if err != nil {
			return err
		}
		if len(candidates.ids) > s.KeepMost || moved > s.MoveMost || finished == 0 && len(candidates.ids) > 0 {
			return errNotNow
		}
		return counts.Between(ctx, t, pg.UUIDOf(from), pg.UUIDOf(to), candidates.ids)
	})
	return finished, candidates, counts, err
}

// keptBetween finds finished jobs of a day that are to be kept.
func (s *Store) keptBetween(ctx context.Context, t pg.Session, r retention, p schema.Partition, limit int32, found *idSet) error {
	from, to := p.Bounds()
	states, since := r.since()
	args := []any{pg.UUIDOf(from), pg.UUIDOf(to), states, since, limit}
	if len(r.rules.Queues()) == 0 {
		return t.Run(ctx, "kept_between", found.scan, args...)
	}
	o := r.own()
	return t.Run(ctx, "kept_between_own", found.scan, append(args, o.queues, o.states, o.since)...)
}

// keptAgain does so where it has to be quick: of the completed ones only some are looked at.
func (s *Store) keptAgain(ctx context.Context, t pg.Session, r retention, p schema.Partition, some []pgtype.UUID, found *idSet) error {
	from, to := p.Bounds()
	states, since := r.since()
	args := []any{pg.UUIDOf(from), pg.UUIDOf(to), states, since, some}
	if len(r.rules.Queues()) == 0 {
		return t.Run(ctx, "kept_again", found.scan, args...)
	}
	o := r.own()
	return t.Run(ctx, "kept_again_own", found.scan, append(args, o.queues, o.states, o.since)...)
}

// without returns the ids that are not among others.
func without(ids, others []pgtype.UUID) (rest []pgtype.UUID) {
	among := make(map[[16]byte]bool, len(others))
	for _, id := range others {
		among[id.Bytes] = true
	}
	for _, id := range ids {
		if !among[id.Bytes] {
			rest = append(rest, id)
		}
	}
	return rest
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
	for _, state := range finishedStates {
		keep := r.keep(state)
		if keep <= 0 {
			continue
		}
		until := r.now.Add(-keep).UnixMicro()
		all, allUntil = append(all, int32(state)), append(allUntil, until)
		if completed := r.keep(store.Completed); state != store.Completed && (completed == 0 || keep < completed) {
			early, earlyUntil = append(early, int32(state)), append(earlyUntil, until)
		}
	}
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var over idSet
			if err := t.Run(ctx, "finished_over", over.scan, early, earlyUntil, all, allUntil, int32(limit)); err != nil {
				return err
			}
			gone, err := s.removeCounted(ctx, t, over.ids, nil)
			deleted = len(gone)
			return err
		})
	})
	return deleted, deleted >= limit, err
}

package operate

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schema"
)

// Expired is that of store.Retentions, without the class of its error.
func (s *Store) Expired(ctx context.Context, params store.Retention) (jobs []store.EndedJob, more bool, err error) {
	r, err := s.ruled(ctx, params)
	if err != nil || r.rules.Shortest() == 0 {
		return nil, false, err
	}
	found := &kept.Page{Limit: params.Limit}
	if params.Limit <= 0 {
		found.Limit = deleteLimit
	}
	if err := s.expiredOfAll(ctx, r, found); err != nil {
		return nil, false, err
	}
	if !found.Full() && s.walks.Take(r.rules, r.now) {
		more, err = s.expiredByClass(ctx, r, found)
		s.walks.Give()
	}
	if err == nil && !found.Full() {
		more, err = s.expiredOfDays(ctx, r, found, more)
	}
	return found.Jobs(), more || found.Full(), err
}

// ruled is a retention now, with what queues say.
func (s *Store) ruled(ctx context.Context, params store.Retention) (retention, error) {
	r := retention{Retention: params, now: s.Now()}
	return r, s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		r.rules, err = classes.Rules(ctx, t, params)
		return err
	})
}

// expiredOfAll finds jobs that no queue keeps any longer, in the default partition, and those that
// did not complete in any.
func (s *Store) expiredOfAll(ctx context.Context, r retention, found *kept.Page) error {
	var states []int32
	var until []int64
	for _, state := range finishedStates {
		if keep := r.keep(state); keep > 0 {
			states, until = append(states, int32(state)), append(until, r.sinceThat(keep))
		}
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			var over idSet
			err := t.Run(ctx, "finished_over", over.scan, states, until, states, until, int32(found.Room()))
			if err != nil || len(over.ids) == 0 {
				return err
			}
			return t.Run(ctx, "ended_of", func(row pg.Row) error {
				var id [16]byte
				var state int32
				var at int64
				err := row.Scan(&id, &state, &at)
				found.Add(kept.Ended{ID: id, State: store.State(state), At: at})
				return err
			}, over.ids)
		})
	})
}

// expiredByClass finds jobs that are over by the class of their queue: those that did not complete,
// and those that have outlived their day.
func (s *Store) expiredByClass(ctx context.Context, r retention, found *kept.Page) (more bool, err error) {
	looks := looksAtMost
	for _, state := range finishedStates {
		shorter, _ := r.rules.Times(state)
		for _, keep := range shorter {
			w := s.walks.Of(kept.Which{State: state, Keep: keep})
			if w.Left, err = s.removable(ctx, w.Left, found); err != nil {
				return false, err
			}
			for end := false; !end; looks-- {
				if looks <= 0 || found.Full() {
					return true, nil
				}
				next, over, last, err := s.walkPage(ctx, r, *w, state, keep, lookAtOnce)
				if err != nil {
					return false, err
				}
				if over, err = s.removable(ctx, over, found); err != nil {
					return false, err
				}
				next.Stay(over)
				*w, end = next, last
			}
		}
	}
	return false, nil
}

// removable adds those of the jobs to a page that no others need, and returns those that are as
// finished as they were.
func (s *Store) removable(ctx context.Context, over []kept.Ended, found *kept.Page) (still []kept.Ended, err error) {
	if len(over) == 0 {
		return nil, nil
	}
	ids, states, ends := arraysOf(over)
	var free, there idSet
	err = pg.RetryOnConflict(ctx, func() error {
		free, there = idSet{}, idSet{}
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			if err := t.Run(ctx, "over_lock", free.scan, ids, states, ends); err != nil {
				return err
			}
			return t.Run(ctx, "over_still", there.scan, ids, states, ends)
		})
	})
	isFree, isThere := free.among(), there.among()
	for _, e := range over {
		if isFree[e.ID] {
			found.Add(e)
		}
		if isThere[e.ID] {
			still = append(still, e)
		}
	}
	return still, err
}

// among tells which ids it has.
func (set *idSet) among() map[store.ID]bool {
	has := make(map[store.ID]bool, len(set.ids))
	for _, id := range set.ids {
		has[id.Bytes] = true
	}
	return has
}

// arraysOf are jobs as statements take them.
func arraysOf(over []kept.Ended) (ids []pgtype.UUID, states []int32, ends []int64) {
	for _, e := range over {
		ids, states, ends = append(ids, pg.UUIDOf(e.ID)), append(states, int32(e.State)), append(ends, e.At)
	}
	return ids, states, ends
}

// expiredOfDays finds jobs that are over in the partitions of days: all of their states, by id.
func (s *Store) expiredOfDays(ctx context.Context, r retention, found *kept.Page, was bool) (more bool, err error) {
	list, err := s.days(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range list.OfJobs() {
		if found.Full() || p.End().Add(r.rules.Shortest()).After(r.now) {
			break
		}
		worth, at := s.lookAt(p, r)
		if !worth {
			continue
		}
		if at == nil {
			at = &thinning{}
		}
		end, err := s.expiredOfDay(ctx, r, p, at, found)
		if err != nil {
			return false, err
		}
		was = was || !end
	}
	return was, nil
}

// expiredOfDay goes on in a day, and leaves it alone for a while once nothing of it is over.
func (s *Store) expiredOfDay(ctx context.Context, r retention, p schema.Partition, at *thinning, found *kept.Page) (end bool, err error) {
	from, to := p.Bounds()
	if at.after == (store.ID{}) {
		at.after = from
	}
	if at.left, err = s.removable(ctx, at.left, found); err != nil {
		return false, err
	}
	waits := len(found.Jobs()) > 0
	for range looksAtMost {
		if found.Full() {
			break
		}
		over, next, last, err := s.thinPage(ctx, r, *at, to, lookAtOnce)
		if err != nil {
			return false, err
		}
		before := len(found.Jobs())
		still, err := s.removable(ctx, over, found)
		if err != nil {
			return false, err
		}
		waits = waits || len(found.Jobs()) > before
		next.left = append(next.left, still...)
		if *at = next; !last {
			continue
		}
		if waits {
			break // they come again until they are removed
		}
		until, err := s.thinnedUntil(ctx, r, p, *at)
		s.leaveAlone(p, r, until)
		return true, err
	}
	s.noteLook(p, r, look{thinning: at})
	return found.Full() || waits, nil
}

// RemoveExpired is that of store.Retentions, without the class of its error.
func (s *Store) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (removed int, err error) {
	if err := store.CheckArchived(jobs); err != nil {
		return 0, err
	}
	for len(jobs) > 0 {
		chunk := jobs[:min(len(jobs), deleteLimit)]
		var over []kept.Ended
		for i := range chunk {
			over = append(over, kept.Of(&chunk[i]))
		}
		n, _, err := s.removeEnded(ctx, over)
		removed += n
		if err != nil {
			return removed, err
		}
		jobs = jobs[len(chunk):]
	}
	return removed, nil
}

// dropEmptyDays is dropDays where jobs are archived: it drops the days that have no job any more.
func (s *Store) dropEmptyDays(ctx context.Context, r retention, _ int) (jobs int, more bool, err error) {
	list, err := s.days(ctx)
	if err != nil {
		return 0, false, err
	}
	var last *schema.Partition
	for _, p := range list.OfJobs() {
		if p.End().Add(r.rules.Shortest()).After(r.now) {
			break
		}
		dropped, err := s.dropEmpty(ctx, p)
		if err != nil {
			return 0, false, err
		}
		if dropped {
			last = &p
		}
	}
	if last == nil {
		return 0, false, nil
	}
	_, to := last.Bounds()
	return 0, false, s.forgetGone(ctx, to)
}

// dropEmpty drops the tables of a day that has no job any more, and reports whether it did.
func (s *Store) dropEmpty(ctx context.Context, p schema.Partition) (bool, error) {
	from, to := p.Bounds()
	has := func(ctx context.Context, t pg.Session) (found bool, err error) {
		err = t.Run(ctx, "any_between", func(r pg.Row) error { return r.Scan(&found) }, pg.UUIDOf(from), pg.UUIDOf(to))
		return found, err
	}
	var found bool
	err := s.InTx(ctx, pg.BeginRead, func(t pg.Session) (err error) {
		found, err = has(ctx, t)
		return err
	})
	if err != nil || found {
		return false, err
	}
	err = s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
		tables, err := s.lockDay(ctx, t, p)
		if err != nil {
			return err
		}
		if found, err := has(ctx, t); err != nil || found {
			return errors.Join(err, errNotNow)
		}
		return s.replacePartition(ctx, t, p, tables, nil)
	})
	if err = notNow(err); errors.Is(err, errNotNow) {
		return false, nil
	}
	return err == nil, err
}

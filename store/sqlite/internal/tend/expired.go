package tend

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// looksForExpired is how many pages of jobs one Expired passes at most.
const looksForExpired = 20

// Expired implements store.Retentions.
func (v Verbs) Expired(ctx context.Context, params store.Retention) (jobs []store.EndedJob, more bool, err error) {
	limit := params.Limit
	if limit <= 0 {
		limit = retainLimit
	}
	err = v.d.Read(ctx, "look for old jobs", func(t *core.Tx) error {
		rules, err := classes.Rules(t, params)
		if err != nil {
			return err
		}
		found := &kept.Page{Limit: limit}
		for _, state := range finishedStates {
			if _, all := rules.Times(state); all > 0 && !found.Full() {
				err = expiredOfAll(t, kept.Which{State: state, Keep: all}, found)
			}
			if err != nil {
				return err
			}
		}
		more = found.Full()
		if !more && v.walks.Take(rules, db.TimeOf(t.Now)) {
			more, err = v.expiredByClass(t, rules, found)
			v.walks.Give()
		}
		jobs = found.Jobs()
		return err
	})
	return jobs, more, err
}

// expiredOfAll finds jobs that no queue keeps any longer.
func expiredOfAll(t *core.Tx, which kept.Which, found *kept.Page) error {
	st := t.Stmt("expired")
	st.BindInt(int64(which.State))
	st.BindInt(t.Now - which.Keep.Microseconds())
	st.BindInt(int64(found.Room()))
	return db.Each(st, func() error {
		found.Add(kept.Ended{ID: db.ReadID(st), State: which.State, At: st.ReadInt()})
		return nil
	})
}

// expiredByClass finds jobs that are over by the class of their queue.
func (v Verbs) expiredByClass(t *core.Tx, rules *kept.Rules, found *kept.Page) (more bool, err error) {
	looks := looksForExpired
	for _, state := range finishedStates {
		shorter, _ := rules.Times(state)
		for _, keep := range shorter {
			which := kept.Which{State: state, Keep: keep}
			w := v.walks.Of(which)
			if err := leftOver(t, w, found); err != nil {
				return false, err
			}
			for end := false; !end; looks-- {
				if looks <= 0 || found.Full() {
					return true, nil
				}
				if end, err = expiredPage(t, rules, which, w, found); err != nil {
					return false, err
				}
			}
		}
	}
	return false, nil
}

// leftOver looks again at the jobs that were over, and forgets those that are not any more.
func leftOver(t *core.Tx, w *kept.Walk, found *kept.Page) error {
	stay := w.Left[:0:0]
	for _, e := range w.Left {
		over, needed, err := isOver(t, e)
		if err != nil {
			return err
		}
		if over {
			stay = append(stay, e)
		}
		if over && !needed {
			found.Add(e)
		}
	}
	w.Left = stay
	return nil
}

// expiredPage looks at the next jobs of a walk. Those that are over are looked at again, until they
// are removed. end: nothing comes behind them.
func expiredPage(t *core.Tx, rules *kept.Rules, which kept.Which, w *kept.Walk, found *kept.Page) (end bool, err error) {
	var over []kept.Ended
	at, row, looked := w.At, w.Row, 0
	st := t.Stmt("ended_after")
	st.BindInt(int64(which.State))
	st.BindInt(at)
	st.BindInt(row)
	st.BindInt(t.Now - which.Keep.Microseconds())
	st.BindInt(lookAtOnce)
	err = db.Each(st, func() error {
		var id store.ID
		var queue int64
		row, id, at, queue = st.ReadInt(), db.ReadID(st), st.ReadInt(), st.ReadInt()
		looked++
		if keep := rules.Of(queue, which.State); keep > 0 && keep <= which.Keep {
			over = append(over, kept.Ended{ID: id, State: which.State, At: at})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, e := range over {
		_, needed, err := isOver(t, e)
		if err != nil {
			return false, err
		}
		if !needed {
			found.Add(e)
		}
	}
	w.At, w.Row = at, row
	w.Stay(over)
	return looked < lookAtOnce, nil
}

// RemoveExpired implements store.Retentions.
func (v Verbs) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (removed int, err error) {
	if err := store.CheckArchived(jobs); err != nil {
		return 0, err
	}
	var over []kept.Ended
	for i := range jobs {
		over = append(over, kept.Of(&jobs[i]))
	}
	for len(over) > 0 {
		chunk := over[:min(len(over), retainChunk)]
		n, stay, full, err := v.removeOver(ctx, chunk)
		removed += n
		if err != nil {
			return removed, err
		}
		over = over[len(chunk):]
		if full {
			over = append(stay, over...)
		}
	}
	return removed, ctx.Err()
}

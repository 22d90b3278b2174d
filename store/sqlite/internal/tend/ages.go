package tend

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/remains"
)

const (
	// lookAtOnce is how many jobs retention looks at in one go, whose queue may keep them longer.
	lookAtOnce = 1000
	// retainChunk is how many jobs, or lanes, or records of what people did it looks at in one
	// transaction, so that it never keeps other writers waiting for more than a few milliseconds.
	retainChunk = 200
	// retainRows is how many rows of jobs it removes in one transaction, a last job not counted.
	retainRows = 4000
	// looksLike is how many jobs that it passes count as one that it removes.
	looksLike = 10
)

// finishedStates are those in which jobs have finished.
var finishedStates = []store.State{store.Completed, store.Failed, store.Cancelled}

// retaining is how far a Retain has come.
type retaining struct {
	left int
	more bool // there is more to do than the limit allows
}

// run repeats a step as long as there is more to do and the limit allows it. A step with a limit of
// 0 only looks.
func (r *retaining) run(step func(limit int) (done int, more bool, err error)) error {
	for {
		limit := max(0, min(retainChunk, r.left))
		done, more, err := step(limit)
		if err != nil || !more {
			return err
		}
		if r.left -= done; r.left <= 0 {
			r.more = true
			return nil
		}
	}
}

// rules are those of retention, now.
func (v Verbs) rules(ctx context.Context, params store.Retention) (rules *kept.Rules, err error) {
	return rules, v.d.Read(ctx, "remove old jobs", func(t *core.Tx) error {
		rules, err = classes.Rules(t, params)
		return err
	})
}

// retainByAge removes the jobs whose time is over: those that no queue keeps any longer, and, of
// queues that name a class, those that are over before.
func (v Verbs) retainByAge(ctx context.Context, rules *kept.Rules, r *retaining, retained *store.Retained) error {
	counting := func(step func(limit int) (removed, looked int, more bool, err error)) error {
		return r.run(func(limit int) (int, bool, error) {
			removed, looked, more, err := step(limit)
			retained.Jobs += removed
			return removed + looked/looksLike, more, err
		})
	}
	for _, state := range finishedStates {
		_, all := rules.Times(state)
		err := counting(func(limit int) (removed, looked int, more bool, err error) {
			removed, more, err = v.retainJobs(ctx, state, all, limit)
			return removed, 0, more, err
		})
		if err != nil {
			return err
		}
	}
	if !v.walks.Take(rules, db.TimeOf(v.d.Micros())) {
		return nil // another call does it
	}
	defer v.walks.Give()
	for _, state := range finishedStates {
		shorter, _ := rules.Times(state)
		for _, keep := range shorter {
			err := counting(func(limit int) (removed, looked int, more bool, err error) {
				return v.walk(ctx, rules, kept.Which{State: state, Keep: keep}, limit)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// retainJobs removes up to limit jobs of one state, and tells whether there are more.
func (v Verbs) retainJobs(
	ctx context.Context, state store.State, keep time.Duration, limit int,
) (removed int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	expired := func(t *core.Tx) ([]store.ID, error) {
		var ids []store.ID
		st := t.Stmt("expired")
		st.BindInt(int64(state))
		st.BindInt(t.Now - keep.Microseconds())
		st.BindInt(int64(limit) + 1)
		return ids, db.Each(st, func() error {
			ids = append(ids, db.ReadID(st))
			return nil
		})
	}
	err = v.d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			ids, err := expired(t)
			removed, more = 0, len(ids) > limit
			return len(ids) > 0 && limit > 0, err
		},
		func(t *core.Tx) error {
			ids, err := expired(t)
			if err != nil {
				return err
			}
			removed = 0
			count := classes.Count{}
			for rows := int64(0); removed < min(limit, len(ids)) && rows < retainRows; removed++ {
				n, err := removeCounted(t, count, &kept.Ended{ID: ids[removed], State: state})
				if err != nil {
					return err
				}
				rows += n
			}
			more = removed < len(ids)
			return count.Write(t)
		})
	if err != nil {
		return 0, false, err
	}
	return removed, more, nil
}

// walk removes up to limit jobs of a state that are older than their queues keep them, and tells
// how many it has looked at, and whether there are more.
func (v Verbs) walk(ctx context.Context, rules *kept.Rules, which kept.Which, limit int) (removed, looked int, more bool, err error) {
	w := v.walks.Of(which)
	next := *w
	over := next.Again(limit)
	err = v.d.Read(ctx, "look for old jobs", func(t *core.Tx) error {
		looked, more = 0, false
		found, place := slices.Clip(over), kept.Walk{At: w.At, Row: w.Row}
		st := t.Stmt("ended_after")
		st.BindInt(int64(which.State))
		st.BindInt(place.At)
		st.BindInt(place.Row)
		st.BindInt(t.Now - which.Keep.Microseconds())
		st.BindInt(lookAtOnce)
		err := db.Each(st, func() error {
			if len(found) >= max(limit, 1) {
				more = true
				return nil
			}
			row, id, at, queue := st.ReadInt(), db.ReadID(st), st.ReadInt(), st.ReadInt()
			looked++
			if keep := rules.Of(queue, which.State); keep > 0 && keep <= which.Keep {
				found = append(found, kept.Ended{ID: id, State: which.State, At: at})
			}
			place.At, place.Row = at, row
			return nil
		})
		more = more || looked == lookAtOnce
		next.At, next.Row, over = place.At, place.Row, found
		return err
	})
	if err != nil || limit == 0 {
		return 0, 0, looked > 0, err
	}
	removed, stay, full, err := v.removeOver(ctx, over)
	if err != nil {
		return 0, 0, false, err
	}
	waits := removed > 0 && len(next.Left) > 0
	next.Stay(stay)
	*w = next
	return removed, looked, more || full || waits, nil
}

// removeOver removes those of the jobs that are over, and returns those that are and stay: they are
// needed, or the transaction was full.
func (v Verbs) removeOver(ctx context.Context, over []kept.Ended) (removed int, stay []kept.Ended, full bool, err error) {
	if len(over) == 0 {
		return 0, nil, false, nil
	}
	err = v.d.Write(ctx, "remove old jobs", func(t *core.Tx) error {
		removed, stay, full = 0, nil, false
		count := classes.Count{}
		rows := int64(0)
		for _, e := range over {
			is, isNeeded, err := isOver(t, e)
			switch {
			case err != nil:
				return err
			case !is:
				continue
			case isNeeded:
				stay = append(stay, e)
				continue
			case rows >= retainRows:
				stay, full = append(stay, e), true
				continue
			}
			n, err := removeCounted(t, count, &e)
			if err != nil {
				return err
			}
			rows += n
			removed++
		}
		return count.Write(t)
	})
	return removed, stay, full, err
}

// isOver reports whether a job is as finished as it was, and whether others need it.
func isOver(t *core.Tx, e kept.Ended) (over, needed bool, err error) {
	s := t.Stmt("over")
	s.BindInt(int64(e.State))
	s.BindInt(e.At)
	db.BindID(s, e.ID)
	return over, needed, db.Each(s, func() error {
		over, needed = true, s.ReadInt() != 0
		return nil
	})
}

// removeCounted is remove of a job that retention removes, which leaves its stub if it is to.
func removeCounted(t *core.Tx, count classes.Count, e *kept.Ended) (rows int64, err error) {
	if err := count.Add(t, e.ID, e.State, e.Archived != ""); err != nil {
		return 0, err
	}
	if e.Archived != "" {
		if err := remains.Leave(t, e); err != nil {
			return 0, err
		}
	}
	return remove(t, e.ID)
}

package classes

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

const day = int64(24 * time.Hour / time.Microsecond)

// Count counts the jobs that a transaction of retention removes.
type Count map[counted]counts

type counted struct {
	namespace, queue string
	state            store.State
}

type counts struct{ jobs, stubs int64 }

// Add counts a job that is still there, and whether it leaves a stub.
func (c Count) Add(t *core.Tx, id store.ID, state store.State, stub bool) error {
	s := t.Stmt("removed_of")
	db.BindID(s, id)
	return db.Each(s, func() error {
		of := counted{s.ReadText(), s.ReadText(), state}
		n := c[of]
		n.jobs, n.stubs = n.jobs+1, n.stubs+db.BoolInt(stub)
		c[of] = n
		return nil
	})
}

// Write adds what was counted to what the database has for today.
func (c Count) Write(t *core.Tx) error {
	for of, n := range c {
		s := t.Stmt("removed_add")
		s.BindInt(t.Now / day)
		s.BindText(of.namespace)
		s.BindText(of.queue)
		s.BindInt(int64(of.state))
		s.BindInt(n.jobs)
		s.BindInt(n.stubs)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// ForgetCounts removes up to limit rows of days that are not kept any more, and tells whether there
// are more.
func ForgetCounts(ctx context.Context, d *core.Database, limit int) (removed int, more bool, err error) {
	before := func(t *core.Tx) int64 { return (t.Now - store.RemovedKept.Microseconds()) / day }
	err = d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			s := t.Stmt("removed_old")
			s.BindInt(before(t))
			removed = 0
			more, err = db.Exists(s)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			s := t.Stmt("removed_forget")
			s.BindInt(before(t))
			s.BindInt(int64(limit))
			n, err := s.Exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}

// Removed implements store.Retentions.
func (v Verbs) Removed(ctx context.Context, params store.RemovedParams) (all []store.Removed, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "read what was removed", func(t *core.Tx) error {
		all = nil
		name := "removed"
		if params.Queue != "" {
			name = "removed_in"
		}
		s := t.Stmt(name)
		s.BindText(params.Namespace)
		if params.Queue != "" {
			s.BindText(params.Namespace)
			s.BindText(params.Namespace)
			s.BindText(params.Queue)
		}
		s.BindInt(int64(params.Limit))
		return db.Each(s, func() error {
			all = append(all, store.Removed{
				Day: db.TimeOf(s.ReadInt() * day), Queue: s.ReadText(), State: store.State(s.ReadInt()), Jobs: s.ReadInt(), Stubs: s.ReadInt(),
			})
			return nil
		})
	})
	return all, err
}

package updates

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are what runs and callers ask about requests.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// OpenUpdates implements store.Updates.
func (v Verbs) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	var open [][]store.Update
	err := v.d.Read(ctx, "read updates", func(t *core.Tx) error {
		open = make([][]store.Update, len(of))
		for i, after := range of {
			s := t.Stmt("updates_open")
			db.BindID(s, after.Job)
			s.BindInt(after.Seq)
			s.BindInt(store.UpdateBound)
			err := db.Each(s, func() error {
				open[i] = append(open[i], scan(s))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return open, nil
}

// scan reads the columns of a request but for those of its answer.
func scan(s db.Stmt) store.Update {
	return store.Update{
		Seq: s.ReadInt(), Key: s.ReadText(), Name: s.ReadText(), At: db.ReadTime(s), Codec: int(s.ReadInt()), Data: db.ReadOptBlob(s),
	}
}

// GetUpdate implements store.Updates.
func (v Verbs) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	var u store.Update
	err := v.d.Read(ctx, "read an update of job "+job.String(), func(t *core.Tx) error {
		if own, err := isIn(t, namespace, job); err != nil {
			return err
		} else if !own {
			return store.NoJob(job)
		}
		s := t.Stmt("update")
		db.BindID(s, job)
		s.BindText(key)
		found, err := s.Next()
		if err != nil {
			return err
		}
		if !found {
			return refusal.NoUpdate(job, key)
		}
		defer s.Done()
		u = scan(s)
		a := store.UpdateAnswer{
			Seq: u.Seq, Verdict: store.UpdateVerdict(db.ReadOptInt(s)), At: db.ReadOptTime(s), Codec: int(db.ReadOptInt(s)),
			Data: db.ReadOptBlob(s), Error: db.ReadOptText(s),
		}
		if a.Verdict != 0 {
			u.Answer = &a
		}
		return nil
	})
	return u, err
}

// isIn reports whether there is such a job in a namespace, "" for any.
func isIn(t *core.Tx, namespace string, job store.ID) (bool, error) {
	if namespace == "" {
		return t.IsThere(job)
	}
	return t.IsIn(namespace, job)
}

// ForgetUpdate implements store.Updates.
func (v Verbs) ForgetUpdate(ctx context.Context, namespace string, job store.ID, key string) error {
	return v.d.Write(ctx, "forget an update of job "+job.String(), func(t *core.Tx) error {
		if own, err := t.IsIn(namespace, job); err != nil || !own {
			return err
		}
		s := t.Stmt("update_forget")
		db.BindID(s, job)
		s.BindText(key)
		return db.Exec(s)
	})
}

// RetainRefused removes up to limit requests that were refused long enough ago, and tells whether
// there are more.
func RetainRefused(ctx context.Context, d *core.Database, limit int) (removed int, more bool, err error) {
	err = d.WriteIf(ctx, "remove old updates",
		func(t *core.Tx) (bool, error) {
			s := t.Stmt("updates_refused")
			s.BindInt(t.Now - store.RefusedKept.Microseconds())
			removed = 0
			more, err = db.Exists(s)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			s := t.Stmt("updates_refused_delete")
			s.BindInt(t.Now - store.RefusedKept.Microseconds())
			s.BindInt(int64(limit))
			n, err := s.Exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}

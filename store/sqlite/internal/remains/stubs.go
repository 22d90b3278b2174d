package remains

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Leave leaves the stub of an archived job that is still there, and is removed by this transaction.
func Leave(t *core.Tx, e *kept.Ended) error {
	s := t.Stmt("stub_put")
	s.BindInt(t.Now)
	s.BindInt(e.At)
	s.BindInt(int64(e.State))
	s.BindText(e.Archived)
	db.BindID(s, e.ID)
	return db.Exec(s)
}

// NoJob is the ErrNotFound of a job of a namespace that is not there: an *ArchivedError if it has
// left a stub.
func NoJob(t *core.Tx, namespace string, id store.ID) error {
	s := t.Stmt("stub")
	db.BindID(s, id)
	stubs, err := stubsOf(s)
	switch {
	case err != nil:
		return err
	case len(stubs) == 0 || namespace != "" && stubs[0].Namespace != namespace:
		return store.NoJob(id)
	}
	return &store.ArchivedError{Stub: stubs[0]}
}

func stubsOf(s db.Stmt) (stubs []store.Stub, err error) {
	return stubs, db.Each(s, func() error {
		stubs = append(stubs, store.Stub{
			ID: db.ReadID(s), Namespace: s.ReadText(), Queue: s.ReadText(), Kind: store.ParseLaneName(s.ReadText()).Kind,
			State: store.State(s.ReadInt()), FinishedAt: db.ReadTime(s), ArchivedAt: db.ReadTime(s), Archive: s.ReadText(),
		})
		return nil
	})
}

// ForgetStubs removes up to limit stubs that are older than keep, and tells whether there are more.
// 0 keeps them for ever.
func ForgetStubs(ctx context.Context, d *core.Database, keep time.Duration, limit int) (removed int, more bool, err error) {
	if keep <= 0 {
		return 0, false, nil
	}
	return forget(ctx, d, "stubs_old", "stubs_forget", keep, limit)
}

// ExportStubs reads the stubs behind one, at most so many.
func ExportStubs(t *core.Tx, after store.ID, limit int) ([]store.Stub, error) {
	s := t.Stmt("copy_stubs")
	db.BindID(s, after)
	s.BindInt(int64(limit))
	return stubsOf(s)
}

// ImportStubs puts stubs of another database.
func ImportStubs(t *core.Tx, stubs []store.Stub) error {
	for i := range stubs {
		b := &stubs[i]
		s := t.Stmt("copy_stub_put")
		db.BindID(s, b.ID)
		s.BindText(b.Namespace)
		s.BindText(b.Queue)
		s.BindText(b.Kind)
		s.BindInt(int64(b.State))
		s.BindInt(b.FinishedAt.UnixMicro())
		s.BindInt(b.ArchivedAt.UnixMicro())
		s.BindText(b.Archive)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

package move

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
)

func readEdges(t *core.Tx, w *store.Whole, b *core.Body) (err error) {
	if w.State == store.Waiting && b.LeaseNumber == 0 {
		w.Awaits, err = edges.Of(t, w.ID)
	}
	return err
}

func insertEdges(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	for _, e := range w.Awaits {
		if err := edges.Import(t, w.ID, e); err != nil {
			return err
		}
	}
	return nil
}

func readUpdates(t *core.Tx, w *store.Whole, _ *core.Body) error {
	s := t.Stmt("copy_updates")
	db.BindID(s, w.ID)
	return db.Each(s, func() error {
		u := store.Update{
			Seq: s.ReadInt(), Key: s.ReadText(), Name: s.ReadText(), At: db.ReadTime(s), Codec: int(s.ReadInt()), Data: db.ReadOptBlob(s),
		}
		a := store.UpdateAnswer{
			Seq: u.Seq, Verdict: store.UpdateVerdict(db.ReadOptInt(s)), At: db.ReadOptTime(s), Codec: int(db.ReadOptInt(s)),
			Data: db.ReadOptBlob(s), Error: db.ReadOptText(s),
		}
		if a.Verdict != 0 {
			u.Answer = &a
		}
		w.Updates = append(w.Updates, u)
		return nil
	})
}

// insertUpdates keeps the numbers of requests, which the journal names. In the other database, too,
// no two requests have one.
func insertUpdates(t *core.Tx, w *store.Whole, _ *core.Lane) error {
	for i := range w.Updates {
		u := &w.Updates[i]
		s := t.Stmt("copy_update_insert")
		db.BindID(s, w.ID)
		s.BindInt(u.Seq)
		s.BindText(u.Key)
		s.BindText(u.Name)
		s.BindInt(u.At.UnixMicro())
		s.BindInt(int64(u.Codec))
		db.BindPayload(s, u.Data)
		if a := u.Answer; a != nil {
			s.BindInt(int64(a.Verdict))
			s.BindInt(a.At.UnixMicro())
			s.BindInt(int64(a.Codec))
			db.BindPayload(s, a.Data)
			db.BindOptText(s, a.Error)
		} else {
			for range 5 {
				s.BindNull()
			}
		}
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

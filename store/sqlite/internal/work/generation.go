package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
)

// continueAsNew makes a job whose run has ended start over: of its journal it remembers nothing but
// that it has continued, and of its messages only the signals that no entry has received.
func continueAsNew(t *core.Tx, b *core.Body, again *store.Continue) error {
	g, err := generations.Of(t, b.ID)
	if err != nil {
		return err
	}
	last, err := LastEntry(t, b.ID)
	if err != nil {
		return err
	}
	next := generations.Generation{First: last + 1}
	if next.Sent, err = generations.KeepUnread(t, b.ID, g); err != nil {
		return err
	}
	e := &store.Entry{Seq: next.First, Kind: store.EntryContinued, Ref: next.Sent, Data: again.Data}
	if _, err := insertEntry(t, b.ID, b.LeaseNumber, e); err != nil {
		return err
	}
	if err := generations.LeaveBehind(t, b.ID, g, next); err != nil {
		return err
	}
	if b.Attempt = 0; b.Closing {
		if err := t.ReopenEnd(b); err != nil {
			return err
		}
	}
	s := t.Stmt("job_continue")
	db.BindPayload(s, again.Args)
	s.BindInt(int64(again.Codec))
	db.BindID(s, b.ID)
	return db.Exec(s)
}

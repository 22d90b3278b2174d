package faulttest

import (
	"context"
	"database/sql"
	"errors"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// ending is a way to end a parent in a transaction.
type ending struct {
	how   string // what the parent does before
	verb  func(ctx context.Context, hf *holdfast.Client, tx store.Tx, id holdfast.ID) error
	state store.State // in which it ends
	told  int         // how often hooks are told of that
}

// do begins a transaction, ends the parent in it, and ends the transaction.
func (f *family) do(hf *holdfast.Client, e ending, end func(tx *sql.Tx) error) {
	f.t.Helper()
	tx, err := f.tx.BeginTx(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := errors.Join(e.verb(f.t.Context(), hf, f.wrap(tx), f.parent), end(tx)); err != nil {
		f.t.Fatal(err)
	}
}

// passes lets a job go by, and the leader look at what is to be done.
func (h *house) passes(s *severed) {
	h.t.Helper()
	beats(h.t, 2, s)
	endsWithin(h.t, soon, h.hf, enqueue(h.t, h.hf, otherPlain, 1).ID, store.Completed)
}

func (h *house) work() *severed {
	h.t.Helper()
	return h.db.workSevered(h.t, func(hf *holdfast.Client) {
		h.handlers(hf)
		register(h.t, hf, otherPlain, func(_ *holdfast.Run, n int) (int, error) { return n, nil })
	}, holdfast.WithLeases(clockBeat, clockDead), h.hooks())
}

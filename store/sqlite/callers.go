package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// callersTx is a caller's transaction.
type callersTx struct {
	preparer

	wroteTo *database
}

// storeName is what Traits and transactions call this store.
const storeName = "sqlite"

// newCallersTx wraps a caller's transaction.
func newCallersTx(p preparer) *callersTx { return &callersTx{preparer: p} }

// StoreName implements store.Tx.
func (*callersTx) StoreName() string { return storeName }

// confirm looks whether what a transaction has committed is in a database that others will find, if
// the store wrote some of it.
func (tx *callersTx) confirm() error {
	if tx.wroteTo == nil {
		return nil
	}
	return tx.wroteTo.place.confirm()
}

// inCallers runs f in a caller's transaction.
func (s *database) inCallers(ctx context.Context, op string, wrapped store.Tx, f func(*tx) error) error {
	if err := s.usable(); err != nil {
		return classify(op, err)
	}
	theirs, ok := wrapped.(*callersTx)
	if !ok {
		return store.NotWrapped("sqlite.Tx")
	}
	session := newSQLSession(ctx, theirs)
	defer session.close()
	// What it interns is not published: it may yet be rolled back.
	t := &tx{session: session, database: s, now: s.micros()}
	theirs.wroteTo = s
	err := s.place.begin()
	id := ""
	if err == nil {
		id, err = databaseID(session)
	}
	if err == nil && id != s.id {
		err = store.OtherDatabase()
	}
	if err == nil {
		err = f(t)
	}
	if err == nil {
		err = t.settle()
	}
	return classify(op+" in the caller's transaction", err)
}

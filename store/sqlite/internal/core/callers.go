package core

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// CallersTx is a caller's transaction.
type CallersTx struct {
	db.Preparer

	wroteTo *Database
}

// StoreName is what Traits and transactions call this store.
const StoreName = "sqlite"

// WrapTx wraps a caller's transaction.
func WrapTx(p db.Preparer) *CallersTx { return &CallersTx{Preparer: p} }

// StoreName implements store.Tx.
func (*CallersTx) StoreName() string { return StoreName }

// Confirm looks whether what a transaction has committed is in a database that others will find, if
// the store wrote some of it.
func (tx *CallersTx) Confirm() error {
	if tx.wroteTo == nil {
		return nil
	}
	return tx.wroteTo.Place.Confirm()
}

// InCallers runs f in a caller's transaction.
func (s *Database) InCallers(ctx context.Context, op string, wrapped store.Tx, f func(*Tx) error) error {
	if err := s.usable(); err != nil {
		return db.Classify(op, err)
	}
	theirs, ok := wrapped.(*CallersTx)
	if !ok {
		return refusal.NotWrapped("sqlite.Tx")
	}
	session := db.NewSession(ctx, theirs)
	defer session.Close()
	// What it interns is not published: it may yet be rolled back.
	t := &Tx{Session: session, Database: s, Now: s.Micros()}
	theirs.wroteTo = s
	err := s.Place.Begin()
	id := ""
	if err == nil {
		id, err = db.DatabaseID(session)
	}
	if err == nil && id != s.id {
		err = refusal.OtherDatabase()
	}
	if err == nil {
		err = f(t)
	}
	if err == nil {
		err = t.writeCollected()
	}
	return db.Classify(op+" in the caller's transaction", err)
}

package core

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Request returns a request that is known, or nil.
func (t *Tx) Request(hash []byte) (kept *store.KeptRequest, err error) {
	s := t.Stmt("request")
	s.BindBlob(hash)
	return kept, db.Each(s, func() error {
		kept = &store.KeptRequest{
			Print: db.ReadOptBlob(s), At: db.ReadTime(s), Until: db.ReadOptTime(s), Owner: db.ReadOptBlob(s), Answer: db.ReadOptBlob(s),
		}
		return nil
	})
}

// WriteRequest does a step of a request, once the results of what it does are known.
func (t *Tx) WriteRequest(r *store.KeyedRequest, step store.RequestStep) error {
	var s db.Stmt
	switch step {
	case store.InsertRequest:
		s = t.Stmt("request_insert")
		s.BindBlob(r.Hash)
		s.BindBlob(r.Print)
		s.BindInt(t.Now)
		t.bindRequest(s, r)
	case store.UpdateRequest:
		s = t.Stmt("request_update")
		t.bindRequest(s, r)
		s.BindBlob(r.Hash)
	case store.DeleteRequest:
		s = t.Stmt("request_delete")
		s.BindBlob(r.Hash)
	default:
		return nil
	}
	return db.Exec(s)
}

func (t *Tx) bindRequest(s db.Stmt, r *store.KeyedRequest) {
	db.BindOptTime(s, r.Until(db.TimeOf(t.Now)))
	db.BindOptBlob(s, r.Owner)
	s.BindBlob(r.Kept())
}

// writeRequest notes that the request has happened in whose context the transaction was begun, if
// it has changed something.
func (t *Tx) writeRequest() error {
	r := t.request
	if r == nil || !t.Changed {
		return nil
	}
	kept, err := t.Request(r.Hash)
	if err != nil {
		return err
	}
	step, err := r.Judge(kept, db.TimeOf(t.Now))
	if err != nil {
		return err
	}
	return t.WriteRequest(r, step)
}

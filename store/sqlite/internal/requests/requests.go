// Package requests keeps what requests with keys of their callers were answered. It imports core,
// db and store.
package requests

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Judged are the requests of a batch that happen, and what is to be done with each.
type Judged []judged

type judged struct {
	*store.KeyedRequest

	step store.RequestStep
}

// Judge decides about the requests of a batch, and sets Err of those that do not happen. There is
// one writer, so that what it has found stays true in the transaction.
func Judge(t *core.Tx, requests []*store.KeyedRequest) (Judged, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	var all Judged
	now := db.TimeOf(t.Now)
	for _, r := range store.CheckRequests(requests, now) {
		kept, err := t.Request(r.Hash)
		if err != nil {
			return nil, err
		}
		var step store.RequestStep
		if step, r.Err = r.Judge(kept, now); r.Err == nil {
			all = append(all, judged{r, step})
		}
	}
	return all, nil
}

// Write does what was decided, once the results of what the requests do are known.
func (all Judged) Write(t *core.Tx) error {
	for _, r := range all {
		if err := t.WriteRequest(r.KeyedRequest, r.step); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes up to limit requests that were kept long enough, and tells whether there may be
// more.
func Forget(ctx context.Context, d *core.Database, limit int) (removed int, more bool, err error) {
	err = d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			s := t.Stmt("requests_over")
			s.BindInt(t.Now - store.RequestsKept.Microseconds())
			removed = 0
			more, err = db.Exists(s)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			s := t.Stmt("requests_forget")
			s.BindInt(t.Now - store.RequestsKept.Microseconds())
			s.BindInt(int64(limit))
			n, err := s.Exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}

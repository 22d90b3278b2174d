// Package requests keeps what requests with keys of their callers were answered. It imports pg and
// store.
package requests

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Asked are the requests of a batch that happen, and what is to be done with each.
type Asked struct {
	now     int64
	all     []*store.KeyedRequest
	answers []*store.KeyedRequest // those that are there, and get what they were answered at the end
}

// Begin makes new requests known, and sets Err of those that do not happen. Another transaction
// that has just made one of them is waited for. In one that comes after, all of its requests are in
// the order of their hashes, and before everything else, so that two do not wait for each other.
func Begin(ctx context.Context, t pg.Session, requests []*store.KeyedRequest, now int64) (*Asked, error) {
	if len(requests) == 0 {
		return nil, nil
	}
	a := &Asked{now: now, all: store.CheckRequests(requests, pg.TimeOf(now))}
	slices.SortFunc(a.all, func(x, y *store.KeyedRequest) int { return bytes.Compare(x.Hash, y.Hash) })
	isNew, err := a.insert(ctx, t)
	if err != nil {
		return nil, err
	}
	a.all, isNew = a.free(isNew)
	kept, err := look(ctx, t, a.all, isNew)
	if err != nil {
		return nil, err
	}
	for i, r := range a.all {
		if isNew[i] {
			a.answers = append(a.answers, r)
		} else if err := a.judge(ctx, t, r, kept[string(r.Hash)]); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// insert makes those known that are not, and tells which these are.
func (a *Asked) insert(ctx context.Context, t pg.Session) (isNew []bool, err error) {
	isNew = make([]bool, len(a.all))
	var hashes, prints, owners [][]byte
	var until []*int64
	for _, r := range a.all {
		if r.Phase != store.RequestWhole && r.Phase != store.RequestBegins {
			continue
		}
		hashes, prints, owners = append(hashes, r.Hash), append(prints, r.Print), append(owners, r.Owner)
		until = append(until, pg.OptMicros(r.Until(pg.TimeOf(a.now))))
	}
	if hashes == nil {
		return isNew, nil
	}
	insert := func(t pg.Session, from, to int) error {
		return t.Run(ctx, "requests_insert", func(row pg.Row) error {
			var hash []byte
			err := row.Scan(&hash)
			isNew[a.place(hash)] = true
			return err
		}, hashes[from:to], prints[from:to], a.now, until[from:to], owners[from:to], a.now-store.RequestsKept.Microseconds())
	}
	err = t.Try(ctx, briefly, func(t pg.Session) error { return insert(t, 0, len(hashes)) })
	if pg.IsLockTimeout(err) {
		err = a.insertFree(ctx, t, hashes, insert)
	}
	if err != nil {
		return nil, err
	}
	return isNew, t.Run(ctx, "wait_at_most", nil, pg.LockTimeout)
}

// free are those that no other transaction has.
func (a *Asked) free(isNew []bool) (all []*store.KeyedRequest, free []bool) {
	for i, r := range a.all {
		if r.Err == nil {
			all, free = append(all, r), append(free, isNew[i])
		}
	}
	return all, free
}

// insertFree makes those known that no other transaction has: it may be that of a server which has
// stopped in the middle, and all others would wait for it.
func (a *Asked) insertFree(ctx context.Context, t pg.Session, hashes [][]byte, insert func(t pg.Session, from, to int) error) error {
	for i, hash := range hashes {
		err := t.Try(ctx, atOnce, func(t pg.Session) error { return insert(t, i, i+1) })
		switch {
		case pg.IsLockTimeout(err):
			a.all[a.place(hash)].Err = store.ErrBusy
		case err != nil:
			return err
		}
	}
	return nil
}

const (
	briefly = 50 * time.Millisecond // as batches wait for what others hold
	atOnce  = time.Millisecond
)

// place is where a request is.
func (a *Asked) place(hash []byte) int {
	at, _ := slices.BinarySearchFunc(a.all, hash, func(r *store.KeyedRequest, h []byte) int { return bytes.Compare(r.Hash, h) })
	return at
}

// look reads and locks what is known of those that are not new.
func look(ctx context.Context, t pg.Session, all []*store.KeyedRequest, isNew []bool) (map[string]*store.KeptRequest, error) {
	var hashes [][]byte
	for i, r := range all {
		if !isNew[i] {
			hashes = append(hashes, r.Hash)
		}
	}
	if hashes == nil {
		return nil, nil
	}
	found := make(map[string]*store.KeptRequest, len(hashes))
	return found, t.Run(ctx, "requests_lock", func(row pg.Row) error {
		hash, kept, err := pg.ScanRequest(row)
		found[string(hash)] = kept
		return err
	}, hashes)
}

// judge decides about a request that is not new.
func (a *Asked) judge(ctx context.Context, t pg.Session, r *store.KeyedRequest, kept *store.KeptRequest) error {
	if kept == nil && (r.Phase == store.RequestWhole || r.Phase == store.RequestBegins) {
		// It was there, and was removed between the two statements: the request is repeated.
		r.Err = store.ErrBusy
		return nil
	}
	step, refusal := r.Judge(kept, pg.TimeOf(a.now))
	r.Err = refusal
	switch step {
	case store.UpdateRequest:
		a.answers = append(a.answers, r)
	case store.DeleteRequest:
		return t.Run(ctx, "request_delete", nil, r.Hash)
	case store.NoStep, store.InsertRequest: // it is refused, or nothing is to be done
	}
	return nil
}

// End writes down what requests were answered, once the results of what they do are known.
func (a *Asked) End(ctx context.Context, t pg.Session) error {
	if a == nil || len(a.answers) == 0 {
		return nil
	}
	var hashes, owners, answers [][]byte
	var until []*int64
	for _, r := range a.answers {
		hashes, owners, answers = append(hashes, r.Hash), append(owners, r.Owner), append(answers, r.Kept())
		until = append(until, pg.OptMicros(r.Until(pg.TimeOf(a.now))))
	}
	return t.Run(ctx, "requests_answer", nil, hashes, until, owners, answers)
}

// Forget removes up to limit requests that were kept long enough, and tells whether there may be
// more.
func Forget(ctx context.Context, d *pg.DB, now int64, limit int) (more bool, err error) {
	removed := 0
	args := []any{now - store.RequestsKept.Microseconds(), int32(limit)}
	err = d.Send(ctx, pg.Statement{Name: "requests_forget", Args: args, Each: func(pg.Row) error { removed++; return nil }})
	return removed >= limit, err
}

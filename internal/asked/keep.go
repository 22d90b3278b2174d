package asked

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Kept returns the answer of a request that was kept by Keep, or nil if there is none.
func (r *Request) Kept(ctx context.Context, ask Ask) ([]byte, error) {
	found, err := r.find(ctx, ask)
	if err != nil || found == nil {
		return nil, err
	}
	return r.kept(found)
}

// Keep keeps the answer of a request whose effect has happened in another transaction, and returns
// the one that is kept: that of another one with the same key, which was faster, stays. It is for
// what comes to nothing if its answer is not kept, and so may be done again: who dies in between
// leaves no trace of the request. With an error of the store's it is not known whether it is kept.
func (r *Request) Keep(ctx context.Context, ask Ask, answer []byte) ([]byte, error) {
	keyed := r.keyed()
	keyed.Answer = answer
	if err := ask(ctx, &store.Unit{Request: keyed}); err != nil {
		return nil, err
	}
	if keyed.Err != nil {
		return r.kept(keyed.Err)
	}
	return answer, nil
}

// kept is the answer that is known, if the request has ended.
func (r *Request) kept(found error) ([]byte, error) {
	known, is := store.IsRepeated(found)
	if !is {
		r.Refused = found
		return nil, found
	}
	was, err := known.Results()
	if err == nil && len(was.Answer) == 0 {
		err = errOtherAnswer
	}
	r.Repeated, r.Refused = err == nil, err
	return was.Answer, err
}

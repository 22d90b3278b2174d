// Package asked carries a request that its caller has named by a key from the server that has got
// it to what does it, in a context. The one enqueue, or the one send, that is called with that
// context is its effect: both are stored in one transaction, or neither is. If it is known already
// nothing happens, and the call returns what it returned the first time. What has an effect of
// another kind keeps its answer beside it (Keep).
//
// # Imports
//
// Of ours, store.
package asked

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Request is a request of a caller's.
type Request struct {
	Hash, Print []byte // as those of a store.KeyedRequest
	// Repeated is set if it was known, and the call has returned what it was answered before.
	Repeated bool
	// Refused is set if nothing was tried: the request is under way, or its key is that of another.
	Refused error
}

type key struct{}

// With returns the context of a request; nil: of none.
func With(ctx context.Context, r *Request) context.Context { return context.WithValue(ctx, key{}, r) }

// Take returns the request of a context, or nil, and a context without it: what is called with that
// is no effect of the request.
func Take(ctx context.Context) (*Request, context.Context) {
	r, _ := ctx.Value(key{}).(*Request)
	if r == nil {
		return nil, ctx
	}
	return r, With(ctx, nil)
}

// keyed is the request as a store takes it.
func (r *Request) keyed() *store.KeyedRequest {
	return &store.KeyedRequest{Hash: r.Hash, Print: r.Print}
}

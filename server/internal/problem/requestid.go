package problem

import "context"

type requestKey struct{}

// WithRequestID returns the context of a request that has an id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestKey{}, id)
}

// RequestID is the id of the request of a context; "": it has none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

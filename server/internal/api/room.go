package api

import (
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

const (
	// mostRoom is how many bytes the large requests have together that are handled at once of
	// callers without a credential. Decoded, JSON may take forty times as many.
	mostRoom = 16 << 20
	// small is how large a request may be that is handled in any case.
	small = 64 << 10
)

// room is what large requests take of mostRoom.
type room struct{ taken atomic.Int64 }

// middleware refuses a large request while there is no room for it, before its body is read. most
// is how large one may be.
func (r *room) middleware(most int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		request, w := humago.Unwrap(ctx)
		size := request.ContentLength
		if size < 0 {
			size = most // it does not say
		}
		if size <= small {
			next(ctx)
			return
		}
		defer r.taken.Add(-size)
		if r.taken.Add(size) > mostRoom {
			why := problem.New(problem.TooMany, "the server handles as many large requests as it has room for; come again").In(time.Second)
			guard.Refuse(w, request, why)
			return
		}
		next(ctx)
	}
}

package api

import (
	"io"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

const (
	// publicRoom is how many bytes the large requests have together that are handled at once of
	// callers without a credential.
	publicRoom = 16 << 20
	// keyedRoom is how much those of all others take together, and eachRoom those of one
	// principal, by an estimate: decoded, JSON takes up to seventy times its bytes, which depends
	// on how many values it has.
	keyedRoom = 384 << 20
	eachRoom  = 256 << 20
	perValue  = 100
	// small is how much of each request is handled in any case.
	small = 64 << 10
	// portion is how much is read at once: in a chunk, net/http waits until it has all of that.
	portion = 16 << 10
)

// room bounds what large requests take while they are handled: what has arrived of them, so that
// those of which nothing comes keep no others out.
type room struct {
	all, each int64 // for all callers, and for one
	perValue  int64 // what a value of JSON takes beside its bytes

	mu    sync.Mutex
	taken int64
	by    map[string]int64 // by the name of the principal
}

// free is how much more a caller may take.
func (r *room) free(who string) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(r.all-r.taken, r.each-r.by[who])
}

// take takes some of the room, or nothing and returns false.
func (r *room) take(who string, n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken+n > r.all || r.by[who]+n > r.each {
		return false
	}
	if r.by == nil {
		r.by = map[string]int64{}
	}
	r.taken += n
	r.by[who] += n
	return true
}

func (r *room) leave(who string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken -= n
	if r.by[who] -= n; r.by[who] == 0 {
		delete(r.by, who)
	}
}

// middleware refuses a large request while there is no room for it: before its body is read, if it
// says how large that is, and otherwise as it arrives.
func (r *room) middleware(ctx huma.Context, next func(huma.Context)) {
	request, w := humago.Unwrap(ctx)
	size := request.ContentLength
	if 0 <= size && size <= small {
		next(ctx)
		return
	}
	who := access.Of(ctx.Context()).Name
	if r.free(who) < max(size-small, 0) {
		guard.Refuse(w, request, noRoom())
		return
	}
	body := &roomy{ReadCloser: request.Body, room: r, who: who, refuse: func() { guard.Leave(w, request) }}
	defer body.leave()
	request.Body = body
	next(ctx)
}

func noRoom() *problem.Problem {
	return problem.New(problem.TooMany, "the server handles as many large requests as it has room for; come again").In(time.Second)
}

// roomy is the body of a large request.
type roomy struct {
	io.ReadCloser

	room   *room
	who    string
	refuse func()
	needs  int64
	has    int64 // of the room
}

// Read implements io.Reader. Without room the error is a Problem.
func (b *roomy) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), portion)])
	b.needs += int64(n) + b.room.perValue*values(p[:n])
	more := b.needs - small - b.has
	switch {
	case more <= 0 || b.room.take(b.who, more):
		b.has += max(more, 0)
		return n, err
	case b.needs-small > b.room.each:
		b.refuse()
		return n, problem.New(problem.TooLarge, "the JSON of the request has too many values; send it in parts")
	}
	b.refuse()
	return n, noRoom()
}

// values is about how many values a part of JSON has: each but the first of a list or an object
// follows a comma.
func values(part []byte) (n int64) {
	for _, c := range part {
		if c == ',' || c == '{' || c == '[' {
			n++
		}
	}
	return n
}

func (b *roomy) leave() {
	if b.has > 0 {
		b.room.leave(b.who, b.has)
	}
}

package events

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// streams are all live streams of a server.
type streams struct {
	Config

	api       *api.API
	readers   readers
	encodings encodings
}

// Hello is the first frame of a stream.
type Hello struct {
	Time      views.Timestamp `json:"time"`
	Position  string          `json:"position"` // after which it begins
	Heartbeat views.Span      `json:"heartbeat"`
}

// Bye is the last one.
type Bye struct {
	Reason string     `json:"reason"` // stopping, expired, finished, feed_off, not_found, unauthenticated, or failed
	Retry  views.Span `json:"retry"`  // when to come back; null: there is nothing more to come
}

// source yields what is to be told, until ctx ends. An error comes last.
type source func(ctx context.Context) iter.Seq2[frame, error]

// serve answers a request with a stream that begins after a position.
func (s *streams) serve(w http.ResponseWriter, r *http.Request, position string, from source) {
	f, ok := accepted(r.Header.Values("Accept"))
	if !ok {
		problem.Write(w, r, problem.New(problem.NotAcceptable, "there is text/event-stream and application/x-ndjson"))
		return
	}
	leave, err := s.readers.enter(access.Of(r.Context()).Name)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	defer leave()
	to := newWire(w, f)
	to.open()
	if r.Method == http.MethodHead {
		return
	}
	if err := s.run(r.Context(), to, position, from); err != nil && r.Context().Err() == nil {
		s.Log.DebugContext(r.Context(), "stream broke off", "request", problem.RequestID(r.Context()), "error", err.Error())
	}
}

// told is what a source has yielded.
type told struct {
	frame frame
	err   error
}

// run writes a stream until it ends, and says why. The error is that of the connection, or of the
// request's context.
func (s *streams) run(ctx context.Context, to *wire, position string, from source) error {
	ctx, cancel := context.WithCancel(ctx)
	read := make(chan told, buffered)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() {
		defer close(read)
		for f, err := range from(ctx) {
			select {
			case read <- told{f, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	hello := Hello{views.Timestamp(time.Now()), position, views.Span(heartbeat)}
	err := to.add(&frame{event: "hello", id: position, data: hello, retry: 2 * time.Second})
	if err == nil {
		err = to.flush()
	}
	beat, end := time.NewTicker(heartbeat), time.NewTimer(lifetime-rand.N(lifetime/10))
	defer beat.Stop()
	defer end.Stop()
	for err == nil {
		select {
		case t, more := <-read:
			if !more || t.err != nil {
				return s.bye(ctx, to, t.err)
			}
			if err = to.add(&t.frame); err == nil && len(read) == 0 {
				err = to.flush()
			}
		case <-beat.C:
			if !access.Lasts(ctx) {
				return s.bye(ctx, to, access.ErrUnauthenticated)
			}
			err = to.pulse()
		case <-end.C:
			return s.bye(ctx, to, errExpired)
		case <-s.api.Stopping():
			return s.bye(ctx, to, store.ErrClosed)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

// errExpired ends a stream that has lasted as long as one may.
var errExpired = errors.New("the stream has lasted long enough")

// bye ends a stream. cause is why; nil: there is nothing more.
func (s *streams) bye(ctx context.Context, to *wire, cause error) error {
	if ctx.Err() != nil {
		return ctx.Err() // the reader has gone
	}
	retry := time.Second + rand.N(9*time.Second) // not all at once
	reason := "failed"
	switch {
	case cause == nil:
		reason, retry = "finished", 0
	case errors.Is(cause, events.ErrOff):
		reason, retry = "feed_off", 0
	case errors.Is(cause, store.ErrNotFound):
		reason, retry = "not_found", 0
	case errors.Is(cause, access.ErrUnauthenticated):
		reason, retry = "unauthenticated", 0
	case errors.Is(cause, store.ErrClosed):
		reason = "stopping"
	case errors.Is(cause, errExpired):
		reason = "expired"
	default:
		s.Log.ErrorContext(ctx, "stream failed", "request", problem.RequestID(ctx), "error", cause.Error())
	}
	if err := to.add(&frame{event: "bye", data: Bye{reason, views.Span(retry)}, retry: retry}); err != nil {
		return err
	}
	return to.flush()
}

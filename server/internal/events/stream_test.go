package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

// socket is the way to a reader in memory. It takes nothing while it is stuck, until the deadline
// of the write.
type socket struct {
	header   http.Header
	got      bytes.Buffer
	stuck    bool
	deadline time.Time
}

func (s *socket) Header() http.Header                { return s.header }
func (s *socket) WriteHeader(int)                    {}
func (s *socket) Flush()                             {}
func (s *socket) SetReadDeadline(time.Time) error    { return nil }
func (s *socket) SetWriteDeadline(t time.Time) error { s.deadline = t; return nil }

func (s *socket) Write(p []byte) (int, error) {
	if s.stuck {
		time.Sleep(time.Until(s.deadline)) //nolint:forbidigo // in virtual time
		return 0, os.ErrDeadlineExceeded
	}
	return s.got.Write(p)
}

// TestAStreamEndsWithItsKey: who has lost the credential hears no more than until the next
// heartbeat; who only cannot be asked about it goes on.
func TestAStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, s := time.Now(), &socket{header: http.Header{}}
		to := newWire(s, ndjson)
		to.open()
		ctx := access.WithCheck(t.Context(), func() error {
			if time.Since(begin) < 5*time.Minute {
				return store.ErrUnavailable
			}
			return access.ErrUnauthenticated
		})
		if err := newStreams().run(ctx, to, "a-1", silent); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 5*time.Minute || took > 5*time.Minute+heartbeat {
			t.Errorf("it lasts %v", took)
		}
		if !strings.Contains(s.got.String(), `"reason":"unauthenticated"`) {
			t.Errorf("it ends with %q", s.got.String()[max(0, s.got.Len()-200):])
		}
	})
}

// silent yields nothing.
func silent(ctx context.Context) iter.Seq2[frame, error] {
	return func(func(frame, error) bool) { <-ctx.Done() }
}

func newStreams() *streams {
	return &streams{Config: Config{Log: slog.New(slog.DiscardHandler)}, api: &api.API{}}
}

// TestHeartbeats: while nothing happens a reader gets one each 15 seconds, and goodbye after about
// an hour.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []format{sse, ndjson} {
			begin, s := time.Now(), &socket{header: http.Header{}}
			to := newWire(s, f)
			to.open()
			if err := newStreams().run(t.Context(), to, "a-1", silent); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); took < lifetime*8/10 || took > lifetime {
				t.Errorf("%s lasts %v", f.media, took)
			}
			beats := strings.Count(s.got.String(), "\n:\n") + strings.Count(s.got.String(), `{"event":"heartbeat"}`)
			if want := int(time.Since(begin) / heartbeat); beats < want-1 || beats > want {
				t.Errorf("%s has %d heartbeats, not %d", f.media, beats, want)
			}
			if !strings.Contains(s.got.String(), `"reason":"expired"`) || s.header.Get("Content-Type") != f.media {
				t.Errorf("%s ends with %q", f.media, s.got.String()[max(0, s.got.Len()-200):])
			}
		}
	})
}

// TestStuckReader: a reader that takes nothing is given up, and no more than a buffer was read for
// it meanwhile.
func TestStuckReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, s, read := time.Now(), &socket{header: http.Header{}, stuck: true}, 0
		err := newStreams().run(t.Context(), newWire(s, sse), "a-1", func(context.Context) iter.Seq2[frame, error] {
			return func(yield func(frame, error) bool) {
				for yield(frame{event: "job.updated", id: "a-2", data: 1}, nil) {
					read++
				}
			}
		})
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != writeWait {
			t.Errorf("a reader that takes nothing is given up after %v: %v", time.Since(begin), err)
		}
		if read > buffered {
			t.Errorf("%d frames were read for a reader that takes none", read)
		}
	})
}

// TestStreamFails: what goes wrong is told, without what it is.
func TestStreamFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &socket{header: http.Header{}}
		err := newStreams().run(t.Context(), newWire(s, sse), "", func(context.Context) iter.Seq2[frame, error] {
			return func(yield func(frame, error) bool) { yield(frame{}, errors.New("relation \"job\" does not exist")) }
		})
		if got := s.got.String(); err != nil || !strings.Contains(got, `"reason":"failed"`) || strings.Contains(got, "relation") {
			t.Errorf("%v: %s", err, got)
		}
	})
}

// FuzzPlaces: whatever a request says as its place, it is refused, or means exactly one place.
func FuzzPlaces(f *testing.F) {
	for _, text := range []string{"", "oldest", "n1b3k2x7q4-1204", "12-3", "-1-1", "+1-2", "n1b3k2x7q4-9223372036854775808", "a-\n", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := position("query/after", text); err == nil && text != oldest && p.String() != text {
			t.Errorf("%q is taken for %q", text, p)
		}
	})
}

// FuzzAccepted: whatever a request accepts, it gets a format that is among it, or none.
func FuzzAccepted(f *testing.F) {
	for _, text := range []string{"", "*/*", "text/event-stream", "text/html, application/x-ndjson;q=0.5", "application/json", ",;,", "TEXT/*"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := accepted([]string{text})
		lower := strings.ToLower(text)
		switch {
		case !ok && (lower == sse.media || lower == ndjson.media):
			t.Errorf("%q is not accepted", text)
		case ok && got.media == ndjson.media && !strings.Contains(lower, "ndjson"),
			ok && got.media == sse.media && !strings.Contains(lower, "text/event-stream") && !strings.Contains(lower, "*"):
			t.Errorf("%q gets %s", text, got.media)
		}
	})
}

// FuzzFrames: whatever is in a frame, it is one frame of one line of data.
func FuzzFrames(f *testing.F) {
	f.Add("a", []byte(`{"a": "b"}`))
	f.Add("a\nb\r\nid: 7", []byte("[1,\n\r2]"))
	f.Fuzz(func(t *testing.T, text string, payload []byte) {
		if !json.Valid(payload) {
			payload = nil
		}
		one := frame{event: "job.updated", id: "a-1", data: map[string]any{"text": text, "payload": json.RawMessage(payload)}}
		for _, format := range []format{sse, ndjson} {
			var b bytes.Buffer
			if err := format.frame(&b, &one); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{sse.media: 4, ndjson.media: 1}[format.media]
			if n := strings.Count(b.String(), "\n"); n != want || strings.Contains(b.String(), "\r") {
				t.Errorf("%s: a frame has %d lines: %q", format.media, n, b.String())
			}
		}
	})
}

package events_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// told is a frame as a reader understands it.
type told struct {
	event, id string
	data      map[string]any
}

// reader reads a stream of Server-Sent Events, as a browser does.
type reader struct {
	*testing.T

	body   io.ReadCloser
	lines  *bufio.Scanner
	status int
	stop   context.CancelFunc
}

// open opens a stream. It ends with the test.
func open(t *testing.T, url string, header ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r) //nolint:bodyclose // close does
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	s := &reader{T: t, body: response.Body, lines: bufio.NewScanner(response.Body), status: response.StatusCode, stop: cancel}
	t.Cleanup(s.close)
	return s
}

func (s *reader) close() {
	s.stop()
	s.body.Close()
}

// next is the next frame; false: the stream has ended.
func (s *reader) next() (f told, ok bool) {
	s.Helper()
	for s.lines.Scan() {
		name, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "event":
			f.event = value
		case "id":
			f.id = value
		case "data":
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				s.Fatalf("%v: %s", err, value)
			}
		case "":
			if f.event != "" || f.id != "" {
				return f, true
			}
		}
	}
	return f, false
}

// expect is the next frame that is not only a position, of which the event must be this.
func (s *reader) expect(event string) told {
	s.Helper()
	for {
		f, ok := s.next()
		switch {
		case !ok:
			s.Fatalf("the stream ends before %s: %v", event, s.lines.Err())
		case f.event == event:
			return f
		case f.event != "":
			s.Fatalf("%s comes, and not %s: %v", f.event, event, f.data)
		}
	}
}

// on is an API with the feed on.
func on(s *apitest.Server) {
	s.Helper()
	if a := s.OK(http.StatusOK, http.MethodPost, "/events/on", nil); a.JSON["on"] != true {
		s.Fatalf("switched on, the feed is %s", a.Text)
	}
}

// enqueue enqueues jobs of a kind in one queue.
func enqueue(s *apitest.Server, kind string, n int) (ids []string) {
	s.Helper()
	for range n {
		ids = append(ids, s.Enqueue(map[string]any{"kind": kind, "queue": kind + "s"}))
	}
	return ids
}

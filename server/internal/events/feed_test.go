package events_test

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

const stream = "/api/v1/events"

// TestFollow: changes come as they happen, and a reader that comes back misses nothing.
func TestFollow(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		on(s)
		enqueue(s, "before", 1)
		r := open(s.T, s.URL+stream)
		hello := r.expect("hello")
		if hello.id == "" || hello.data["position"] != hello.id || hello.data["heartbeat"] != "15s" {
			s.Errorf("hello is %v", hello)
		}
		id := enqueue(s, "mail", 1)[0]
		first := r.expect("job.updated")
		if first.data["job"] != id || first.data["state"] != "available" || first.data["queue"] != "mails" || first.data["position"] != first.id {
			s.Errorf("the first change is %v", first)
		}
		r.close()
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/cancel", nil)
		// The header counts more than the parameter: it is what a browser sends when it comes back.
		again := open(s.T, s.URL+stream+"?after=oldest", "Last-Event-ID", first.id)
		again.expect("hello")
		if f := again.expect("job.updated"); f.data["job"] != id || f.data["state"] != "cancelled" {
			s.Errorf("after %s comes %v", first.id, f)
		}
		all := open(s.T, s.URL+stream+"?after=oldest&state=available&state=running")
		all.expect("hello")
		if f := all.expect("job.updated"); f.data["kind"] != "before" {
			s.Errorf("the oldest change is %v", f)
		}
	})
}

// TestLines: the same as lines of JSON.
func TestLines(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	on(s)
	ids := enqueue(s, "mail", 3)
	r := open(t, s.URL+stream+"?after=oldest&job="+ids[1], "Accept", "text/html, application/x-ndjson;q=0.9")
	lines := bufio.NewScanner(r.body)
	for _, want := range []string{"hello", "job.updated"} {
		var line struct {
			Event string         `json:"event"`
			ID    string         `json:"id"`
			Data  map[string]any `json:"data"`
		}
		if !lines.Scan() || json.Unmarshal(lines.Bytes(), &line) != nil || line.Event != want {
			t.Fatalf("the line is no %s: %s", want, lines.Text())
		}
		if want == "job.updated" && (line.Data["job"] != ids[1] || line.ID == "") {
			t.Errorf("the change is %s", lines.Text())
		}
	}
}

// TestFollowSelects: only what is asked for comes, and the place moves on nevertheless.
func TestFollowSelects(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	on(s)
	items := make([]holdfast.BatchItem, 1500)
	for i := range items {
		items[i] = holdfast.NewTask[int]("noise").Item(i)
	}
	if _, err := s.Client.EnqueueBatch(t.Context(), items[:1000]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Client.EnqueueBatch(t.Context(), items[1000:]); err != nil {
		t.Fatal(err)
	}
	enqueue(s, "mail", 1)
	r := open(t, s.URL+stream+"?after=oldest&kind=mail&queue=mails")
	r.expect("hello")
	if mark, _ := r.next(); mark.event != "" || mark.id == "" || mark.data != nil {
		t.Errorf("before a change after many others comes %v, and not a place alone", mark)
	}
	if f := r.expect("job.updated"); f.data["kind"] != "mail" {
		t.Errorf("of mails comes %v", f)
	}
}

// TestNothingIsMissed: many readers lose their connections at random while jobs change, and each
// has all changes once, in order, in the end.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		on(s)
		const jobs, readers = 60, 8
		start := s.OK(http.StatusOK, http.MethodGet, "/events/status", nil).JSON["newest"].(string)
		kind := holdfast.NewTask[int]("count")
		if err := kind.Handle(s.Client, func(*holdfast.Run, int) error { return nil }); err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		got := make([][]string, readers)
		var all sync.WaitGroup
		for i := range readers {
			all.Go(func() { got[i] = readWithLosses(s, start, jobs) })
		}
		for i := range jobs {
			if _, err := kind.Enqueue(s.Context(), s.Client, i); err != nil {
				s.Error(err)
			}
		}
		all.Wait()
		from, err := events.ParsePosition(start)
		if err != nil {
			s.Fatal(err)
		}
		page, err := events.List(s.Context(), s.Client, from, events.Filter{}, 10_000)
		if err != nil {
			s.Fatal(err)
		}
		var want []string
		for _, e := range page.Events {
			want = append(want, e.Position.String())
		}
		for i := range got {
			if !slices.Equal(got[i], want) {
				s.Errorf("reader %d has %d changes of %d:\n%v\n%v", i, len(got[i]), len(want), got[i], want)
			}
		}
	})
}

// readWithLosses reads until so many jobs have completed, and comes back with the last id each time
// that it has lost its connection.
func readWithLosses(s *apitest.Server, last string, jobs int) (positions []string) {
	for completed := 0; completed < jobs; {
		r := open(s.T, s.URL+stream, "Last-Event-ID", last)
		for range 1 + rand.N(20) {
			f, ok := r.next()
			if !ok {
				s.Errorf("a stream has ended: %v", r.lines.Err())
				return positions
			}
			if last = f.id; f.event == "job.updated" {
				positions = append(positions, f.data["position"].(string))
				if f.data["state"] == "completed" {
					completed++
				}
			}
			if completed == jobs {
				break
			}
		}
		r.close()
	}
	return positions
}

// TestFollowForeign: changes of namespaces that a key does not have are not shown, those of removed
// jobs included, of which nobody knows the namespace.
func TestFollowForeign(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	on(s)
	s.OK(http.StatusCreated, http.MethodPost, "/jobs?namespace=theirs", map[string]any{"kind": "secret"})
	gone := enqueue(s, "gone", 1)[0]
	s.OK(http.StatusOK, http.MethodPost, "/jobs/"+gone+"/cancel", nil)
	s.OK(http.StatusNoContent, http.MethodDelete, "/jobs/"+gone, nil)
	mine := enqueue(s, "mail", 1)[0]
	for _, c := range []struct {
		who  access.Principal
		jobs []string
	}{
		{access.Everything("admin"), []string{gone, gone, mine}},
		{access.Principal{Name: "bounded", Namespaces: []string{"default"}, Scopes: access.Scopes}, []string{mine}},
	} {
		s.As(c.who)
		r := open(t, s.URL+stream+"?after=oldest")
		r.expect("hello")
		var listed []any
		for _, item := range func() []map[string]any {
			a := s.OK(http.StatusOK, http.MethodGet, "/events/list", nil)
			return a.Items()
		}() {
			listed = append(listed, item["job"])
		}
		for i, job := range c.jobs {
			if f := r.expect("job.updated"); f.data["job"] != job {
				t.Errorf("%s is shown %v, and not %s", c.who.Name, f, job)
			}
			if len(listed) != len(c.jobs) || listed[i] != job {
				t.Errorf("%s has in a list %v", c.who.Name, listed)
			}
		}
		r.close()
	}
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"mine", "default"}, Scopes: access.Scopes})
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/events?namespace=theirs", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/events/list?namespace=theirs", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/events/on", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/events/off", nil)
}

// TestReset: a reader whose position is not kept is told so, and goes on from the newest one.
func TestReset(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		on(s)
		enqueue(s, "mail", 1)
		before := s.OK(http.StatusOK, http.MethodGet, "/events/status", nil)
		old, _ := before.JSON["newest"].(string)
		s.OK(http.StatusOK, http.MethodPost, "/events/off", nil)
		on(s)
		enqueue(s, "mail", 2)
		r := open(s.T, s.URL+stream+"?after="+old)
		r.expect("hello")
		reset := r.expect("reset")
		if reset.data["after"] != old || reset.data["newest"] != reset.id || reset.id == old {
			s.Errorf("it is told %v", reset)
		}
		id := enqueue(s, "mail", 1)[0]
		if f := r.expect("job.updated"); f.data["job"] != id {
			s.Errorf("after newest comes %v", f)
		}
		s.OK(http.StatusOK, http.MethodPost, "/events/off", nil)
		if f := r.expect("bye"); f.data["reason"] != "feed_off" || f.data["retry"] != nil {
			s.Errorf("switched off, it says %v", f)
		}
		if _, more := r.next(); more {
			s.Error("something comes after bye")
		}
		s.Refused(http.StatusConflict, "conflict", http.MethodGet, "/events", nil)
		s.Refused(http.StatusConflict, "conflict", http.MethodGet, "/events/list", nil)
		if a := s.OK(http.StatusOK, http.MethodGet, "/events/status", nil); a.JSON["on"] != false || a.JSON["newest"] != nil {
			s.Errorf("switched off, it is %s", a.Text)
		}
	})
}

// TestFollowIsRefused: what cannot be is said before a stream begins.
func TestFollowIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	on(s)
	for query, want := range map[string]string{
		"?after=x":             "query/after",
		"?after=n1b3k2x7q4--3": "query/after",
		"?after=N1B3K2X7Q4-3":  "query/after", // there is one way to write it
		"?state=happy":         "query/state",
		"?job=7":               "query/job",
		"?kinds=mail":          "query/kinds",
	} {
		if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/events"+query, nil); at != want {
			t.Errorf("%s is refused because of %s, and not %s", query, at, want)
		}
	}
	at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/events", nil, "Last-Event-ID", "7")
	if at != "header/Last-Event-ID" {
		t.Errorf("a wrong id is refused because of %s", at)
	}
	s.Refused(http.StatusNotAcceptable, "not_acceptable", http.MethodGet, "/events", nil, "Accept", "application/json")
	s.Refused(http.StatusMethodNotAllowed, "method_not_allowed", http.MethodPost, "/events", nil)
	if a := s.OK(http.StatusOK, http.MethodHead, "/events", nil); a.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD answers %v", a.Header)
	}
	s.As(access.Principal{Name: "blind", Scopes: []access.Scope{access.JobsRead}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/events", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/events/list", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/events/status", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/events/on", nil)
}

// TestStreamsAreBounded: in total and by principal; one that ends makes room; and they end when the
// server stops.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	on(s)
	stopping := make(chan struct{})
	handler, err := server.Handler(s.Client, server.Options{
		Authenticate: func(r *http.Request) (access.Principal, error) { return access.Everything(r.Header.Get("X-Name")), nil },
		Streams:      3, StreamsEach: 2, Stopping: stopping,
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	as := func(name string, status int) *reader {
		t.Helper()
		r := open(t, web.URL+stream, "X-Name", name)
		if r.status != status {
			t.Fatalf("a stream of %s is answered %d, and not %d", name, r.status, status)
		}
		if status == http.StatusOK {
			r.expect("hello")
		}
		return r
	}
	as("a", http.StatusOK)
	second := as("a", http.StatusOK)
	as("a", http.StatusTooManyRequests)
	third := as("b", http.StatusOK)
	as("c", http.StatusTooManyRequests)
	second.close()
	for open(t, web.URL+stream, "X-Name", "a").status != http.StatusOK { //nolint:revive // until the server has noticed
	}
	close(stopping)
	bye := third.expect("bye")
	if bye.data["reason"] != "stopping" || bye.data["retry"] == nil {
		t.Errorf("a server that stops says %v", bye)
	}
}

// TestAHundredReaders: they all hear of a change.
func TestAHundredReaders(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	on(s)
	all := make([]*reader, 100)
	for i := range all {
		all[i] = open(t, s.URL+stream)
		all[i].expect("hello")
	}
	id := enqueue(s, "mail", 1)[0]
	for i, r := range all {
		if f := r.expect("job.updated"); f.data["job"] != id {
			t.Errorf("reader %d hears of %v", i, f)
		}
		r.close()
	}
}

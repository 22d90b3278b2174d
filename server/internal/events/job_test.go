package events_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestWatch: who watches a job sees its steps, its messages and its end, and can go on in the
// middle.
func TestWatch(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		kind := holdfast.NewKind[string, string]("trip")
		err := kind.Handle(s.Client, func(run *holdfast.Run, city string) (string, error) {
			if _, err := holdfast.Step(run, "book", func(context.Context) (string, error) { return "room in " + city, nil }); err != nil {
				return "", err
			}
			_, err := holdfast.NewSignal[string]("go").Wait(run)
			return "there", err
		})
		if err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		id := s.Enqueue(map[string]any{"kind": "trip", "args": "Oslo"})
		r := open(s.T, s.URL+"/api/v1/jobs/"+id+"/events")
		hello := r.expect("hello")
		step := until(r, "journal.entry")
		if hello.id != "0-0" || step.data["name"] != "book" || step.data["data"] != "room in Oslo" {
			s.Errorf("after %v comes %v", hello, step)
		}
		r.close()
		if _, err := s.Client.SendSignal(s.Context(), idOf(s, id), "go", []byte(`"now"`)); err != nil {
			s.Fatal(err)
		}
		again := open(s.T, s.URL+"/api/v1/jobs/"+id+"/events", "Last-Event-ID", step.id)
		var seen []string
		for f, more := again.next(); more; f, more = again.next() {
			seen = append(seen, f.event)
			if f.event == "journal.entry" && f.data["seq"] == step.data["seq"] {
				s.Errorf("after %s comes %v again", step.id, f)
			}
			if f.event == "bye" && (f.data["reason"] != "finished" || f.data["retry"] != nil) {
				s.Errorf("it ends with %v", f)
			}
		}
		if n := len(seen); n < 5 || !slices.Contains(seen, "journal.message") || seen[n-2] != "job.updated" || seen[n-1] != "bye" {
			s.Errorf("it sees %v", seen)
		}
	})
}

// TestWatchComesBack: a reader that comes back after the job has continued as new is told that the
// messages which it knows are forgotten, and of all that there are. With a place of two numbers, as
// they once were, it goes on after these.
func TestWatchComesBack(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		kind, on := holdfast.NewKind[int, string]("actor"), holdfast.NewSignal[string]("go")
		err := kind.Handle(s.Client, func(run *holdfast.Run, rounds int) (string, error) {
			for range 3 {
				if _, err := on.Wait(run); err != nil {
					return "", err
				}
			}
			if rounds > 0 {
				return "", kind.ContinueAsNew(rounds - 1)
			}
			return "done", nil
		})
		if err != nil {
			s.Fatal(err)
		}
		job, err := kind.Enqueue(s.Context(), s.Client, 1)
		if err != nil {
			s.Fatal(err)
		}
		for i := range 6 {
			if _, err := on.Send(s.Context(), s.Client, job.ID, fmt.Sprint("m", i+1)); err != nil {
				s.Fatal(err)
			}
		}
		url := s.URL + "/api/v1/jobs/" + job.ID.String() + "/events"
		r := open(s.T, url)
		until(r, "journal.message")
		second := until(r, "journal.message")
		r.close()
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		if _, err := job.Wait(s.Context()); err != nil {
			s.Fatal(err)
		}
		for _, c := range []struct {
			place string
			want  []any
		}{{second.id, []any{"from 1", "m4", "m5", "m6"}}, {"0-2", []any{"m6"}}} {
			again := open(s.T, url, "Last-Event-ID", c.place)
			if hello := again.expect("hello"); hello.id != c.place || hello.data["position"] != c.place {
				s.Errorf("it begins with %v, and not after %s", hello, c.place)
			}
			var seen []any
			for f, more := again.next(); more; f, more = again.next() {
				switch f.event {
				case "journal.messages_dropped":
					seen = append(seen, fmt.Sprint("from ", f.data["from"]))
				case "journal.message":
					seen = append(seen, f.data["data"])
				}
			}
			if !slices.Equal(seen, c.want) {
				s.Errorf("after %s it sees %v, and not %v", c.place, seen, c.want)
			}
		}
	})
}

// until is the next frame with an event.
func until(r *reader, event string) told {
	r.Helper()
	for {
		f, ok := r.next()
		if !ok {
			r.Fatalf("the stream ends before %s", event)
		}
		if f.event == event {
			return f
		}
	}
}

func idOf(s *apitest.Server, text string) (id holdfast.ID) {
	s.Helper()
	if err := id.UnmarshalText([]byte(text)); err != nil {
		s.Fatal(err)
	}
	return id
}

// TestWatchIsRefused: what cannot be is said before a stream begins, and payloads need their scope.
func TestWatchIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	id := s.Enqueue(map[string]any{"kind": "mail", "args": map[string]any{"to": "ann"}})
	path := "/jobs/" + id + "/events"
	for _, after := range []string{
		"x", "1", "1-", "-1-1", "1--1", "01-1", "1-1-1", "1-1-0-0", "1-1-01-1", "1-1-1-1-1", "99999999999999999999-1",
	} {
		if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, path+"?after="+after, nil); at != "query/after" {
			t.Errorf("%s is refused because of %s", after, at)
		}
	}
	s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, path, nil, "Last-Event-ID", "n1b3k2x7q4-x")
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/jobs/0198c0de-7b1c-7d3a-9f00-0123456789ab/events", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, path+"?namespace=theirs", nil)
	s.Refused(http.StatusNotAcceptable, "not_acceptable", http.MethodGet, path, nil, "Accept", "image/png")
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.JobsRead}})
	r := open(t, s.URL+"/api/v1"+path)
	r.expect("hello")
	if args, _ := r.expect("job.updated").data["args"].(map[string]any); args["to"] != nil || args["hidden"] != "payloads:read" {
		t.Errorf("without the scope it sees %v", args)
	}
	s.As(access.Principal{Name: "blind", Scopes: []access.Scope{access.EventsRead}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, path, nil)
}

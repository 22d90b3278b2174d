package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store"
)

const (
	keyHeader = "Idempotency-Key"
	replayed  = "Idempotency-Replayed"
)

func mail(to string) map[string]any {
	return map[string]any{"kind": "mail", "args": map[string]any{"to": to}}
}

// jobs is how many jobs to mail there are.
func jobs(s *apitest.Server) int {
	s.Helper()
	a := s.OK(http.StatusOK, http.MethodGet, "/jobs?limit=200&kind=mail", nil)
	return len(a.Items())
}

// same makes a request twice under a key, and checks that the second one is answered like the
// first, and says so.
func same(s *apitest.Server, status int, path string, body any, key string) apitest.Answer {
	s.Helper()
	first := s.OK(status, http.MethodPost, path, body, keyHeader, key)
	if first.Header.Get(replayed) != "" {
		s.Errorf("%s: the first answer is a repeated one", path)
	}
	second := s.OK(status, http.MethodPost, path, body, keyHeader, key)
	if strings.TrimSpace(first.Text) != strings.TrimSpace(second.Text) || second.Header.Get(replayed) != "true" {
		s.Errorf("%s: answered %s, and then (%q) %s", path, first.Text, second.Header.Get(replayed), second.Text)
	}
	if first.Header.Get("ETag") != second.Header.Get("ETag") || first.Header.Get("Content-Type") != second.Header.Get("Content-Type") {
		s.Errorf("%s: the headers are %v, and then %v", path, first.Header, second.Header)
	}
	return second
}

func TestARepeatedEnqueueIsOne(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		same(s, http.StatusCreated, "/jobs", mail("ann"), "k1")
		same(s, http.StatusCreated, "/jobs", mail("ann"), `"k 2"`)
		if n := jobs(s); n != 2 {
			s.Errorf("%d jobs", n)
		}
		s.Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", http.MethodPost, "/jobs", mail("bob"), keyHeader, "k1")
		s.Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", http.MethodPost, "/jobs?namespace=shop", mail("ann"), keyHeader, "k1")
		s.Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", http.MethodPost, "/jobs/batch",
			map[string]any{"jobs": []any{mail("ann")}}, keyHeader, "k1")
		s.As(access.Everything("another"))
		same(s, http.StatusCreated, "/jobs", mail("bob"), "k1")
		s.As(access.Principal{Name: "another"})
		s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/jobs", mail("bob"), keyHeader, "k1")
	})
}

// TestARepeatedBatchIsOne: jobs that cannot be stored have their errors again.
func TestARepeatedBatchIsOne(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		taken := mail("held")
		taken["unique"] = map[string]any{"args": true, "on_conflict": "reject"}
		held := s.Do(http.MethodPost, "/jobs", taken)
		if held.Status != http.StatusCreated {
			s.Fatalf("%s", held.Text)
		}
		body := map[string]any{"jobs": []any{mail("ann"), taken, mail("bob"), taken}}
		a := same(s, http.StatusOK, "/jobs/batch", body, "batch")
		if strings.Count(a.Text, `"code":"conflict"`) != 2 {
			s.Errorf("the answer tells not of both that were refused: %s", a.Text)
		}
		if n := jobs(s); n != 3 {
			s.Errorf("%d jobs", n)
		}
		// Nothing came of it, so nothing is kept.
		s.Refused(http.StatusConflict, "conflict", http.MethodPost, "/jobs", taken, keyHeader, "alone")
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+fmt.Sprint(held.JSON["id"])+"/cancel", nil)
		same(s, http.StatusCreated, "/jobs", taken, "alone")
	})
}

func TestARepeatedSignalIsOne(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		id := s.Enqueue(map[string]any{"kind": "order", "key": "order-1"})
		signal := map[string]any{"name": "paid", "payload": 1}
		same(s, http.StatusOK, "/jobs/"+id+"/signals", signal, "by id")
		same(s, http.StatusOK, "/kinds/order/keys/order-1/signals", signal, "by key")
		// The job has gone: what is repeated is answered still, and what is new is not.
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/cancel", nil)
		s.OK(http.StatusNoContent, http.MethodDelete, "/jobs/"+id, nil)
		for path, key := range map[string]string{"/jobs/" + id + "/signals": "by id", "/kinds/order/keys/order-1/signals": "by key"} {
			a := s.OK(http.StatusOK, http.MethodPost, path, signal, keyHeader, key)
			if a.JSON["id"] != id || a.Header.Get(replayed) != "true" {
				s.Errorf("%s: %s", path, a.Text)
			}
			s.Refused(http.StatusNotFound, "not_found", http.MethodPost, path, signal, keyHeader, "new "+key)
		}
	})
}

// TestAChangeIsAnsweredAgain: changes that are not one with their answers.
func TestAChangeIsAnsweredAgain(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		id := s.Enqueue(mail("ann"))
		same(s, http.StatusOK, "/queues/default/pause", nil, "pause")
		s.OK(http.StatusOK, http.MethodPost, "/queues/default/resume", nil)
		if a := s.OK(http.StatusOK, http.MethodPost, "/queues/default/pause", nil, keyHeader, "pause"); a.Header.Get(replayed) != "true" {
			s.Errorf("paused again: %s", a.Text)
		}
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/cancel", nil)
		same(s, http.StatusOK, "/jobs/"+id+"/retry", map[string]any{"reason": "once"}, "retry")
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/cancel", nil)
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/retry", map[string]any{"reason": "once"}, keyHeader, "retry")
		if a := s.OK(http.StatusOK, http.MethodGet, "/jobs/"+id, nil); a.JSON["state"] != "cancelled" {
			s.Errorf("it was retried again: %s", a.Text)
		}
		// What was refused is not kept.
		s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/batches/00000000-0000-7000-8000-000000000001/close", nil, keyHeader, "close")
		s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/batches/00000000-0000-7000-8000-000000000001/close", nil, keyHeader, "close")
		s.OK(http.StatusCreated, http.MethodPost, "/keys", map[string]any{"name": "ci", "role": "viewer"}, keyHeader, "secret")
		s.Refused(http.StatusConflict, "answer_not_kept", http.MethodPost, "/keys", map[string]any{"name": "ci", "role": "viewer"}, keyHeader, "secret")
		// An answer with payloads is kept nowhere else.
		tag := map[string]any{"add": []string{"vip"}}
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/tags", tag, keyHeader, "tag")
		s.Refused(http.StatusConflict, "answer_not_kept", http.MethodPost, "/jobs/"+id+"/tags", tag, keyHeader, "tag")
		if list := s.OK(http.StatusOK, http.MethodGet, "/keys", nil); len(list.Items()) != 1 {
			s.Errorf("keys: %s", list.Text)
		}
	})
}

// TestManyAtOnceAreOne: two servers, each with a client of its own, get the same request at once.
func TestManyAtOnceAreOne(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		servers := []*apitest.Server{s, apitest.On(s.T, s.Source)}
		for _, path := range []string{"/jobs", "/queues/default/pause"} {
			body := any(nil)
			if path == "/jobs" {
				body = mail("ann")
			}
			answers := make([]apitest.Answer, 16)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() { answers[i] = servers[i%2].Do(http.MethodPost, path, body, keyHeader, "at once"+path) })
			}
			all.Wait()
			var done []string
			for _, a := range answers {
				switch {
				case a.Status < 300:
					done = append(done, strings.TrimSpace(a.Text))
				case path == "/jobs" || a.JSON["code"] != "request_under_way" || a.Header.Get("Retry-After") == "":
					s.Errorf("%s: %s", path, a.Text)
				}
			}
			if slices.Sort(done); len(done) == 0 || len(slices.Compact(done)) != 1 {
				s.Errorf("%s: different answers: %q", path, done)
			}
		}
		if n := jobs(s); n != 1 {
			s.Errorf("%d jobs", n)
		}
	})
}

func TestWhatIsNoKey(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, key := range []string{"", `""`, strings.Repeat("k", 256), "ä", "a\tb"} {
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/jobs", mail("ann"), keyHeader, key)
	}
	if n := jobs(s); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

// TestMiddlewareEnqueuesBeside: what middleware enqueues is no effect of the request.
func TestMiddlewareEnqueuesBeside(t *testing.T) {
	t.Parallel()
	audit := holdfast.NewKind[string, string]("audit")
	var client *holdfast.Client
	s := apitest.New(t, holdfast.WithEnqueueMiddleware(func(ctx context.Context, list []*store.Job, next func(context.Context) error) error {
		if list[0].Kind == "mail" {
			if _, err := audit.Enqueue(ctx, client, list[0].ID.String()); err != nil {
				return err
			}
		}
		return next(ctx)
	}))
	client = s.Client
	same(s, http.StatusCreated, "/jobs", mail("ann"), "k")
	if n := jobs(s); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

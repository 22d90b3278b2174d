package queues_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const (
	get    = http.MethodGet
	post   = http.MethodPost
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// TestQueues: a queue is listed, shown, paused, resumed, let rest, drained and deleted.
func TestQueues(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		job := s.Enqueue(map[string]any{"kind": "mail", "queue": "mail"})
		s.Enqueue(map[string]any{"kind": "mail", "queue": "reports"})
		s.OK(201, post, "/jobs?namespace=other", `{"kind":"mail","queue":"foreign"}`)

		first := s.OK(200, get, "/queues?limit=1", nil)
		cursor, _ := first.JSON["next_cursor"].(string)
		second := s.OK(200, get, "/queues?limit=1&cursor="+cursor, nil)
		if a, b := first.Items(), second.Items(); len(a) != 1 || len(b) != 1 || a[0]["name"] != "mail" || b[0]["name"] != "reports" || second.JSON["next_cursor"] != nil {
			s.Errorf("two pages: %s %s", first.Text, second.Text)
		}
		if a := s.OK(200, post, "/queues/mail/pause", nil); a.JSON["paused"] != true || a.JSON["new"] != false {
			s.Errorf("paused: %s", a.Text)
		}
		if a := s.OK(200, get, "/queues/mail", nil); a.JSON["paused"] != true || a.JSON["paused_by"] != "tester" || a.JSON["descriptor"] != nil {
			s.Errorf("a paused queue: %s", a.Text)
		}
		s.OK(200, post, "/queues/mail/resume", nil)
		if a := s.OK(200, get, "/queues/mail", nil); a.JSON["paused"] != false {
			s.Errorf("a resumed queue: %s", a.Text)
		}
		if a := s.OK(200, post, "/queues/mail/rest", `{"for":"10m"}`); a.JSON["until"] == nil {
			s.Errorf("a rest: %s", a.Text)
		}
		if a := s.OK(200, post, "/queues/new/pause", nil); a.JSON["new"] != true {
			s.Errorf("a new queue: %s", a.Text)
		}
		s.Refused(409, "conflict", remove, "/queues/mail", nil)
		if a := s.OK(200, post, "/queues/mail/drain", `{"dry_run":true}`); a.JSON["jobs"] != 1.0 || a.JSON["operation"] != nil {
			s.Errorf("a dry run: %s", a.Text)
		}
		drain := s.OK(202, post, "/queues/mail/drain", `{"reason":"sent twice"}`)
		operation, _ := drain.JSON["operation"].(string)
		s.OK(200, get, "/jobs/"+operation, nil) // it waits for a node
		s.OK(200, post, "/jobs/"+job+"/cancel", nil)
		s.OK(204, remove, "/queues/mail", nil)
		s.Refused(404, "not_found", get, "/queues/mail", nil)
	})
}

// TestSet: settings are changed by those who know them as they are.
func TestSet(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		s.Enqueue(map[string]any{"kind": "mail", "queue": "mail"})
		read := s.OK(200, get, "/queues/mail", nil).Header.Get("ETag")
		const change = `{"max_attempts":5,"backoff":{"base":"10s","cap":"1h"},"timeout":"30s"}`
		s.Refused(428, "precondition_required", patch, "/queues/mail", change)
		s.Refused(412, "changed", patch, "/queues/mail", change, "If-Match", `"other"`)
		done := s.OK(200, patch, "/queues/mail", change, "If-Match", `"other", `+read)
		attempts, _ := done.JSON["attempts"].(map[string]any)
		if attempts["max_attempts"] != 5.0 || attempts["timeout"] != "30s" || attempts["set_by"] != "tester" {
			s.Errorf("set: %s", done.Text)
		}
		s.Refused(412, "changed", patch, "/queues/mail", `{"timeout":"40s"}`, "If-Match", read)
		now := s.OK(200, get, "/queues/mail", nil)
		if now.Header.Get("ETag") != done.Header.Get("ETag") || now.Header.Get("ETag") == read {
			s.Errorf("ETags: %s, then %s, then %s", read, done.Header.Get("ETag"), now.Header.Get("ETag"))
		}
		done = s.OK(200, patch, "/queues/mail", `{"timeout":null,"backoff":null}`, "If-Match", now.Header.Get("ETag"))
		attempts, _ = done.JSON["attempts"].(map[string]any)
		if attempts["max_attempts"] != 5.0 || attempts["timeout"] != nil || attempts["backoff"] != nil {
			s.Errorf("unset: %s", done.Text)
		}
		s.OK(200, patch, "/queues/fresh", `{"max_attempts":2}`, "If-Match", "*")
		for body, pointer := range map[string]string{
			`{}`: "", `{"max_attempts":0}`: "/max_attempts", `{"timeout":"0s"}`: "/timeout", `{"timeout":3}`: "/timeout", `{"tries":3}`: "/tries",
			`{"backoff":{"base":"1s"}}`: "/backoff/cap", `{"retention":"none such"}`: "/retention", `{"timeout":"soon"}`: "/timeout",
		} {
			if got := s.Refused(422, "invalid", patch, "/queues/mail", body, "If-Match", "*"); got != pointer {
				s.Errorf("%s: it points to %q", body, got)
			}
		}
	})
}

// TestSetAtOnce: of those who change the same version at once, one does.
func TestSetAtOnce(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		for round := range 10 {
			read := s.OK(200, patch, "/queues/mail", fmt.Sprintf(`{"max_attempts":%d}`, 100+round), "If-Match", "*").Header.Get("ETag")
			const n = 4
			statuses := make(chan int, n)
			for i := range n {
				go func() {
					statuses <- s.Do(patch, "/queues/mail", fmt.Sprintf(`{"max_attempts":%d}`, i+1), "If-Match", read).Status
				}()
			}
			got := map[int]int{}
			for range n {
				got[<-statuses]++
			}
			if got[200] != 1 || got[412] != n-1 {
				s.Fatalf("round %d: %v", round, got)
			}
		}
	})
}

// TestRefusals: who lacks a scope, asks for what is not there, or says nonsense.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.OK(201, post, "/jobs?namespace=other", `{"kind":"mail","queue":"foreign"}`)
	for _, r := range [][2]string{
		{get, "/queues/foreign"},
		{post, "/queues/foreign/resume"},
		{post, "/queues/foreign/drain"},
		{remove, "/queues/foreign"},
		{get, "/queues/foreign/stuck"},
		{get, "/kinds/none"},
		{remove, "/kinds/none"},
	} {
		s.Refused(404, "not_found", r[0], r[1], nil)
	}
	s.Refused(422, "invalid", post, "/queues/q/rest", `{"for":"-1s"}`)
	s.Refused(422, "invalid", post, "/queues/q/rest", `{}`)
	s.Refused(422, "invalid", post, "/queues/q%00/pause", nil)
	s.Refused(422, "invalid", get, "/queues?cursor=%21", nil)
	s.Refused(422, "invalid", get, "/queues?limit=201", nil)
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.QueuesRead}})
	for _, r := range [][2]string{
		{post, "/queues/q/pause"}, {post, "/queues/q/resume"}, {post, "/queues/q/drain"}, {remove, "/queues/q"}, {remove, "/kinds/k"},
	} {
		s.Refused(403, "forbidden", r[0], r[1], nil)
	}
	s.Refused(403, "forbidden", patch, "/queues/q", `{"max_attempts":3}`, "If-Match", "*")
	s.As(access.Principal{Name: "queues", Scopes: []access.Scope{access.QueuesWrite}})
	s.Refused(403, "forbidden", get, "/queues", nil)
	s.Refused(403, "forbidden", get, "/kinds", nil)
	s.Refused(403, "forbidden", post, "/queues/q/drain", `{}`) // it cancels jobs
	s.As(access.Principal{Name: "else", Scopes: access.Scopes, Namespaces: []string{"mine"}})
	s.Refused(404, "not_found", get, "/queues?namespace=other", nil)
}

type mail struct {
	To string `json:"to"`
}

// TestKinds: what code tells of kinds and queues is there as soon as a node has started.
func TestKinds(t *testing.T) {
	t.Parallel()
	kind := holdfast.NewKind[mail, string]("send-mail")
	s := apitest.New(t, describe.These(
		describe.Kind(kind, describe.Owner("mail team"), describe.Example(mail{To: "ada"})), describe.Queue("mail", describe.Text("Letters"))))
	if err := kind.Handle(s.Client, func(*holdfast.Run, mail) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.OK(200, get, "/queues/mail", nil); a.JSON["descriptor"] == nil {
		t.Errorf("a queue that is told of: %s", a.Text)
	}
	all := s.OK(200, get, "/kinds", nil)
	found := false
	for _, item := range all.Items() {
		found = found || item["name"] == "send-mail"
	}
	if !found {
		t.Errorf("the kinds: %s", all.Text)
	}
	whole := s.OK(200, get, "/kinds/send-mail", nil)
	told, _ := whole.JSON["descriptor"].(map[string]any)
	schema, _ := told["args"].(map[string]any)
	example, _ := told["example"].(map[string]any)
	if told["owner"] != "mail team" || schema["$defs"] == nil || example["to"] != "ada" {
		t.Errorf("the kind: %s", whole.Text)
	}
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.QueuesRead}})
	told, _ = s.OK(200, get, "/kinds/send-mail", nil).JSON["descriptor"].(map[string]any)
	if example, _ = told["example"].(map[string]any); example["hidden"] != "payloads:read" {
		t.Errorf("an example without the scope: %v", told)
	}
	s.As(access.Everything("tester"))
	s.OK(204, remove, "/kinds/send-mail", nil)
	s.Refused(404, "not_found", remove, "/kinds/send-mail", nil)
}

// TestStuck: a key whose turn a failed job keeps is listed.
func TestStuck(t *testing.T) {
	t.Parallel()
	kind := holdfast.NewKind[mail, string]("send-mail")
	s := apitest.New(t)
	if err := kind.Handle(s.Client, func(*holdfast.Run, mail) (string, error) { return "", errors.New("no") }); err != nil {
		t.Fatal(err)
	}
	job := s.Enqueue(map[string]any{"kind": "send-mail", "queue": "orders", "ordering_key": "ada", "keep_turn": true, "max_attempts": 1})
	if a := s.OK(200, get, "/queues/orders/stuck", nil); len(a.Items()) != 0 {
		t.Errorf("before it has failed: %s", a.Text)
	}
	if err := s.Client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.OK(200, get, "/jobs/"+job+"/result?wait=30s", nil)
	a := s.OK(200, get, "/queues/orders/stuck", nil)
	if items := a.Items(); len(items) != 1 || items[0]["key"] != "ada" || items[0]["job"] != job {
		t.Errorf("the stuck keys: %s", a.Text)
	}
}

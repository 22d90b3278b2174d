package jobs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
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

// unknownJob is the id of no job.
const unknownJob = "0198c0de-7b1c-7d3a-9f00-0123456789ab"

// TestEnqueue: what is said of a job is what is stored, and the answer tells whether it is new.
func TestEnqueue(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		first := s.OK(http.StatusCreated, post, "/jobs", `{
			"kind":"mail","args":{"n":12345678901234567890,"text":"ü\u2028"},"queue":"slow","priority":1,"delay":"1h","max_attempts":7,
			"timeout":"30s","heartbeat_timeout":"10s","backoff":{"base":"1s","cap":"1m"},"tags":["a","b"],"metadata":{"by":"me"},
			"ordering_key":"k","keep_turn":true,"key":"order-42","keep_key":"24h","fair_key":"acme"}`)
		id, _ := first.JSON["id"].(string)
		job := s.OK(http.StatusOK, get, "/jobs/"+id, nil).JSON
		for field, want := range map[string]any{
			"kind": "mail", "queue": "slow", "priority": 1.0, "state": "scheduled", "max_attempts": 7.0, "timeout": "30s",
			"heartbeat_timeout": "10s", "ordering_key": "k", "keep_turn": true, "key": "order-42", "keep_key": "24h0m0s", "fair_key": "acme",
		} {
			if job[field] != want {
				s.Errorf("%s is %v, not %v", field, job[field], want)
			}
		}
		if text := s.OK(http.StatusOK, get, "/jobs/"+id, nil).Text; !strings.Contains(text, `"args":{"n":12345678901234567890,"text":"ü`) {
			s.Errorf("the args have changed: %s", text)
		}
		again := s.OK(http.StatusOK, post, "/jobs", `{"kind":"mail","args":{"n":2},"key":"order-42"}`)
		if again.JSON["id"] != id || again.JSON["existing"] != true || again.JSON["differs"] != true {
			s.Errorf("a second one with its key: %s", again.Text)
		}
		other := s.OK(http.StatusCreated, post, "/jobs?namespace=other", `{"kind":"mail","key":"order-42"}`)
		if other.JSON["existing"] != false {
			s.Errorf("the key in another namespace: %s", other.Text)
		}
		named := unknownJob
		s.OK(http.StatusCreated, post, "/jobs", map[string]any{"kind": "mail", "id": named})
		if a := s.OK(http.StatusOK, post, "/jobs", map[string]any{"kind": "mail", "id": named}); a.JSON["existing"] != true {
			s.Errorf("the same id again: %s", a.Text)
		}
	})
}

// TestEnqueueRefusals: each wrong request is refused with the part that is wrong, and stores
// nothing.
func TestEnqueueRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, kind := range []string{"holdfast.delivery", "holdfast.webhook", "holdfast.operation"} { // made by what looks at them first
		s.Refused(http.StatusForbidden, "forbidden", post, "/jobs", map[string]any{"kind": kind})
	}
	for _, test := range []struct {
		body, pointer string
	}{
		{`{}`, "/kind"},
		{`{"kind":""}`, "/kind"},
		{`{"kind":7}`, "/kind"},
		{`{"kind":"a","arg":1}`, "/arg"},
		{`{"kind":"a","priority":5}`, "/priority"},
		{`{"kind":"a","id":"x"}`, "/id"},
		{`{"kind":"a","delay":"soon"}`, "/delay"},
		{`{"kind":"a","delay":"-1s"}`, "/delay"},
		{`{"kind":"a","delay":"1s","run_at":"2030-01-01T00:00:00Z"}`, "/delay"},
		{`{"kind":"a","timeout":"0s"}`, "/timeout"},
		{`{"kind":"a","timeout":"-1s"}`, "/timeout"},
		{`{"kind":"a","heartbeat_timeout":"0h0.00s"}`, "/heartbeat_timeout"},
		{`{"kind":"a","unique":{"args":true,"period":"0s"}}`, "/unique/period"},
		{`{"kind":"a","run_at":"tomorrow"}`, "/run_at"},
		{`{"kind":"a","keep_turn":true}`, "/keep_turn"},
		{`{"kind":"a","keep_key":"1h"}`, "/keep_key"},
		{`{"kind":"a","key":"k","keep_key":"long"}`, "/keep_key"},
		{`{"kind":"a","key":"k","unique":{}}`, "/unique"},
		{`{"kind":"a","unique":{"while":["asleep"]}}`, "/unique/while/0"},
		{`{"kind":"a","unique":{"on_conflict":"ignore"}}`, "/unique/on_conflict"},
		{`{"kind":"a","after":[{"job":"x"}]}`, "/after/0/job"},
		{`{"kind":"a","follow_ups":[{"on":"failed","job":{"kind":"b","priority":9}}]}`, "/follow_ups/0/job/priority"},
		{`{"kind":"a","follow_ups":[{"on":"failed","job":{"kind":"b","delay":"-1s"}}]}`, "/follow_ups/0/job/delay"},
		{`{"kind":"a","queue":"a\u0000b"}`, "/queue"},
		{`{"kind":"` + strings.Repeat("k", 201) + `"}`, "/kind"},
		{`{"kind":"a","id":"0198c0de-7b1c-4d3a-9f00-0123456789ab"}`, "/id"},
		{`{"kind":"a","id":"00000000-0000-0000-0000-000000000000"}`, "/id"}, // which would be taken for none
		{`{"kind":"a","args":{"a":"\u0000"}}`, "/args"},
		{`{"kind":"a","metadata":{"a":"` + strings.Repeat("x", 70_000) + `"}}`, "/metadata"},
		{`{"kind":"a","deadline":"2001-01-01T00:00:00Z"}`, "/deadline"},
		{`{"kind":"a","tags":["a\nb"]}`, "/tags"},
		{`{"kind":"a","ordering_key":"` + strings.Repeat("k", 300) + `"}`, "/ordering_key"},
		{`{"kind":"a","follow_ups":[{"on":"failed","job":{"kind":"b","queue":"a\nb"}}]}`, ""},
		{`[]`, ""},
	} {
		if pointer := s.Refused(http.StatusUnprocessableEntity, "invalid", post, "/jobs", test.body); pointer != test.pointer {
			t.Errorf("%s: it points to %q, not %q", test.body, pointer, test.pointer)
		}
	}
	for _, body := range []string{``, `{"kind":"a"`, `{"kind":"a"} {}`, `nonsense`, "{\"kind\":\"a\xff\"}", `{"kind":"a","args":{"x":}}`} {
		s.Refused(http.StatusBadRequest, "malformed", post, "/jobs", body)
	}
	large := `{"kind":"a","args":"` + strings.Repeat("x", 5<<20) + `"}`
	s.Refused(http.StatusRequestEntityTooLarge, "too_large", post, "/jobs", large)
	s.Refused(http.StatusConflict, "conflict", post, "/jobs",
		fmt.Sprintf(`{"kind":"a","unique":{"key":"%s","on_conflict":"reject"}}`, enqueueUnique(s)))
	if n := len(itemsOf(s, "/jobs")); n != 1 {
		t.Errorf("%d jobs are there", n)
	}
}

func enqueueUnique(s *apitest.Server) string {
	s.Enqueue(map[string]any{"kind": "b", "unique": map[string]any{"key": "one"}})
	return "one"
}

func itemsOf(s *apitest.Server, path string) []map[string]any {
	a := s.OK(http.StatusOK, get, path, nil)
	return a.Items()
}

// TestEnqueueBatch: those that can be stored are, and each of the others has its error.
func TestEnqueueBatch(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		a := s.OK(http.StatusOK, post, "/jobs/batch",
			`{"jobs":[{"kind":"a"},{"kind":"b","queue":"\u0001"},{"kind":"c","key":"k"},{"kind":"c","key":"k"}]}`)
		list, _ := a.JSON["jobs"].([]any)
		var got []string
		for _, item := range list {
			v, _ := item.(map[string]any)
			got = append(got, fmt.Sprintf("%v %v", v["code"], v["existing"]))
		}
		if fmt.Sprint(got) != "[<nil> false invalid false <nil> false <nil> true]" {
			s.Errorf("%v: %s", got, a.Text)
		}
		if n := len(itemsOf(s, "/jobs")); n != 2 {
			s.Errorf("%d jobs are there", n)
		}
		s.Refused(http.StatusUnprocessableEntity, "invalid", post, "/jobs/batch", `{"jobs":[]}`)
		many := `{"jobs":[{"kind":"a"}` + strings.Repeat(`,{"kind":"a"}`, 1000) + `]}`
		s.Refused(http.StatusUnprocessableEntity, "invalid", post, "/jobs/batch", many)
	})
}

// TestListPages: the pages of a list have each job once, in both orders and with a query.
func TestListPages(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		want := map[string]bool{}
		for i := range 7 {
			want[s.Enqueue(map[string]any{"kind": "mail", "args": map[string]any{"n": i}, "tags": []string{"t"}})] = true
			s.Enqueue(map[string]any{"kind": "other"})
		}
		for _, params := range []string{"kind=mail", "q=" + url.QueryEscape("kind:mail tag:t state:available"), "kind=mail&sort=oldest"} {
			got := map[string]bool{}
			ids, _ := pagesOf(s, "/jobs?limit=3&"+params, "id")
			for _, id := range ids {
				if got[id] {
					s.Errorf("%s: %s comes twice", params, id)
				}
				got[id] = true
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				s.Errorf("%s: %v, not %v", params, got, want)
			}
		}
		if n := itemsOf(s, "/jobs?args=n%3D3"); len(n) != 1 {
			s.Errorf("one has these args, and %d are found", len(n))
		}
		if n := s.OK(http.StatusOK, get, "/jobs/count?kind=mail", nil).JSON["count"]; n != 7.0 {
			s.Errorf("it counts %v", n)
		}
	})
}

// TestListRefusals: wrong parameters are refused with their name.
func TestListRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for params, pointer := range map[string]string{
		"state=asleep": "query/state", "limit=0": "query/limit", "limit=201": "query/limit", "limit=x": "query/limit",
		"stat=failed": "query/stat",
		"sort=random": "query/sort", "id=x": "query/id", "parent=x": "query/parent", "key=k": "query/key", "args=x": "query/args",
		"attribute=%3D": "query/attribute", "fingerprint=x": "query/fingerprint", "created_after=x": "query/created_after",
		"q=foo:bar": "query/q", "q=state:failed&state=failed": "query/q", "cursor=nonsense": "query/cursor", "namespace=a%00b": "query/namespace",
	} {
		if got := s.Refused(http.StatusUnprocessableEntity, "invalid", get, "/jobs?"+params, nil); got != pointer {
			t.Errorf("%s: it points to %q, not %q", params, got, pointer)
		}
	}
}

// TestOfOneJob: what can be asked of a job, and done to it, is refused for one that is not there,
// and for one of another namespace in the same words.
func TestOfOneJob(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	foreign := s.Enqueue(map[string]any{"kind": "mail"})
	s.As(access.Principal{Name: "shop", Namespaces: []string{"shop"}, Scopes: access.Scopes})
	for _, id := range []string{unknownJob, foreign} {
		for _, path := range []string{"", "/why", "/attempts", "/journal", "/messages", "/logs", "/result"} {
			s.Refused(http.StatusNotFound, "not_found", get, "/jobs/"+id+path, nil)
		}
		for _, verb := range []string{"cancel", "terminate", "retry", "pause", "resume", "skip", "fork"} {
			s.Refused(http.StatusNotFound, "not_found", post, "/jobs/"+id+"/"+verb, nil)
		}
		s.Refused(http.StatusNotFound, "not_found", post, "/jobs/"+id+"/tags", `{"add":["x"]}`)
		s.Refused(http.StatusNotFound, "not_found", post, "/jobs/"+id+"/complete", `{}`)
		s.Refused(http.StatusNotFound, "not_found", post, "/jobs/"+id+"/fail", `{"error":"x"}`)
		s.Refused(http.StatusNotFound, "not_found", post, "/jobs/"+id+"/continue-as-new", `{"args":{}}`)
		s.Refused(http.StatusNotFound, "not_found", patch, "/jobs/"+id, `{"priority":1}`)
		s.Refused(http.StatusNotFound, "not_found", remove, "/jobs/"+id, nil)
	}
	s.Refused(http.StatusNotFound, "not_found", get, "/jobs?namespace=default", nil)
	s.As(access.Everything("tester"))
	if state := s.OK(http.StatusOK, get, "/jobs/"+foreign, nil).JSON["state"]; state != "available" {
		t.Errorf("the job of the other namespace is %v", state)
	}
}

// TestChanges: a job through its changes, with who made them.
func TestChanges(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		id := s.Enqueue(map[string]any{"kind": "mail"})
		step := func(path, body, state string) {
			s.Helper()
			if got := s.OK(http.StatusOK, post, "/jobs/"+id+path, body).JSON["state"]; got != state {
				s.Errorf("after %s it is %v, not %s", path, got, state)
			}
		}
		step("/pause", `{"reason":"wait"}`, "waiting")
		step("/resume", "", "available")
		step("/cancel", "", "cancelled")
		step("/retry", "", "available")
		step("/terminate", "", "cancelled")
		step("/resume", "", "available")
		job := s.OK(http.StatusOK, patch, "/jobs/"+id, `{"priority":4,"queue":"later","delay":"1h","args":{"n":1},"reason":"not now"}`).JSON
		if job["priority"] != 4.0 || job["queue"] != "later" || job["state"] != "scheduled" {
			s.Errorf("it is %v", job)
		}
		s.Refused(http.StatusUnprocessableEntity, "invalid", patch, "/jobs/"+id, `{}`)
		s.Refused(http.StatusUnprocessableEntity, "invalid", patch, "/jobs/"+id, `{"delay":"1s","run_at":"2030-01-01T00:00:00Z"}`)
		for _, nothing := range []string{"timeout", "heartbeat_timeout"} { // is not dropped
			s.Refused(http.StatusUnprocessableEntity, "invalid", patch, "/jobs/"+id, `{"priority":3,"`+nothing+`":"0s"}`)
		}
		if job := s.OK(http.StatusOK, patch, "/jobs/"+id, `{"metadata":{"a":1},"timeout":"5s"}`).JSON; job["metadata"] == nil || job["timeout"] != "5s" {
			s.Errorf("it is %v", job)
		}
		job = s.OK(http.StatusOK, patch, "/jobs/"+id, `{"metadata":{}}`).JSON
		if m, _ := job["metadata"].(map[string]any); len(m) > 0 || job["priority"] != 4.0 {
			s.Errorf("it is %v", job)
		}
		tagged := s.OK(http.StatusOK, post, "/jobs/"+id+"/tags", `{"add":["x","y"]}`).JSON
		if fmt.Sprint(tagged["tags"]) != "[x y]" {
			s.Errorf("its tags are %v", tagged["tags"])
		}
		edited := s.OK(http.StatusOK, patch, "/jobs/"+id, `{"tags":[]}`).JSON
		if edited["tags"] != nil && fmt.Sprint(edited["tags"]) != "[]" {
			s.Errorf("all its tags were taken away, and there are %v", edited["tags"])
		}
		s.Refused(http.StatusConflict, "conflict", remove, "/jobs/"+id, nil)
		step("/cancel", "", "cancelled")
		var actors []any
		actions, _ := s.OK(http.StatusOK, get, "/jobs/"+id, nil).JSON["actions"].([]any)
		for _, action := range actions {
			v, _ := action.(map[string]any)
			actors = append(actors, v["actor"])
		}
		if len(actors) < 8 || actors[0] != "tester" {
			s.Errorf("who has changed it: %v", actors)
		}
		s.OK(http.StatusNoContent, remove, "/jobs/"+id, nil)
		s.Refused(http.StatusNotFound, "not_found", get, "/jobs/"+id, nil)
	})
}

// TestChangesOfAttributes: search attributes are set beside others, and null takes one away.
func TestChangesOfAttributes(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		s.OK(http.StatusOK, post, "/attributes", `{"attributes":[{"name":"customer","type":"keyword"},{"name":"amount","type":"int"}]}`)
		id := s.Enqueue(map[string]any{"kind": "mail", "attributes": map[string]any{"customer": "acme"}})
		change := func(body, want string) {
			s.Helper()
			job := s.OK(http.StatusOK, patch, "/jobs/"+id, body).JSON
			var texts []string
			for name, v := range job["attributes"].(map[string]any) {
				texts = append(texts, fmt.Sprintf("%s=%v", name, v.(map[string]any)["text"]))
			}
			slices.Sort(texts)
			if got := strings.Join(texts, " "); got != want {
				s.Errorf("after %s its attributes are %s, not %s", body, got, want)
			}
		}
		change(`{"attributes":{"amount":40}}`, "amount=40 customer=acme")
		change(`{"attributes":{"customer":null,"amount":41}}`, "amount=41")
		change(`{"priority":4}`, "amount=41")
		s.Refused(http.StatusUnprocessableEntity, "invalid", patch, "/jobs/"+id, `{"attributes":{"amount":"many"}}`)
		s.Refused(http.StatusUnprocessableEntity, "invalid", patch, "/jobs/"+id, `{"attributes":{"nobody":null}}`)
		s.Refused(http.StatusUnprocessableEntity, "invalid", post, "/jobs", `{"kind":"mail","attributes":{"customer":null}}`)
		s.OK(http.StatusOK, post, "/jobs/"+id+"/cancel", nil)
		s.Refused(http.StatusConflict, "conflict", patch, "/jobs/"+id, `{"attributes":{"amount":1}}`)
	})
}

// TestResult: a request waits for the end of a job as long as it says, and gets its result.
func TestResult(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		id := s.Enqueue(map[string]any{"kind": "double", "args": 21, "delay": "1h"})
		waiting := s.OK(http.StatusAccepted, get, "/jobs/"+id+"/result?wait=10ms", nil)
		if waiting.JSON["state"] != "scheduled" || waiting.Header.Get("Retry-After") == "" {
			s.Errorf("%s", waiting.Text)
		}
		s.Refused(http.StatusUnprocessableEntity, "invalid", get, "/jobs/"+id+"/result?wait=2m", nil)
		double := holdfast.NewKind[int, int]("double")
		if err := double.Handle(s.Client, func(_ *holdfast.Run, n int) (int, error) { return 2 * n, nil }); err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.OK(http.StatusOK, patch, "/jobs/"+id, `{"delay":"0s"}`)
		ended := s.OK(http.StatusOK, get, "/jobs/"+id+"/result?wait=1m", nil)
		if ended.JSON["state"] != "completed" || ended.JSON["result"] != 42.0 {
			s.Errorf("%s", ended.Text)
		}
	})
}

// TestPayloadsNeedTheirScope: without it no args, results, metadata, attributes and log attributes
// are seen, and nothing else is missing.
func TestPayloadsNeedTheirScope(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	id := s.Enqueue(map[string]any{"kind": "mail", "args": map[string]any{"card": "secret"}, "metadata": map[string]any{"m": "secret"}})
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.JobsRead}})
	for _, path := range []string{"/jobs/" + id, "/jobs", "/jobs/" + id + "/result"} {
		if a := s.Do(get, path, nil); strings.Contains(a.Text, "secret") || a.Status >= http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, a.Status, a.Text)
		}
	}
	if job := s.OK(http.StatusOK, get, "/jobs/"+id, nil); !strings.Contains(job.Text, `"args":{"hidden":"payloads:read"}`) {
		t.Errorf("%s", job.Text)
	}
	for _, filter := range []string{ // which would tell by guesses
		"args=card%3D1", "metadata=m%3D1", "q=args.card:secret", "q=metadata.m:secret", "attribute=a%3D1", "q=attr.a:1",
	} {
		s.Refused(http.StatusForbidden, "forbidden", get, "/jobs?"+filter, nil)
		s.Refused(http.StatusForbidden, "forbidden", get, "/jobs/count?"+filter, nil)
	}
	s.Refused(http.StatusForbidden, "forbidden", post, "/jobs", `{"kind":"mail"}`)
}

// TestExecNeedsItsScope: whoever must not run commands enqueues no job of the kind exec, in
// whichever way.
func TestExecNeedsItsScope(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	exec := s.Enqueue(map[string]any{
		"kind": "exec", "args": map[string]any{"command": []string{"true"}}, "delay": "1h", "unique": map[string]any{"key": "backup"},
	})
	s.As(access.Principal{Name: "operator", Scopes: []access.Scope{access.JobsRead, access.JobsWrite, access.PayloadsRead}})
	s.Refused(http.StatusForbidden, "forbidden", post, "/jobs", `{"kind":"exec"}`)
	s.Refused(http.StatusForbidden, "forbidden", post, "/jobs/batch", `{"jobs":[{"kind":"a"},{"kind":"exec"}]}`)
	s.Refused(http.StatusForbidden, "forbidden", post, "/jobs", `{"kind":"a","follow_ups":[{"on":"any","job":{"kind":"exec"}}]}`)
	s.Refused(http.StatusForbidden, "forbidden", patch, "/jobs/"+exec, `{"args":{"command":["rm"]}}`)
	s.Refused(http.StatusForbidden, "forbidden", post, "/jobs/"+exec+"/fork", `{"args":{"command":["rm"]}}`)
	s.Refused(http.StatusForbidden, "forbidden", post, "/jobs/"+exec+"/continue-as-new", `{"args":{"command":["rm"]}}`)
	// A unique key of its own is the same for all kinds; only jobs of the same kind are replaced.
	replace := `{"kind":"mail","args":{"command":["rm"]},"unique":{"key":"backup","on_conflict":"replace"}}`
	s.OK(http.StatusOK, post, "/jobs", replace)
	s.OK(http.StatusOK, post, "/jobs/batch", `{"jobs":[`+replace+`]}`)
	if job := s.OK(http.StatusOK, get, "/jobs/"+exec, nil); strings.Contains(job.Text, "rm") {
		t.Errorf("what runs is changed: %s", job.Text)
	}
	s.OK(http.StatusOK, post, "/jobs/"+exec+"/cancel", nil)
	if n := len(itemsOf(s, "/jobs")); n != 1 {
		t.Errorf("%d jobs are there", n)
	}
}

// TestLogs: what a handler has logged, and what it remembers.
func TestLogs(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		durable := holdfast.NewKind[int, int]("durable")
		err := durable.Handle(s.Client, func(run *holdfast.Run, n int) (int, error) {
			run.Logger(slog.New(slog.DiscardHandler)).Info("it begins", "n", n)
			return holdfast.Step(run, "double", func(context.Context) (int, error) { return 2 * n, nil })
		})
		if err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		id := s.Enqueue(map[string]any{"kind": "durable", "args": 21})
		s.OK(http.StatusOK, get, "/jobs/"+id+"/result?wait=1m", nil)
		lines := itemsOf(s, "/jobs/"+id+"/logs")
		if len(lines) != 1 || lines[0]["message"] != "it begins" || lines[0]["level"] != "info" {
			s.Errorf("it has logged %v", lines)
		}
		entries := itemsOf(s, "/jobs/"+id+"/journal")
		if len(entries) == 0 || entries[0]["kind"] != "step" || entries[0]["name"] != "double" || entries[0]["seq"] != "1" {
			data, _ := json.Marshal(entries)
			s.Errorf("it remembers %s", data)
		}
		first := s.OK(http.StatusOK, get, "/jobs/"+id+"/journal?limit=1", nil)
		if next, ok := first.JSON["next_cursor"].(string); ok {
			if rest := itemsOf(s, "/jobs/"+id+"/journal?cursor="+next); len(rest) != len(entries)-1 {
				s.Errorf("after %s there are %d", next, len(rest))
			}
		}
		s.Refused(http.StatusUnprocessableEntity, "invalid", get, "/jobs/"+id+"/journal?cursor=x", nil)
	})
}

package workers_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestLife: a worker gets a job and completes it, and leaves.
func TestLife(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, mail)
		id := s.Enqueue(job{"kind": "mail", "args": job{"n": 1}, "tags": []string{"a"}, "metadata": job{"m": 2}})
		s.Enqueue(job{"kind": "other"})
		j := w.one()
		args, _ := j["args"].(job)
		if text(j, "id") != id || args["n"] != 1.0 || j["attempt"] != 1.0 || j["max_attempts"] != 25.0 || text(j, "queue") != "default" || j["durable"] != false {
			s.Errorf("the worker gets %v", j)
		}
		wantState(s, id, "running")
		s.OK(200, post, run(j, "progress"), `{"percent":50,"message":"half","value":{"at":7}}`)
		a := s.OK(200, post, run(j, "complete"), `{"result":{"ok":true}}`)
		if a.JSON["state"] != "completed" || a.JSON["job"] != id {
			s.Errorf("completed: %s", a.Text)
		}
		result, _ := s.OK(200, get, "/jobs/"+id+"/result", nil).JSON["result"].(job)
		if result["ok"] != true {
			s.Errorf("the result is %v", result)
		}
		if more := w.poll(5, "0s"); len(more) != 0 {
			s.Errorf("the worker gets %v", more)
		}
		s.Enqueue(job{"kind": "mail"})
		left := w.one()
		s.OK(200, post, "/workers/"+w.token+"/leave", nil)
		s.OK(200, post, "/workers/"+w.token+"/leave", nil)
		wantState(s, text(left, "id"), "available")
		s.Refused(410, "worker_gone", post, "/workers/"+w.token+"/poll", `{"want":1,"seq":9}`)
		s.Refused(410, "worker_gone", post, "/workers/"+w.token+"/beat", `{}`)
		s.Refused(409, "lease_lost", post, run(left, "complete"), `{}`)
		s.Refused(409, "lease_lost", post, run(left, "progress"), `{"percent":1}`)
	})
}

// TestOutcomes: each way to end a run, at another server, and again after a lost answer.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, mail)
		for _, c := range []struct{ verb, body, state, why string }{
			{"complete", `{"result":[1]}`, "completed", ""},
			{"complete", `{}`, "completed", ""},
			{"fail", `{"error":"boom","kind":"ValueError","stack":"at line 1"}`, "retryable", "ValueError: boom"},
			{"fail", `{"error":"boom","retry_after":"1h"}`, "retryable", "boom"},
			{"fail", `{"error":"no use","permanent":true}`, "failed", "no use"},
			{"snooze", `{"for":"1h","reason":"too early"}`, "scheduled", ""},
			{"snooze", `{"until":"2999-01-01T00:00:00Z"}`, "scheduled", ""},
			{"cancel", `{"reason":"enough"}`, "cancelled", "enough"},
			{"cancel", `{}`, "cancelled", ""},
			{"release", `{}`, "available", ""},
		} {
			id := s.Enqueue(job{"kind": "mail"})
			j := w.one()
			a := other.OK(200, post, run(j, c.verb), c.body)
			if a.JSON["state"] != c.state || a.JSON["job"] != id {
				s.Errorf("%s %s: %s", c.verb, c.body, a.Text)
			}
			is, why := state(s, id)
			if is != c.state || c.why != "" && why != c.why {
				s.Errorf("after %s %s the job is %s, %q", c.verb, c.body, is, why)
			}
			again := strings.Replace(c.body, "{", `{"repeat":true,`, 1)
			again = strings.Replace(again, ",}", "}", 1)
			if a := s.OK(200, post, run(j, c.verb), again); a.JSON["state"] != c.state {
				s.Errorf("%s again: %s", c.verb, a.Text)
			}
			s.Refused(409, "lease_lost", post, run(j, c.verb), c.body)
		}
		exhausted := s.Enqueue(job{"kind": "mail", "max_attempts": 1, "queue": "q"})
		jobs := w.poll(5, "0s") // with the one that was released
		for _, j := range jobs {
			s.OK(200, post, run(j, "fail"), `{"error":"boom"}`)
		}
		if len(jobs) != 2 {
			s.Errorf("the worker gets %v", jobs)
		}
		wantState(s, exhausted, "failed")
		if j := s.OK(200, get, "/jobs/"+exhausted, nil).JSON; j["reason"] != "attempts_exhausted" || j["fingerprint"] == nil {
			s.Errorf("without an attempt left: %v, %v", j["reason"], j["fingerprint"])
		}
	})
}

// TestBackoff: a failure waits as the job's enqueue says, or its queue.
func TestBackoff(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	w := register(s, mail)
	s.OK(200, http.MethodPatch, "/queues/slow", `{"backoff":{"base":"2h","cap":"2h"}}`, "If-Match", "*")
	for queue, want := range map[string]time.Duration{"default": time.Second, "slow": 2 * time.Hour} {
		s.Enqueue(job{"kind": "mail", "queue": queue})
		a := s.OK(200, post, run(w.one(), "fail"), `{"error":"boom"}`)
		due, err := time.Parse(time.RFC3339, text(a.JSON, "due"))
		if wait := time.Until(due); err != nil || wait > want*5/4+time.Second || wait < want-2*time.Second {
			s.Errorf("in the queue %s it waits for %v (%v)", queue, wait, err)
		}
	}
}

// TestWrong: what is wrong with requests is told.
func TestWrong(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for body, at := range map[string]string{
		`{"kinds":["mail"],"slots":1}`:                                                          "/name",
		`{"name":"w","kinds":[],"slots":1}`:                                                     "/kinds",
		`{"name":"w","kinds":["mail","mail"],"slots":1}`:                                        "/kinds/1",
		`{"name":"w","kinds":["holdfast.operation"],"slots":1}`:                                 "/kinds/0",
		`{"name":"w","kinds":["a@b@c","@1"],"slots":1}`:                                         "/kinds/1",
		`{"name":"w","kinds":["mail"],"slots":0}`:                                               "/slots",
		`{"name":"w","kinds":["mail"],"slots":1001}`:                                            "/slots",
		`{"name":"w","kinds":["mail"],"slots":1,"queues":["q","q"]}`:                            "/queues/1",
		`{"name":"w","kinds":["mail"],"slots":1,"queues":["\u0000"]}`:                           "/queues/0",
		`{"name":"w\u0001","kinds":["mail"],"slots":1}`:                                         "/name",
		`{"name":"w","kinds":["mail"],"slots":1,"dead_after":"10ms"}`:                           "/dead_after",
		`{"name":"w","kinds":["mail"],"slots":1,"dead_after":"soon"}`:                           "/dead_after",
		`{"name":"w","kinds":["mail"],"slots":1,"colour":"red"}`:                                "/colour",
		`{"name":"w","kinds":"mail","slots":1}`:                                                 "/kinds",
		`{"name":"w","kinds":["mail"],"slots":1,"namespace":"` + "\u0001" + `"}`:                "",
		`{"name":"w","kinds":["mail"],"slots":1,"version":"` + `\u0002` + `"}`:                  "/version",
		`{"name":"w","kinds":["mail"],"slots":1,"queues":["` + strings.Repeat("q", 201) + `"]}`: "/queues/0",
	} {
		a := s.Do(post, "/workers", body)
		errors, _ := a.JSON["errors"].([]any)
		if a.Status != 422 && a.Status != 400 || a.Status == 422 && (len(errors) == 0 || errors[0].(job)["pointer"] != at) {
			s.Errorf("%s: %d %s", body, a.Status, a.Text)
		}
	}
	w := register(s, mail)
	id := s.Enqueue(job{"kind": "mail"})
	j := w.one()
	s.Refused(422, "invalid", post, "/workers/"+w.token+"/poll", `{"want":6,"seq":2}`)
	s.Refused(422, "invalid", post, "/workers/"+w.token+"/poll", `{"want":1,"seq":0}`)
	s.Refused(422, "invalid", post, "/workers/"+w.token+"/poll?wait=2m", `{"want":1,"seq":2}`)
	for body, at := range map[string]string{
		`{"result":"\u0000"}`:                             "/result",
		`{"result":"` + strings.Repeat("x", 1<<20) + `"}`: "/result",
	} {
		if got := s.Refused(422, "invalid", post, run(j, "complete"), body); got != at {
			s.Errorf("complete: %s", got)
		}
	}
	s.Refused(413, "too_large", post, run(j, "complete"), `{"result":"`+strings.Repeat("x", 5<<20)+`"}`)
	s.Refused(400, "malformed", post, run(j, "complete"), `{"result":`)
	for body, at := range map[string]string{
		`{}`: "/error", `{"error":""}`: "/error", `{"error":"e","retry_after":"-1s"}`: "/retry_after",
		`{"error":"e","permanent":true,"retry_after":"1s"}`: "/retry_after",
	} {
		if got := s.Refused(422, "invalid", post, run(j, "fail"), body); got != at {
			s.Errorf("fail %s: %s", body, got)
		}
	}
	for _, body := range []string{`{}`, `{"for":"1s","until":"2999-01-01T00:00:00Z"}`, `{"for":"-1s"}`} {
		s.Refused(422, "invalid", post, run(j, "snooze"), body)
	}
	s.Refused(422, "invalid", post, run(j, "progress"), `{"percent":101}`)
	for _, token := range []string{"x", "hfr_", "hfr_AAAA", text(j, "lease") + "A", w.token, flip(text(j, "lease"))} {
		s.Refused(404, "not_found", post, "/runs/"+token+"/complete", `{}`)
		s.Refused(404, "not_found", post, "/workers/"+token+"x/poll", `{"want":1,"seq":2}`)
	}
	s.Refused(404, "not_found", post, "/workers/"+text(j, "lease")+"/beat", `{}`)
	s.Refused(404, "not_found", post, "/workers/"+flip(w.token)+"/beat", `{}`)
	second := register(s, mail)
	if at := s.Refused(422, "invalid", post, "/workers/"+second.token+"/beat", job{"running": []string{flip(text(j, "lease"))}}); at != "/running/0" {
		s.Errorf("a forged lease: %s", at)
	}
	a := s.OK(200, post, "/workers/"+second.token+"/beat", job{"running": []string{text(j, "lease")}})
	if lost, _ := a.JSON["lost"].([]any); len(lost) != 1 || lost[0] != text(j, "lease") {
		s.Errorf("a lease of another worker, as of one that has registered again, is not lost: %s", a.Text)
	}
	wantState(s, id, "running")
}

// flip changes a letter in the middle of a token.
func flip(token string) string {
	i := len(token) / 2
	c := byte('A')
	if token[i] == c {
		c = 'B'
	}
	return token[:i] + string(c) + token[i+1:]
}

// TestFences: who lacks the scope is refused, and of other namespaces there is nothing.
func TestFences(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, `{"name":"w","namespace":"shop","kinds":["mail"],"slots":5}`)
		s.Enqueue(job{"kind": "mail"})
		s.OK(201, post, "/jobs?namespace=shop", `{"kind":"mail"}`)
		jobs := w.poll(5, "1m")
		if len(jobs) != 1 || text(jobs[0], "namespace") != "shop" {
			s.Fatalf("a worker of shop gets %v", jobs)
		}
		s.Refused(404, "not_found", post, "/workers/"+w.token+"/beat?namespace=default", `{}`)
		s.Refused(404, "not_found", post, run(jobs[0], "complete")+"?namespace=default", `{}`)
		all := access.Everything("tester")
		foreign, viewer := all, all
		foreign.Namespaces = []string{"default"}
		viewer.Scopes = []access.Scope{access.JobsRead, access.JobsWrite}
		s.As(viewer)
		for path, body := range map[string]any{
			"/workers": mail, "/workers/" + w.token + "/poll": `{"want":1,"seq":2}`, "/workers/" + w.token + "/beat": `{}`,
			"/workers/" + w.token + "/leave": nil, run(jobs[0], "complete"): `{}`, run(jobs[0], "fail"): `{"error":"e"}`, run(jobs[0], "snooze"): `{"for":"1s"}`,
			run(jobs[0], "release"): `{}`, run(jobs[0], "cancel"): `{}`, run(jobs[0], "progress"): `{}`,
			"/runs": job{"outcomes": []job{{"lease": text(jobs[0], "lease"), "do": "complete"}}},
		} {
			s.As(viewer)
			s.Refused(403, "forbidden", post, path, body)
			s.As(foreign)
			switch path {
			case "/workers":
				s.Refused(404, "not_found", post, path, `{"name":"w","namespace":"shop","kinds":["mail"],"slots":5}`)
			case "/runs":
				a := s.OK(200, post, path, body)
				if list, _ := a.JSON["runs"].([]any); len(list) != 1 || list[0].(job)["ended"] != nil || list[0].(job)["error"].(job)["code"] != "not_found" {
					s.Errorf("a foreign lease: %s", a.Text)
				}
			default:
				s.Refused(404, "not_found", post, path, body)
			}
		}
		own := all
		own.Namespaces = []string{"shop"}
		s.As(own)
		s.OK(200, post, "/workers/"+w.token+"/beat", job{"running": []string{text(jobs[0], "lease")}})
		if a := s.OK(200, post, run(jobs[0], "complete"), `{}`); a.JSON["state"] != "completed" {
			s.Errorf("at home: %s", a.Text)
		}
		register(s, mail) // without a namespace it is that of the key
		s.As(all)
		nodes := s.OK(200, get, "/nodes?namespace=shop", nil)
		if len(nodes.Items()) != 2 {
			s.Errorf("nodes of shop: %s", nodes.Text)
		}
	})
}

// TestMany: many runs end with one request, each with its own answer.
func TestMany(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, `{"name":"w","kinds":["mail"],"slots":1000}`)
		jobs := make([]job, 150)
		for i := range jobs {
			jobs[i] = job{"kind": "mail"}
		}
		s.OK(200, post, "/jobs/batch", job{"jobs": jobs})
		got := w.poll(240, "1m")
		for len(got) < len(jobs) {
			more := w.poll(240, "1m")
			if len(more) == 0 {
				s.Fatalf("only %d of %d jobs come", len(got), len(jobs))
			}
			got = append(got, more...)
		}
		s.OK(200, post, run(got[0], "complete"), `{}`)
		var outcomes []job
		for _, j := range got {
			outcomes = append(outcomes, job{"lease": text(j, "lease"), "do": "complete", "result": 1})
		}
		outcomes[1] = job{"lease": text(got[1], "lease"), "do": "fail", "error": "boom"}
		outcomes[2] = job{"lease": "hfr_x", "do": "release"}
		outcomes[3] = job{"lease": text(got[3], "lease"), "do": "release", "result": 1}
		outcomes = append(outcomes, job{"lease": text(got[4], "lease"), "do": "release"})
		a := s.OK(200, post, "/runs", job{"outcomes": outcomes})
		runs, _ := a.JSON["runs"].([]any)
		if len(runs) != len(outcomes) {
			s.Fatalf("%d answers: %s", len(runs), a.Text)
		}
		codes := map[int]string{0: "lease_lost", 2: "not_found", 3: "invalid", len(runs) - 1: "invalid"}
		for i, r := range runs {
			problem, _ := r.(job)["error"].(job)
			ended, _ := r.(job)["ended"].(job)
			want := "completed"
			if i == 1 {
				want = "retryable"
			}
			if code := codes[i]; code != "" && (problem["code"] != code || ended != nil) || code == "" && (problem != nil || ended["state"] != want) {
				s.Errorf("outcome %d: %v", i, r)
			}
		}
		s.Refused(422, "invalid", post, "/runs", `{"outcomes":[]}`)
	})
}

// TestNotHandedOut: what was cancelled before it ran, or is late, ends without a worker.
func TestNotHandedOut(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	w := register(s, mail)
	late := s.Enqueue(job{"kind": "mail", "deadline": time.Now().Add(500 * time.Millisecond).UTC().Format(time.RFC3339Nano)})
	time.Sleep(time.Second) //nolint:forbidigo // the store's time is not virtual
	if jobs := w.poll(5, "0s"); len(jobs) != 0 {
		s.Errorf("the worker gets %v", jobs)
	}
	wantState(s, late, "failed")
}

// TestModes: a quiet worker gets nothing, and hears of it; so does one that drains.
func TestModes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	a := s.OK(201, post, "/workers", mail)
	w := &worker{Server: s, token: text(a.JSON, "worker")}
	node := text(a.JSON, "node")
	ask := func(verb string) { s.OK(200, post, "/nodes/"+node+"/"+verb, nil) }
	polled := make(chan apitest.Answer)
	go func() { polled <- s.OK(200, post, "/workers/"+w.token+"/poll?wait=20s", `{"want":1,"seq":1}`) }()
	time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the poll is to wait by then
	ask("quiet")
	if a := <-polled; a.JSON["mode"] != "quiet" {
		s.Errorf("a poll that waits: %s", a.Text)
	}
	s.Enqueue(job{"kind": "mail"})
	w.seq = 1
	if jobs := w.poll(1, "100ms"); len(jobs) != 0 {
		s.Errorf("a quiet worker gets %v", jobs)
	}
	if b := s.OK(200, post, "/workers/"+w.token+"/beat", `{}`); b.JSON["mode"] != "quiet" {
		s.Errorf("a beat: %s", b.Text)
	}
	ask("resume")
	time.Sleep(1100 * time.Millisecond) //nolint:forbidigo // polls beat once a second
	w.one()
	ask("drain")
	time.Sleep(1100 * time.Millisecond) //nolint:forbidigo // as above
	if a := s.OK(200, post, "/workers/"+w.token+"/poll", `{"want":1,"seq":9}`); a.JSON["mode"] != "draining" {
		s.Errorf("a poll: %s", a.Text)
	}
}

// TestRevokedKey: who revokes the key that signs makes all tokens void.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	w := register(s, mail)
	keys := s.OK(200, get, "/keys", nil)
	items := keys.Items()
	if len(items) != 1 || items[0]["id"] != "workers-000001" {
		s.Fatalf("keys: %s", keys.Text)
	}
	s.OK(200, http.MethodDelete, "/keys/workers-000001", nil)
	other := apitest.On(t, s.Source)
	other.Refused(404, "not_found", post, "/workers/"+w.token+"/beat", `{}`)
	again := register(other, mail)
	other.OK(200, post, "/workers/"+again.token+"/beat", `{}`)
}

// TestStopping: polls that wait are answered when the server stops.
func TestStopping(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	w := register(s, mail)
	polled := func(until time.Duration) (*apitest.Server, apitest.Answer) {
		stopping := make(chan struct{})
		stops := s.Again(stopping)
		answers := make(chan apitest.Answer, 1)
		go func() { answers <- stops.Do(post, "/workers/"+w.token+"/poll?wait=1m", `{"want":1,"seq":1}`) }()
		time.Sleep(until) //nolint:forbidigo // nothing tells that a poll waits
		close(stopping)
		select {
		case a := <-answers:
			return stops, a
		case <-time.After(2 * time.Minute):
			t.Fatal("a poll waits on a server that stops")
			return nil, apitest.Answer{}
		}
	}
	until := 200 * time.Millisecond
	stops, a := polled(until)
	for a.Status == http.StatusServiceUnavailable && until < 10*time.Second { // it came when the server had begun to stop
		until *= 2
		stops, a = polled(until)
	}
	if jobs, is := a.JSON["jobs"].([]any); a.Status != http.StatusOK || !is || len(jobs) != 0 {
		t.Errorf("a poll that waits on a server that stops gets %d: %s", a.Status, a.Text)
	}
	stops.Refused(503, "stopping", post, "/workers/"+w.token+"/poll", `{"want":1,"seq":2}`)
	s.Enqueue(job{"kind": "mail"})
	if jobs := w.at(s).pollAs(2, 1, "5s", true); len(jobs) != 1 {
		t.Errorf("at another server it gets %v", jobs)
	}
}

// TestJobsWithAJournal: a job that a Go node has begun, and that has a journal, is no worker's, who
// would end it without what compensates its steps. Another Go node goes on with it.
func TestJobsWithAJournal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		approved := holdfast.NewSignal[int]("approved")
		task := holdfast.NewTask[int]("order")
		var undone, done atomic.Int32
		handle := func(c *holdfast.Client) {
			err := task.Handle(c, func(run *holdfast.Run, _ int) error {
				err := holdfast.Do(run, "charge", func(context.Context) error {
					done.Add(1)
					return nil
				})
				if err != nil {
					return err
				}
				err = run.OnFailure("refund", func(*holdfast.Run) error {
					undone.Add(1)
					return nil
				})
				if err != nil {
					return err
				}
				if _, err := approved.Wait(run); err != nil {
					return err
				}
				return holdfast.Fail(errors.New("no stock"))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		runs := func(c *holdfast.Client) (stop func()) {
			handle(c)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		stop := runs(s.Client)
		made, err := task.Enqueue(t.Context(), s.Client, 1)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // the node has a time of its own
			if is, _ := state(s, made.ID.String()); is == "waiting" || time.Now().After(deadline) {
				break
			}
		}
		stop()
		if _, err := approved.Send(t.Context(), other.Client, made.ID, 1); err != nil {
			t.Fatal(err)
		}
		w := register(other, `{"name":"w","kinds":["order"],"slots":5}`)
		if jobs := w.poll(5, "1s"); len(jobs) != 0 {
			t.Errorf("the worker gets %v", jobs)
		}
		left := other.OK(200, get, "/jobs/"+made.ID.String(), nil)
		if text(left.JSON, "state") != "scheduled" || !strings.Contains(left.Text, "has a journal") {
			t.Errorf("the job is %s", left.Text)
		}
		defer runs(other.Client)()
		if err := task.Wait(t.Context(), other.Client, made.ID); err == nil {
			t.Error("it has completed")
		}
		if done.Load() != 1 || undone.Load() != 1 {
			t.Errorf("charged %d times, refunded %d times", done.Load(), undone.Load())
		}
	})
}

// TestSlotsOfAPollInVain: a poll that is repeated, and wants nothing, keeps no slots of limits.
func TestSlotsOfAPollInVain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", limited)
		w, second := register(s, mail), register(other, mail)
		w.pollAs(1, 0, "0s", true)
		s.Enqueue(job{"kind": "mail"})
		if jobs := second.poll(1, "1m"); len(jobs) != 1 {
			t.Errorf("the second worker gets %v", jobs)
		}
	})
}

// TestLatePoll: a poll that was given up, and comes after its repeat, does not end that.
func TestLatePoll(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, mail)
		for seq := 2; seq < 12; seq++ {
			repeat := make(chan apitest.Answer)
			path := "/workers/" + w.token + "/poll?wait=30s"
			go func() { repeat <- s.Do(post, path, job{"want": 1, "seq": seq, "repeat": true}) }()
			for _, late := range []int{seq - 1, seq, seq} { // these end before the repeat, or are refused
				s.Refused(409, "conflict", post, path, job{"want": 1, "seq": late})
			}
			s.Enqueue(job{"kind": "mail"})
			got, _ := (<-repeat).JSON["jobs"].([]any)
			if len(got) != 1 {
				t.Fatalf("the repeat got %v", got)
			}
			first, _ := got[0].(job)
			s.OK(200, post, run(first, "complete"), `{}`)
		}
	})
}

// TestRepeatsInAnyOrder: of repeats of one poll, such as come all at once from a server that was
// frozen, the worker waits for one; whichever that is, it is told to send it again, and not to end.
func TestRepeatsInAnyOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, mail)
		path := "/workers/" + w.token + "/poll?wait=30s"
		repeat := job{"want": 1, "seq": 2, "repeat": true}
		answers := make(chan apitest.Answer)
		for range 4 {
			go func() { answers <- s.Do(post, path, repeat) }()
		}
		for range 3 {
			if a := <-answers; a.Status != 503 || a.JSON["retryable"] != true {
				t.Errorf("a repeat that another one has ended is answered %d %v", a.Status, a.JSON)
			}
		}
		s.Enqueue(job{"kind": "mail"})
		if got, _ := (<-answers).JSON["jobs"].([]any); len(got) != 1 {
			t.Errorf("the last repeat got %v", got)
		}
	})
}

// TestTokensFitIntoAPath: what would not is refused.
func TestTokensFitIntoAPath(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	kinds := make([]string, 200)
	for i := range kinds {
		kinds[i] = strings.Repeat("k", 90) + strconv.Itoa(i)
	}
	s.Refused(422, "invalid", post, "/workers", job{"name": "w", "kinds": kinds, "slots": 1})
	if a := s.OK(200, get, "/nodes", nil); len(a.Items()) != 1 || a.Items()[0]["alive"] != false {
		t.Error("it is a node all the same")
	}
	a := s.OK(201, post, "/workers", job{"name": "w", "kinds": kinds[:20], "slots": 1, "dead_after": "1h"})
	if text(a.JSON, "beat_every") != "5s" { // the node that leads does not wait for an hour
		t.Errorf("it is to beat after %s", text(a.JSON, "beat_every"))
	}
}

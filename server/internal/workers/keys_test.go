package workers_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

const (
	keyHeader = "Idempotency-Key"
	replayed  = "Idempotency-Replayed"
)

// nodes are the live nodes, by their numbers.
func nodes(s *apitest.Server) map[string]bool {
	s.Helper()
	all := map[string]bool{}
	a := s.OK(200, get, "/nodes?alive=true", nil)
	for _, one := range a.Items() {
		all[text(one, "id")] = true
	}
	return all
}

// TestARegistrationIsRepeated: one that is sent again with its key, to whichever server, answers
// the same worker, whose token is good.
func TestARegistrationIsRepeated(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		body := `{"name":"w","kinds":["mail","post@2"],"queues":["a","b*"],"slots":5,"journal":1,"dead_after":"30s"}`
		first := s.OK(201, post, "/workers", body, keyHeader, "k")
		if first.Header.Get(replayed) != "" {
			s.Error("the first answer is a repeated one")
		}
		for _, at := range []*apitest.Server{s, other} {
			again := at.OK(201, post, "/workers", body, keyHeader, "k")
			if again.Text != first.Text || again.Header.Get(replayed) != "true" {
				s.Errorf("answered %s, and then (%q) %s", first.Text, again.Header.Get(replayed), again.Text)
			}
		}
		if all := nodes(s); len(all) != 1 {
			s.Errorf("of one worker there are the nodes %v", all)
		}
		s.Refused(422, "idempotency_key_reused", post, "/workers", mail, keyHeader, "k")
		s.Refused(422, "idempotency_key_reused", post, "/jobs", `{"kind":"mail"}`, keyHeader, "k")
		if all := nodes(s); len(all) != 1 {
			s.Errorf("after what was refused there are the nodes %v", all)
		}
		id := s.Enqueue(job{"kind": "mail", "queue": "b1"})
		w := &worker{Server: other, token: text(first.JSON, "worker")}
		if j := w.one(); text(j, "id") != id {
			s.Errorf("it got %v", j)
		}
		if a := s.OK(201, post, "/workers", body, keyHeader, "another"); a.JSON["node"] == first.JSON["node"] {
			s.Error("another request has got the same worker")
		}
		s.As(access.Everything("another"))
		if a := s.OK(201, post, "/workers", body, keyHeader, "k"); a.JSON["node"] == first.JSON["node"] {
			s.Error("another caller has got the same worker")
		}
		if all := nodes(s); len(all) != 3 {
			s.Errorf("of three workers there are the nodes %v", all)
		}
	})
}

// TestRegistrationsAtOnce: of registrations with one key that come at once, at two servers, one
// makes the worker that all of them answer. The others leave nothing.
func TestRegistrationsAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		const keys, each = 3, 6
		answers := make([][each]string, keys)
		var all sync.WaitGroup
		for k := range keys {
			for i := range each {
				at := []*apitest.Server{s, other}[i%2]
				all.Go(func() {
					a := at.Do(post, "/workers", mail, keyHeader, fmt.Sprint("at once ", k))
					if a.Status != 201 {
						s.Errorf("answered %s", a.Text)
					}
					answers[k][i] = text(a.JSON, "node")
				})
			}
		}
		all.Wait()
		live, told := nodes(s), map[string]bool{}
		for _, nodes := range answers {
			for _, node := range nodes {
				if node != nodes[0] || !live[node] {
					s.Errorf("one request has the nodes %v; live are %v", nodes, live)
				}
				told[node] = true
			}
		}
		if len(told) != keys || len(live) != keys {
			s.Errorf("%d workers have the nodes %v; live are %v", keys, told, live)
		}
	})
}

// TestARegistrationOfWhoIsGone: the key is that of one worker, also when that is gone.
func TestARegistrationOfWhoIsGone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		first := s.OK(201, post, "/workers", mail, keyHeader, "k")
		s.OK(200, post, "/workers/"+text(first.JSON, "worker")+"/leave", "{}")
		for _, at := range []*apitest.Server{s, other} {
			at.Refused(410, "worker_gone", post, "/workers", mail, keyHeader, "k")
			if a := at.Do(post, "/workers", mail, keyHeader, "k"); a.Header.Get(replayed) != "" {
				s.Errorf("that it is gone is told as a repeated answer: %s", a.Text)
			}
		}
		if all := nodes(s); len(all) > 0 {
			s.Errorf("without a worker there are the nodes %v", all)
		}
		second := other.OK(201, post, "/workers", mail, keyHeader, "a new one")
		w := &worker{Server: s, token: text(second.JSON, "worker")}
		s.Enqueue(job{"kind": "mail"})
		w.one()
	})
}

// TestAKeySaysRepeat: whatever a worker sends twice with a key, and without a word of repeat, is
// answered as the first one was.
func TestAKeySaysRepeat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, `{"name":"w","kinds":["mail"],"slots":20,"journal":1}`)
		seq := 0
		twice := func(path string, body any) apitest.Answer {
			s.Helper()
			seq++
			first := s.OK(200, post, path, body, keyHeader, fmt.Sprint("k", seq))
			for _, at := range []*apitest.Server{s, other} {
				again := at.OK(200, post, path, body, keyHeader, fmt.Sprint("k", seq))
				if f, a := first.JSON, again.JSON; f["jobs"] == nil && f["now"] == nil && first.Text != again.Text {
					s.Errorf("%s is answered %s, and then %s", path, first.Text, again.Text)
				} else if f["now"] != nil && fmt.Sprint(f["entries"]) != fmt.Sprint(a["entries"]) {
					s.Errorf("%s has appended %s, and then %s", path, first.Text, again.Text)
				}
			}
			return first
		}
		polls := 0
		polled := func() job {
			s.Helper()
			s.Enqueue(job{"kind": "mail"})
			polls++
			path, body := "/workers/"+w.token+"/poll?wait=5s", job{"want": 1, "seq": polls}
			first := twice(path, body)
			again := other.OK(200, post, path, body, keyHeader, fmt.Sprint("k", seq))
			one, is := first.JSON["jobs"].([]any)
			if same, _ := again.JSON["jobs"].([]any); !is || len(one) != 1 || len(same) != 1 {
				s.Fatalf("poll %d got %s, and then %s", polls, first.Text, again.Text)
			} else if a, b := one[0].(job), same[0].(job); text(a, "lease") != text(b, "lease") {
				s.Errorf("poll %d got %v, and then %v", polls, a, b)
			}
			return one[0].(job)
		}
		for _, c := range []struct{ verb, body string }{
			{"complete", `{"result":1}`},
			{"fail", `{"error":"boom","permanent":true}`},
			{"snooze", `{"until":"2999-01-01T00:00:00Z"}`},
			{"cancel", `{"reason":"enough"}`},
			{"park", `{"until":"2999-01-01T00:00:00Z","waits_for":["timer"]}`},
			{"hold", `{"reason":"other code"}`},
		} {
			j := polled()
			twice(run(j, "progress"), `{"percent":50}`)
			twice("/workers/"+w.token+"/beat", job{"running": []string{text(j, "lease")}})
			twice(run(j, "journal"), `{"after":0,"entries":[{"kind":"step","path":"1","name":"charge","data":1},{"kind":"timer","path":"2","for":"1s"},`+
				`{"kind":"child","path":"3","name":"other","job":{"kind":"other","queue":"q"},"on_close":"abandon"}]}`)
			twice(run(j, c.verb), c.body)
		}
		j := polled()
		twice(run(j, "complete"), `{"journal":{"after":0,"entries":[{"kind":"step","path":"1","name":"charge","data":1}]}}`)
		j = polled()
		twice("/runs", job{"outcomes": []job{{"lease": text(j, "lease"), "do": "complete"}}})
		j = polled()
		twice(run(j, "release"), `{}`)
		twice("/workers/"+w.token+"/leave", `{}`)
		if a := s.OK(200, get, "/jobs?kind=other", nil); len(a.Items()) != 6 {
			s.Errorf("6 runs have enqueued the children %s", a.Text)
		}
	})
}

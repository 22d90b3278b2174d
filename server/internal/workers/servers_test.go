package workers_test

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestTwoServers: a worker registers at one server, polls at another one and finishes at the first;
// its next polls may come to either.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, mail)
		for i := range 6 {
			at, back := s, other
			if i%2 == 0 {
				at, back = other, s
			}
			id := at.Enqueue(job{"kind": "mail"})
			here := w.at(at)
			j := here.one()
			w.seq = here.seq
			if text(j, "id") != id {
				s.Errorf("the worker gets %v", j)
			}
			a := at.OK(200, post, "/workers/"+w.token+"/beat", job{"running": []string{text(j, "lease")}})
			if lost, _ := a.JSON["lost"].([]any); len(lost) != 0 {
				s.Errorf("a run is lost: %s", a.Text)
			}
			back.OK(200, post, run(j, "complete"), `{}`)
			wantState(s, id, "completed")
		}
	})
}

// TestLostAnswer: a poll that is repeated, at any server, answers what was claimed, and claims
// nothing else; one that had not claimed anything claims.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, `{"name":"w","kinds":["mail"],"slots":200}`)
		for range 10 {
			s.Enqueue(job{"kind": "mail"})
		}
		first := w.poll(4, "1m")
		if len(first) != 4 {
			s.Fatalf("a poll got %d jobs", len(first))
		}
		for _, at := range []*apitest.Server{s, other, s} {
			again := w.at(at).pollAs(w.seq, 4, "5s", true)
			if len(again) != 4 {
				s.Fatalf("repeated it got %d jobs", len(again))
			}
			for i := range again {
				if text(again[i], "id") != text(first[i], "id") || text(again[i], "lease_number") != "1" {
					s.Errorf("repeated it got %v", again[i])
				}
			}
		}
		s.OK(200, post, run(first[0], "complete"), `{}`)
		if again := w.at(other).pollAs(w.seq, 4, "5s", true); len(again) != 3 || text(again[0], "id") != text(first[1], "id") {
			s.Errorf("with one done, repeated it got %v", again)
		}
		w.seq++
		if jobs := w.at(other).pollAs(w.seq, 4, "5s", true); len(jobs) != 4 {
			s.Errorf("a poll that never arrived got %d jobs when it was repeated", len(jobs))
		}
		if jobs := w.poll(4, "1m"); len(jobs) != 2 {
			s.Errorf("the next one got %d jobs", len(jobs))
		}
		if jobs := w.at(other).pollAs(w.seq+1, 4, "0s", false); len(jobs) != 0 {
			s.Errorf("nothing is left, and a poll got %d jobs", len(jobs))
		}
	})
}

// TestTwoAtOnce: while a server waits for a worker that has gone to another one with the same poll,
// both may claim, and no job goes to both. One that comes after the other has claimed is a repeat
// of it, and gets the same job: that both wait nothing tells, so the time for it grows.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		for pause := 300 * time.Millisecond; ; pause *= 2 {
			w := register(s, mail)
			got := make(chan []job, 2)
			go func() { got <- w.pollAs(1, 1, "30s", false) }()
			time.Sleep(pause) //nolint:forbidigo // the poll is to wait by then
			go func() { got <- w.at(other).pollAs(1, 1, "30s", true) }()
			time.Sleep(pause) //nolint:forbidigo // as above
			first := s.Enqueue(job{"kind": "mail"})
			second := other.Enqueue(job{"kind": "mail"})
			jobs := map[string]job{}
			for range 2 {
				for _, j := range <-got {
					jobs[text(j, "id")] = j
				}
			}
			for _, j := range jobs {
				s.OK(200, post, run(j, "complete"), `{}`)
			}
			if jobs[first] == nil || jobs[second] == nil {
				if len(jobs) == 1 && pause < 5*time.Second { // both have got it
					left := w.pollAs(2, 1, "5s", false)
					s.OK(200, post, run(left[0], "complete"), `{}`)
					continue
				}
				s.Fatalf("the polls got %v", jobs)
			}
			third := s.Enqueue(job{"kind": "mail"})
			if jobs := w.at(s).pollAs(2, 1, "5s", false); len(jobs) != 1 || text(jobs[0], "id") != third {
				s.Errorf("the next poll got %v", jobs)
			}
			return
		}
	})
}

// TestRepeatedAtTwoServers: of a poll that is repeated at two servers at once no answer has a job
// that is not claimed.
func TestRepeatedAtTwoServers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, mail)
		for seq := 1; seq <= 200; seq++ {
			s.Enqueue(job{"kind": "mail"})
			answers := make(chan apitest.Answer, 2)
			for _, at := range []*apitest.Server{s, other} {
				go func() {
					answers <- at.Do(post, "/workers/"+w.token+"/poll", map[string]any{"want": 1, "seq": seq, "repeat": true})
				}()
			}
			for range 2 {
				list, _ := (<-answers).JSON["jobs"].([]any) // one may be refused, and is to be repeated
				for _, one := range list {
					j, _ := one.(job)
					if a := s.Do(post, run(j, "complete"), `{"repeat":true}`); a.Status != http.StatusOK {
						t.Errorf("poll %d has handed out a job that is not the worker's: %d %s", seq, a.Status, a.Text)
					}
				}
			}
		}
	})
}

// TestAgainHere: a poll ends the one before at the same server.
func TestAgainHere(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	ended := func(until time.Duration) apitest.Answer {
		w := register(s, mail)
		first := make(chan apitest.Answer, 1)
		go func() { first <- s.Do(post, "/workers/"+w.token+"/poll?wait=5s", `{"want":1,"seq":1}`) }()
		time.Sleep(until) //nolint:forbidigo // nothing tells that a poll waits
		if jobs := w.pollAs(1, 1, "0s", true); len(jobs) != 0 {
			t.Errorf("it gets %v", jobs)
		}
		return <-first
	}
	until := 300 * time.Millisecond
	a := ended(until)
	for a.Status == http.StatusOK && until < 5*time.Second { // it came after the second one, or was over by then
		until *= 2
		a = ended(until)
	}
	if a.Status != http.StatusConflict || a.JSON["code"] != "conflict" {
		t.Errorf("the one before is answered %d %s", a.Status, a.Text)
	}
}

// TestWaits: a poll that waits is woken by an enqueue, here and at another server, by the end of a
// pause, and answered when its time is over.
func TestWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, `{"name":"w","kinds":["mail"],"queues":["a","b-*"],"slots":5}`)
		s.OK(200, post, "/queues/a/pause", `{"reason":"no"}`)
		waits := func(do func()) (got []job, took time.Duration) {
			polled := make(chan []job)
			go func() { polled <- w.poll(5, "20s") }()
			time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the poll is to wait by then
			began := time.Now()
			do()
			got = <-polled
			return got, time.Since(began)
		}
		s.Enqueue(job{"kind": "mail", "queue": "a"})
		s.Enqueue(job{"kind": "mail", "queue": "c"})
		for what, do := range map[string]func(){
			"an enqueue here":          func() { s.Enqueue(job{"kind": "mail", "queue": "b-1"}) },
			"an enqueue elsewhere":     func() { other.Enqueue(job{"kind": "mail", "queue": "b-2"}) },
			"the end of a pause there": func() { other.OK(200, post, "/queues/a/resume", nil) },
		} {
			jobs, took := waits(do)
			if len(jobs) != 1 || took > 15*time.Second {
				s.Errorf("%s: %d jobs after %v", what, len(jobs), took)
			}
		}
		began := time.Now()
		if jobs := w.poll(5, "300ms"); len(jobs) != 0 || time.Since(began) < 250*time.Millisecond || time.Since(began) > 10*time.Second {
			s.Errorf("a poll that waits in vain got %d jobs after %v", len(jobs), time.Since(began))
		}
	})
}

// TestManyWaiting: jobs that come together reach all the workers that wait.
func TestManyWaiting(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	const n = 8
	got := make(chan int, n)
	for range n {
		w := register(s, mail)
		go func() { got <- len(w.poll(1, "20s")) }()
	}
	time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the polls are to wait by then
	jobs := make([]job, n)
	for i := range jobs {
		jobs[i] = job{"kind": "mail"}
	}
	began := time.Now()
	s.OK(200, post, "/jobs/batch", job{"jobs": jobs})
	for range n {
		if <-got != 1 {
			s.Error("a poll got nothing")
		}
	}
	if took := time.Since(began); took > 15*time.Second {
		s.Errorf("it took %v", took)
	}
}

// TestBeat: a beat tells which runs to stop, and which are lost.
func TestBeat(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, mail)
		for range 3 {
			s.Enqueue(job{"kind": "mail"})
		}
		jobs := w.poll(3, "1m")
		leases := []string{text(jobs[0], "lease"), text(jobs[1], "lease"), text(jobs[2], "lease")}
		s.OK(200, post, "/jobs/"+text(jobs[0], "id")+"/cancel", `{"reason":"not needed"}`)
		s.OK(200, post, "/jobs/"+text(jobs[1], "id")+"/terminate", `{"reason":"at once"}`)
		a := other.OK(200, post, "/workers/"+w.token+"/beat", job{"running": leases})
		cancel, _ := a.JSON["cancel"].([]any)
		lost, _ := a.JSON["lost"].([]any)
		if len(cancel) != 1 || cancel[0].(job)["lease"] != leases[0] || cancel[0].(job)["reason"] != "not needed" || len(lost) != 1 || lost[0] != leases[1] ||
			a.JSON["mode"] != "running" {
			s.Errorf("the beat tells %s", a.Text)
		}
		s.OK(200, post, run(jobs[0], "fail"), `{"error":"interrupted"}`)
		if is, why := state(s, text(jobs[0], "id")); is != "cancelled" || why != "not needed" {
			s.Errorf("a run that fails as it was cancelled: %s %q", is, why)
		}
		s.Refused(409, "lease_lost", post, run(jobs[1], "complete"), `{}`)
		s.OK(200, post, run(jobs[2], "complete"), `{}`)
	})
}

// promote makes due jobs available, as a node does.
func promote(s *apitest.Server) {
	s.Helper()
	if _, err := maintain.Once(s.Context(), s.Client, 10*time.Second, maintain.Promote); err != nil {
		s.Fatal(err)
	}
}

// TestUnlisted: what a worker holds and does not list is given up, and runs again; not so what an
// answer has that is under way.
func TestUnlisted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	w := register(s, `{"name":"w","kinds":["mail"],"slots":5,"dead_after":"1s"}`)
	id := s.Enqueue(job{"kind": "mail"})
	kept := s.Enqueue(job{"kind": "mail", "queue": "kept"})
	jobs := w.poll(5, "1m")
	lease := text(jobs[0], "lease")
	if text(jobs[0], "id") == id {
		lease = text(jobs[1], "lease")
	}
	beat := func(body job) { s.OK(200, post, "/workers/"+w.token+"/beat", body) }
	for range 8 { // twice two beats
		beat(job{"running": []string{lease}, "polling": 1})
		time.Sleep(150 * time.Millisecond) //nolint:forbidigo // the servers' time is not virtual
	}
	wantState(s, id, "running")
	beat(job{"running": []string{lease}, "polling": 2})
	time.Sleep(700 * time.Millisecond) //nolint:forbidigo // as above
	beat(job{"running": []string{lease}})
	wantState(s, id, "retryable")
	wantState(s, kept, "running")
	promote(s)
	if j := w.one(); text(j, "id") != id || j["attempt"] != 2.0 {
		s.Errorf("it runs again as %v", j)
	}
}

// TestSilence: a worker that is silent is declared dead, and its jobs run elsewhere.
func TestSilence(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, `{"name":"w","kinds":["mail"],"slots":5,"dead_after":"1s"}`)
		id := s.Enqueue(job{"kind": "mail"})
		j := w.one()
		for deadline := time.Now().Add(5 * time.Minute); ; {
			if _, err := maintain.Once(s.Context(), other.Client, 3*time.Second, maintain.Rescue); err != nil && s.Context().Err() != nil {
				s.Fatal(err)
			}
			if is, _ := state(s, id); is != "running" || time.Now().After(deadline) {
				break
			}
		}
		wantState(s, id, "retryable")
		promote(s)
		s.Refused(410, "worker_gone", post, "/workers/"+w.token+"/beat", job{"running": []string{text(j, "lease")}})
		s.Refused(410, "worker_gone", post, "/workers/"+w.token+"/poll", `{"want":1,"seq":2}`)
		s.Refused(409, "lease_lost", post, run(j, "complete"), `{}`)
		if again := register(other, mail).one(); text(again, "id") != id {
			s.Errorf("it runs as %v", again)
		}
	})
}

// TestServerDies: a server that has handed out a job is gone, and the job ends at another one.
func TestServerDies(t *testing.T) { //nolint:tparallel // its server is gone before it goes on
	t.Parallel()
	db := sqlite.File(filepath.Join(t.TempDir(), "api.db"))
	s := apitest.On(t, db)
	var w *worker
	var j job
	t.Run("server", func(t *testing.T) { //nolint:paralleltest // it ends before the test goes on
		dies := apitest.On(t, db)
		w = register(dies, mail)
		s.Enqueue(job{"kind": "mail"})
		j = w.one()
	})
	w = w.at(s)
	if again := w.pollAs(1, 1, "1s", true); len(again) != 1 || text(again[0], "id") != text(j, "id") {
		t.Errorf("the other server repeats %v", again)
	}
	s.OK(200, post, run(j, "complete"), `{}`)
	s.Enqueue(job{"kind": "mail"})
	if next := w.one(); text(next, "id") == text(j, "id") {
		t.Errorf("then comes %v", next)
	}
}

// TestCounts: the node in the server's process counts the runs of workers.
func TestCounts(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, maintain.Only())
	if err := s.Client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := register(s, mail)
	for _, end := range []string{`{"do":"complete"`, `{"do":"complete"`, `{"do":"fail","error":"boom","permanent":true`} {
		s.Enqueue(job{"kind": "mail"})
		lease := text(w.one(), "lease")
		for _, repeat := range []string{"", `,"repeat":true`} {
			s.OK(200, post, "/runs", `{"outcomes":[`+end+`,"lease":"`+lease+`"`+repeat+`}]}`)
		}
	}
	// One whose first request has not arrived counts, too, and once.
	s.Enqueue(job{"kind": "mail"})
	j := w.one()
	for range 2 {
		s.OK(200, post, run(j, "complete"), `{"repeat":true}`)
	}
	if err := s.Client.Stop(t.Context()); err != nil { // the node writes down what it has counted
		t.Fatal(err)
	}
	a := s.OK(200, get, "/stats/jobs?by=queue&step=1h", nil)
	completed, failed := 0, 0
	for _, p := range a.Items() {
		completed, failed = completed+number(p["completed"]), failed+number(p["failed"])
	}
	if completed != 3 || failed != 1 {
		t.Errorf("the counts are %s", a.Text)
	}
}

func number(v any) int {
	s, _ := v.(string)
	n, _ := strconv.Atoi(s)
	return n
}

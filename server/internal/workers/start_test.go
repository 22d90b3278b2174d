package workers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// waiting sends a poll that waits, and returns its answer later.
func (w *worker) waiting(want int, wait string) <-chan []job {
	w.Helper()
	answer := make(chan []job, 1)
	go func() { answer <- w.poll(want, wait) }()
	return answer
}

// startsAtOnce reports whether a job that is enqueued a while after a poll was claimed in the
// commit that stored it, and ends it.
func (w *worker) startsAtOnce(after time.Duration, body job) bool {
	w.Helper()
	answer := w.waiting(1, "1m")
	time.Sleep(after) //nolint:forbidigo // nothing tells that a poll waits
	id := w.Enqueue(body)
	jobs := <-answer
	if len(jobs) != 1 || text(jobs[0], "id") != id {
		w.Fatalf("the poll got %v", jobs)
	}
	w.OK(200, post, run(jobs[0], "complete"), `{}`)
	wantState(w.Server, id, "completed")
	return text(jobs[0], "claimed_at") == text(jobs[0], "created_at")
}

// TestStartsInItsCommit: a job starts on the worker whose poll waits, in the commit of its enqueue.
// The poll may come a moment after the enqueue, so several are tried.
func TestStartsInItsCommit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, mail)
		for i := range 50 {
			if w.startsAtOnce(time.Duration(i)*10*time.Millisecond, job{"kind": "mail"}) {
				return
			}
		}
		s.Error("no job has started in the commit of its enqueue")
	})
}

// TestStartsWait: what has to wait for a claim is claimed, and what must not run does not.
func TestStartsWait(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, mail)
		for i := range 5 {
			if w.startsAtOnce(time.Duration(i)*10*time.Millisecond, job{"kind": "mail", "ordering_key": "k"}) {
				s.Error("a job of an ordering key has started in the commit of its enqueue")
			}
		}

		s.OK(200, post, "/queues/default/pause", `{}`)
		answer := w.waiting(5, "500ms")
		id := s.Enqueue(job{"kind": "mail"})
		if jobs := <-answer; len(jobs) > 0 {
			s.Errorf("of a paused queue the poll got %v", jobs)
		}
		answer = w.waiting(5, "1m")
		s.OK(200, post, "/queues/default/resume", `{}`)
		jobs := <-answer
		if len(jobs) != 1 || text(jobs[0], "id") != id {
			s.Fatalf("after the pause the poll got %v", jobs)
		}
		s.OK(200, post, run(jobs[0], "complete"), `{}`)

		s.OK(201, http.MethodPut, "/limits/one", `{"capacity":1,"kinds":{"mail":1}}`)
		w = register(s, mail) // its first poll knows of the limit
		s.Enqueue(job{"kind": "mail"})
		first := w.one()
		answer = w.waiting(1, "300ms")
		s.Enqueue(job{"kind": "mail"})
		if jobs := <-answer; len(jobs) > 0 {
			s.Errorf("without a slot the poll got %v", jobs)
		}
		answer = w.waiting(1, "1m")
		s.OK(200, post, run(first, "complete"), `{}`)
		if jobs := <-answer; len(jobs) != 1 {
			s.Errorf("with a slot the poll got %v", jobs)
		}
	})
}

// TestStartsOfCutOffPolls: polls are cut off at any moment, and repeated, while jobs are enqueued
// one by one: each job runs once.
func TestStartsOfCutOffPolls(t *testing.T) {
	t.Parallel()
	const jobs, workers = 200, 3
	onBoth(t, func(s, other *apitest.Server) {
		servers := []*apitest.Server{s, other}
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		defer stop()
		var all, enqueues sync.WaitGroup
		seen := make(chan job, 2*jobs)
		for i := range workers {
			w := register(servers[i%2], `{"name":"w","kinds":["mail"],"slots":5}`)
			all.Go(func() { w.cutOffPolls(ctx, seen) })
		}
		for i := range 4 {
			enqueues.Go(func() {
				for range jobs / 4 {
					servers[i%2].Enqueue(job{"kind": "mail"})
				}
			})
		}
		known := map[string]bool{}
		for len(known) < jobs && ctx.Err() == nil {
			select {
			case j := <-seen:
				if known[text(j, "id")] || text(j, "lease_number") != "1" {
					t.Errorf("a job runs again: %v", j)
				}
				known[text(j, "id")] = true
			case <-ctx.Done():
				t.Errorf("%d of %d jobs have run", len(known), jobs)
			}
		}
		stop()
		enqueues.Wait()
		all.Wait()
	})
}

// cutOffPolls polls and runs jobs until ctx ends. Each poll may be cut off before it is answered.
func (w *worker) cutOffPolls(ctx context.Context, seen chan<- job) {
	for seq := 1; ctx.Err() == nil; seq++ {
		var got []job
		for tries := 0; ; tries++ {
			patience := time.Duration(rand.Int64N(int64(20 * time.Millisecond)))
			if tries > 3 {
				patience = 10 * time.Second
			}
			jobs, answered := w.cutOff(ctx, patience, job{"want": 5, "seq": seq, "repeat": tries > 0})
			if answered {
				got = jobs
				break
			}
			if ctx.Err() != nil {
				return
			}
		}
		for _, j := range got {
			w.OK(200, post, run(j, "complete"), `{}`)
			seen <- j
		}
	}
}

// cutOff polls, and breaks off if there is no answer in time.
func (w *worker) cutOff(ctx context.Context, patience time.Duration, body job) (jobs []job, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		w.Error(err)
		return nil, false
	}
	r, err := http.NewRequestWithContext(ctx, post, w.URL+"/api/v1/workers/"+w.token+"/poll?wait=100ms", bytes.NewReader(data))
	if err != nil {
		w.Error(err)
		return nil, false
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, false
	}
	defer response.Body.Close()
	data, err = io.ReadAll(response.Body)
	if err != nil {
		return nil, false
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusConflict, http.StatusServiceUnavailable: // one that was cut off has come later
		return nil, false
	default:
		w.Errorf("a poll is answered %s: %s", response.Status, data)
	}
	var answer struct {
		Jobs []job `json:"jobs"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		w.Error(err)
	}
	return answer.Jobs, true
}

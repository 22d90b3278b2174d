//go:build soak

package workers_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// weights are the slots that jobs take of the limit in these tests.
var weights = map[string]int{"mail": 1, "big": 2, "free": 0}

// running is how many slots the jobs take that run as the database says.
func running(s *apitest.Server) (slots int) {
	s.Helper()
	a := s.OK(200, get, "/jobs?state=running&limit=200", nil)
	for _, j := range a.Items() {
		slots += weights[text(j, "kind")]
	}
	return slots
}

// enqueueAll enqueues jobs of all kinds.
func enqueueAll(s *apitest.Server, each int) (n int) {
	s.Helper()
	var jobs []job
	for range each {
		for kind := range weights {
			jobs = append(jobs, job{"kind": kind, "queue": fmt.Sprintf("q%d", rand.IntN(3))})
		}
	}
	s.OK(200, http.MethodPost, "/jobs/batch", job{"jobs": jobs})
	return len(jobs)
}

// TestLimitsHold: whatever polls come, at whichever server, repeated or not, the jobs that run
// never take more slots than there are, and all of them run in the end.
func TestLimitsHold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", limited)
		n := enqueueAll(s, 8)
		servers := []*apitest.Server{s, other}
		workers := []*worker{register(s, three), register(other, three)}
		held := make([][]job, len(workers))
		most, done := 0, 0
		for step := 0; done < n; step++ {
			if step > 2000 {
				s.Fatalf("after %d steps %d of %d jobs have ended; %d slots are taken", step, done, n, running(s))
			}
			i := rand.IntN(len(workers))
			w := workers[i].at(servers[rand.IntN(2)])
			if rand.IntN(3) > 0 && len(held[i]) < 6 {
				workers[i].seq++
				jobs := w.pollAs(workers[i].seq, 1+rand.IntN(6-len(held[i])), "50ms", rand.IntN(4) == 0)
				if again := rand.IntN(4); again == 0 { // the answer is lost
					jobs = workers[i].at(servers[rand.IntN(2)]).pollAs(workers[i].seq, 6-len(held[i]), "0s", true)
				}
				held[i] = append(held[i], jobs...)
				now := running(s)
				if most = max(most, now); now > capacity {
					s.Fatalf("after %d steps jobs run that take %d slots of %d", step, now, capacity)
				}
				continue
			}
			if len(held[i]) > 0 {
				w.OK(200, post, run(held[i][0], "complete"), `{}`)
				held[i] = held[i][1:]
				done++
			}
		}
		if most != capacity {
			s.Errorf("never more than %d slots of %d were in use", most, capacity)
		}
	})
}

// TestLimitsHoldTogether: the same with workers that poll and work at the same time, and wait.
func TestLimitsHoldTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", limited)
		n := int64(enqueueAll(s, 10))
		var runs, done atomic.Int64
		var all sync.WaitGroup
		var mu sync.Mutex
		most := int64(0)
		deadline := time.Now().Add(5 * time.Minute)
		for i := range 4 {
			w := register([]*apitest.Server{s, other}[i%2], three)
			all.Go(func() {
				for done.Load() < n && time.Now().Before(deadline) {
					for _, j := range w.poll(1+i%3, "1s") {
						slots := int64(weights[text(j, "kind")])
						now := runs.Add(slots)
						mu.Lock()
						most = max(most, now)
						mu.Unlock()
						all.Go(func() {
							time.Sleep(5 * time.Millisecond) //nolint:forbidigo // it works
							runs.Add(-slots)
							w.OK(200, post, run(j, "complete"), `{}`)
							done.Add(1)
						})
					}
				}
			})
		}
		all.Wait()
		if most > capacity || done.Load() < n {
			s.Errorf("jobs ran that took %d slots of %d; %d of %d ended", most, capacity, done.Load(), n)
		}
	})
}

// TestLimitsHoldWithNodes: the same of a worker and a Go node, which both get on. A node that has
// not heard that the worker wants slots finds it with its next look, by when some jobs have run.
func TestLimitsHoldWithNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, node *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", `{"capacity":2,"kinds":{"mail":1},"fair_share":true}`)
		var runs, done atomic.Int64
		var mu sync.Mutex
		most, here, there := int64(0), 0, 0
		begin := func(where *int) {
			now := runs.Add(1)
			mu.Lock()
			defer mu.Unlock()
			most = max(most, now)
			*where++
		}
		err := holdfast.NewTask[job]("mail").Handle(node.Client, func(*holdfast.Run, job) error {
			begin(&there)
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // it works
			runs.Add(-1)
			done.Add(1)
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
		if err := node.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		w := register(s, `{"name":"w","kinds":["mail"],"slots":2}`)
		const some = 15
		n := int64(0)
		for deadline := time.Now().Add(5 * time.Minute); (here < some || there < some) && time.Now().Before(deadline); {
			jobs := make([]job, 10*some)
			for i := range jobs {
				jobs[i] = job{"kind": "mail", "args": job{}}
			}
			s.OK(200, post, "/jobs/batch", job{"jobs": jobs})
			for n += int64(len(jobs)); done.Load() < n && time.Now().Before(deadline); {
				for _, j := range w.poll(2, "500ms") {
					begin(&here)
					time.Sleep(20 * time.Millisecond) //nolint:forbidigo // it works
					runs.Add(-1)
					s.OK(200, post, run(j, "complete"), `{}`)
					done.Add(1)
				}
			}
		}
		if err := node.Client.Stop(s.Context()); err != nil {
			s.Fatal(err)
		}
		if most > 2 || done.Load() < n || here < some || there < some {
			s.Errorf("%d jobs ran at once of at most 2; %d of %d have ended, %d on the worker and %d on the node", most, done.Load(), n, here, there)
		}
	})
}

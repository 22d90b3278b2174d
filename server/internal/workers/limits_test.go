package workers_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

const (
	capacity = 3
	limited  = `{"capacity":3,"kinds":{"mail":1,"big":2}}`
	three    = `{"name":"w","kinds":["mail","big","free"],"slots":6}`
)

// TestSlotsMove: slots that a worker held go to another one when its runs have ended, when it
// leaves, and when it waits for jobs that are not there.
func TestSlotsMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", `{"capacity":1,"kinds":{"mail":1}}`)
		one, two := register(s, `{"name":"one","kinds":["mail"],"slots":2}`), register(other, `{"name":"two","kinds":["mail"],"slots":2}`)
		held := func() float64 {
			n, _ := s.OK(200, get, "/limits/l", nil).JSON["held"].(float64)
			return n
		}
		for range 3 {
			s.Enqueue(job{"kind": "mail"})
		}
		j := one.one()
		if more := one.poll(1, "0s"); len(more) != 0 {
			s.Errorf("with one slot two run: %v", more)
		}
		if more := two.poll(2, "0s"); len(more) != 0 || held() != 1 {
			s.Errorf("with one slot two run: %v; %v held", more, held())
		}
		got := make(chan []job)
		go func() { got <- two.poll(2, "1m") }()
		time.Sleep(200 * time.Millisecond) //nolint:forbidigo // the poll is to wait by then
		s.OK(200, post, run(j, "complete"), `{}`)
		if more := one.poll(1, "0s"); len(more) == 1 { // it was first
			s.OK(200, post, "/workers/"+one.token+"/leave", nil)
		}
		jobs := <-got
		if len(jobs) != 1 || held() != 1 {
			s.Fatalf("the slot has not moved: %v; %v held", jobs, held())
		}
		two.OK(200, post, run(jobs[0], "complete"), `{}`)
		last := two.one()
		two.OK(200, post, run(last, "complete"), `{}`)
		two.poll(1, "0s")
		if held() != 0 {
			s.Errorf("nothing is left, and %v slots are held", held())
		}
	})
}

// TestRate: a rate bounds how many jobs a worker gets in a time.
func TestRate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", `{"rate":"4/s","burst":2}`)
		w := register(s, mail)
		for range 9 {
			s.Enqueue(job{"kind": "mail"})
		}
		var at []time.Time
		for deadline := time.Now().Add(5 * time.Minute); len(at) < 9 && time.Now().Before(deadline); {
			for _, j := range w.poll(5, "2s") {
				at = append(at, time.Now())
				s.OK(200, post, run(j, "complete"), `{}`)
			}
		}
		if len(at) < 9 || at[8].Sub(at[0]) < 1600*time.Millisecond {
			s.Errorf("%d jobs start in %v", len(at), at[len(at)-1].Sub(at[0]))
		}
	})
}

// TestRateAfterOtherNews: a poll that waits for the next permit of a rate claims when that comes,
// also if it hears of something else meanwhile, as of a run of its worker that ends.
func TestRateAfterOtherNews(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/r", `{"rate":"2/s","burst":2,"kinds":{"mail":1}}`)
		w := register(s, three)
		var first []job
		for range 3 {
			s.OK(201, post, "/jobs", job{"kind": "mail"})
		}
		for len(first) < 2 {
			first = append(first, w.poll(1, "1m")...)
		}
		got := make(chan []job)
		go func() { got <- w.poll(1, "1m") }()
		for _, j := range first {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // for the poll to wait
			s.OK(200, post, run(j, "complete"), `{}`)
		}
		if jobs := <-got; len(jobs) != 1 {
			s.Error("its permit came, and the poll claims nothing")
		}
	})
}

// TestLimitsPerKey: claims see to limits per key.
func TestLimitsPerKey(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.OK(201, http.MethodPut, "/limits/customer", `{"capacity":1,"per_key":true}`)
	w := register(s, mail)
	for range 2 {
		for _, key := range []string{"a", "b"} {
			s.Enqueue(job{"kind": "mail", "limit": "customer", "limit_key": key})
		}
	}
	jobs := w.poll(4, "1m")
	if len(jobs) != 2 {
		t.Fatalf("of two keys %d jobs run", len(jobs))
	}
	s.OK(200, post, run(jobs[0], "complete"), `{}`)
	promote(s)
	if more := w.poll(4, "1m"); len(more) != 1 {
		t.Errorf("when one has ended it gets %v", more)
	}
}

// TestSlotsOfAWorkerThatOnlyBeats: what its runs have left goes to others with its next beat.
func TestSlotsOfAWorkerThatOnlyBeats(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		s.OK(201, http.MethodPut, "/limits/l", `{"capacity":2,"kinds":{"mail":1}}`)
		first, second := register(s, mail), register(other, mail)
		for range 3 {
			s.Enqueue(job{"kind": "mail"})
		}
		jobs := first.poll(2, "1m")
		if len(jobs) != 2 {
			t.Fatalf("the first worker gets %v", jobs)
		}
		if jobs := second.poll(1, "0s"); len(jobs) != 0 {
			t.Fatalf("the second worker gets %v", jobs)
		}
		s.OK(200, post, run(jobs[0], "complete"), `{}`)
		s.OK(200, post, "/workers/"+first.token+"/beat", job{"running": []any{jobs[1]["lease"]}})
		if jobs := second.poll(1, "1m"); len(jobs) != 1 {
			t.Errorf("after the beat the second worker gets %v", jobs)
		}
		s.OK(200, post, run(jobs[1], "complete"), `{}`)
		s.Enqueue(job{"kind": "mail"})
		if jobs := first.poll(1, "1m"); len(jobs) != 1 { // its polls go on
			t.Errorf("the first worker gets %v", jobs)
		}
	})
}

// TestFairKeysOverHTTP: a worker that asks for one job at a time comes to all keys about alike.
func TestFairKeysOverHTTP(t *testing.T) {
	onBoth(t, func(s, _ *apitest.Server) {
		const tenants, jobs = 8, 8
		for i := range tenants {
			for range jobs {
				s.Enqueue(job{"kind": "mail", "fair_key": fmt.Sprint("tenant ", i), "args": i})
			}
		}
		w := register(s, `{"name":"w","kinds":["mail"],"slots":1}`)
		got := map[string]int{}
		for range tenants * jobs / 2 {
			j := w.one()
			got[fmt.Sprint(j["args"])]++
			s.OK(http.StatusOK, post, run(j, "complete"), `{}`)
		}
		if len(got) < tenants {
			t.Errorf("of %d tenants with %d jobs each %d have had one, when half of all jobs are done: %v", tenants, jobs, len(got), got)
		}
	})
}

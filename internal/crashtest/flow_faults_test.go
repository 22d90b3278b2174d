package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// storm lets faults come over a cluster.
type storm struct {
	*cluster
	load   *flowLoad
	server *pgtest.Cluster // nil on SQLite
	random *rand.Rand

	kills, freezes, crashes int
	said                    map[string]bool // what was asked for when the storm was over
}

// rage lets one fault follow the other, for a time. What it stops goes on before it returns.
func (s *storm) rage(d time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		s.pass(800 * time.Millisecond)
		s.mustLive("the storm rages")
		switch n := s.random.IntN(100); {
		case n < 45:
			s.strike(s.random.IntN(len(s.workers)))
		case n < 55:
			s.strike(draw(s.random, len(s.workers))...)
		case n < 65:
			s.strike(s.leader())
		case n < 80:
			s.freeze(s.random.IntN(len(s.workers)))
		case n < 90:
			s.freeze(s.leader())
		case s.server != nil:
			s.crash()
		default:
			s.strike(s.random.IntN(len(s.workers)))
		}
	}
	s.joined()
}

// calm lets the load go on until callers have had answers of each sort, but not for long: on a slow
// machine a storm leaves no job the time for that.
func (s *storm) calm() {
	s.t.Helper()
	const most = time.Minute
	for end := time.Now().Add(most); time.Now().Before(end) && !s.load.hasAnswers(); {
		s.pass(time.Second)
	}
}

// pass lets some time pass.
func (s *storm) pass(most time.Duration) {
	s.t.Helper()
	if err := spend(s.t.Context(), time.Duration(s.random.Int64N(int64(most)))); err != nil {
		s.t.Fatal(err)
	}
}

// strike kills processes and puts others into their places, mostly at once.
func (s *storm) strike(places ...int) {
	s.t.Helper()
	for _, place := range places {
		s.kill(place)
		s.kills++
	}
	if s.random.IntN(4) == 0 {
		s.pass(time.Second)
	}
	for _, place := range places {
		s.start(place)
	}
}

// leader is the place of the process that leads, or some place if none does.
func (s *storm) leader() int {
	s.t.Helper()
	for _, m := range s.members() {
		if !m.Leader || !m.DeadAt.IsZero() {
			continue
		}
		for place, w := range s.workers {
			if w.name == m.Info.Name {
				return place
			}
		}
	}
	return s.random.IntN(len(s.workers))
}

// crash ends PostgreSQL without a shutdown and starts it again. Sometimes a process is killed with
// it, and the one that takes its place begins without a database.
func (s *storm) crash() {
	s.t.Helper()
	place, both := s.random.IntN(len(s.workers)), s.random.IntN(2) == 0
	s.look(place)
	s.server.Crash(s.t)
	s.crashes++
	if both {
		s.end(place)
		s.kills++
		s.start(place)
	}
	s.pass(1500 * time.Millisecond)
	s.server.Start(s.t)
}

// freeze stops a process where it is, mostly until it is declared dead, and lets it go on.
func (s *storm) freeze(place int) {
	s.t.Helper()
	w, id := s.workers[place], s.alive(place)
	if !w.freeze(s.t) {
		return
	}
	s.freezes++
	switch {
	case id == 0 || s.random.IntN(5) == 0: // for a moment, which nobody notices
	case !s.writable(time.Second):
		// It was frozen within a transaction that keeps everybody else from writing, so that nobody
		// can declare it dead.
	default:
		const most = 5 * time.Second // it may hold a lock that who would declare it dead waits for
		s.wait(most, "worker "+w.name+" is declared dead", func() bool { return s.alive(place) != id })
	}
	s.pass(500 * time.Millisecond)
	w.thaw(s.t)
}

// beside lets jobs come, signals be sent and operators ask while the storm rages. It returns what
// ends that.
func (s *storm) beside(random func() *rand.Rand) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	senders, first, second, callers, eyes := random(), random(), random(), random(), random()
	orders := &flowPlanner{random: random(), last: firstOrder, plan: map[int]task{}}
	var running sync.WaitGroup
	running.Go(func() { s.load.keepBusy(ctx) })
	running.Go(func() { s.load.keepSending(ctx, senders) })
	running.Go(func() { s.load.keepAsking(ctx, callers) })
	running.Go(func() { s.load.keepPaying(ctx, orders) })
	running.Go(func() { s.load.keepWatching(ctx, eyes) })
	running.Go(func() { s.load.operate(ctx, s.load.clients[1], first) })
	running.Go(func() { s.load.operate(ctx, s.load.clients[2], second) })
	stop = func() {
		cancel()
		running.Wait()
	}
	s.t.Cleanup(stop)
	return stop
}

func (s *storm) String() string {
	slow := 0
	for _, d := range s.deaths() {
		if d.slow {
			slow++
		}
	}
	return fmt.Sprintf("%d kills, %d freezes, %d crashes of PostgreSQL, %d nodes that lived were declared dead",
		s.kills, s.freezes, s.crashes, slow)
}

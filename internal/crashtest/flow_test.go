package crashtest

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

var crashTime = flag.Duration("crash.time", 0, "how long TestFlows and TestRollingUpgrade go on; they play one round at least")

// raging is how long the faults of a round go on.
const raging = 15 * time.Second

// TestFlows plays flows, and errands beside them, while processes are killed and frozen, PostgreSQL
// crashes, and operators ask for whatever comes to their minds. A round has a plan and a database
// of its own.
func TestFlows(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		rounds(t, func(t *testing.T) []string { return weather(t, newSQLite(t), nil, nil) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := pgtest.Private(t)
		rounds(t, func(t *testing.T) []string { return weather(t, server.Database(t), server, nil) })
	})
}

// mostRounds is how many rounds are played until together they have met all that a storm is there
// for. One is enough, but on a machine that has other work.
const mostRounds = 4

// rounds plays rounds for as long as was asked for, whatever they find, and until together they
// have missed nothing. A round returns what it has missed.
func rounds(t *testing.T, play func(t *testing.T) (missed []string)) {
	t.Helper()
	var missed []string
	for n, end := 1, time.Now().Add(*crashTime); n == 1 || time.Now().Before(end) || len(missed) > 0 && n <= mostRounds; n++ {
		t.Run(fmt.Sprintf("round %d", n), func(t *testing.T) {
			now := play(t)
			if n == 1 {
				missed = now
			}
			missed = slices.DeleteFunc(missed, func(what string) bool { return !slices.Contains(now, what) })
		})
	}
	if len(missed) > 0 {
		t.Errorf("the storms met too little to mean something: no %v", strings.Join(missed, ", no "))
	}
}

// weather plays a round, and returns what it has missed that it is there for. If there is an
// earlier program, its nodes work already when it begins.
func weather(t *testing.T, database string, server *pgtest.Cluster, old *earlier) (missed []string) {
	t.Helper()
	workers := 3
	random := newRandom(t)
	c := prepare(t, workerConfig{Database: database, Flows: true, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second})
	if old != nil {
		c.begin(old, upgraded)
		if workers = upgraded; !old.alone {
			workers++
		}
	}
	c.client = open(t, database)
	s := &storm{cluster: c, load: newFlowLoad(c, random()), server: server, random: random(), said: map[string]bool{}}
	if err := s.load.caller.createRows(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(s.workers) < workers {
		s.add()
	}
	stop := s.beside(random)
	if old != nil {
		s.pass(2 * time.Second)
		s.strike(s.leader())
	}
	s.rage(raging)
	s.calm()
	stop()
	ended := s.settle()
	h := s.history(ended)
	violations, figures := verifyFlows(h)
	t.Logf("%v; %v", s, &figures)
	reportFlows(t, h, violations)
	missed = figures.missed()
	if old != nil && !slices.ContainsFunc(h.traces, func(r trace) bool {
		return strings.HasPrefix(r.By, "w") && strings.HasSuffix(r.By, ".1") && r.By < "w3"
	}) {
		missed = append(missed, "jobs that the earlier program ran")
	}
	if len(missed) > 0 {
		t.Logf("no %v", strings.Join(missed, ", no "))
	}
	return missed
}

// history is all that is known when the storm is over.
func (s *storm) history(ended bool) flowHistory {
	s.t.Helper()
	maps.Copy(s.load.planner.plan, s.load.orders)
	h := flowHistory{
		plan: s.load.planner.plan, enqueued: s.load.enqueued, forks: s.load.forks, asks: s.load.asks, sends: s.load.sends,
		replies: s.load.replies, lastReplies: s.load.askAgain(s.t.Context()), paid: s.load.payments,
		seen: s.load.seen, looks: s.load.looks,
		traces: readRecords[trace](s.t, s.config.Effects, 0), records: s.records(), journals: map[holdfast.ID]holdfast.Journal{},
		deaths: s.deaths(), rules: s.rules(), ended: ended,
	}
	for id, r := range h.records {
		if r.Journal+r.Messages > 0 {
			h.journals[id] = s.journal(id)
		}
	}
	var err error
	if h.rows, err = s.load.caller.readRows(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return h
}

// reportFlows reports what is wrong, and tells the stories of a few of the jobs.
func reportFlows(t *testing.T, h flowHistory, violations []violation) {
	t.Helper()
	const most, stories = 30, 3
	told := map[holdfast.ID]bool{}
	for i, v := range violations {
		if i == most {
			t.Errorf("and %d more", len(violations)-most)
			break
		}
		t.Error(v)
		if len(told) < stories && !told[v.job] {
			told[v.job] = true
			t.Log(story(h, v.job))
		}
	}
}

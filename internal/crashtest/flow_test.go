package crashtest

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// raging is how long the faults of a round go on.
const raging = 15 * time.Second

// weather plays a round whose faults go on for so long, and returns what it has missed that it is
// there for. If there is a newer program, nodes of this one work already when its nodes come.
func weather(t *testing.T, database string, server *pgtest.Cluster, next *newer, raging time.Duration) (missed []string) {
	t.Helper()
	workers := 3
	random := newRandom(t)
	c := prepare(t, workerConfig{Database: database, Flows: true, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second})
	if next != nil {
		c.begin(next, upgraded)
		if workers = upgraded; !next.late {
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
	if next != nil {
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
	if next != nil && !slices.ContainsFunc(h.traces, func(r trace) bool {
		return strings.HasPrefix(r.By, "w") && strings.HasSuffix(r.By, ".1") && r.By < "w3"
	}) {
		missed = append(missed, "jobs that the older program ran")
	}
	if next != nil {
		c.wantSchema(next.version)
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

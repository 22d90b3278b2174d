package crashtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

var crashTime = flag.Duration("crash.time", 0, "how long TestFlows goes on; it plays one round at least")

// raging is how long the faults of a round go on.
const raging = 25 * time.Second

// TestFlows plays flows, and errands beside them, while processes are killed and frozen, PostgreSQL crashes, and
// operators ask for whatever comes to their minds. A round has a plan and a database of its own.
func TestFlows(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		rounds(t, func(t *testing.T) { weather(t, newSQLite(t), nil) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := pgtest.Private(t)
		rounds(t, func(t *testing.T) { weather(t, server.Database(t), server) })
	})
}

// rounds plays rounds for as long as was asked for, whatever they find.
func rounds(t *testing.T, play func(t *testing.T)) {
	t.Helper()
	for n, end := 1, time.Now().Add(*crashTime); n == 1 || time.Now().Before(end); n++ {
		t.Run(fmt.Sprintf("round %d", n), play)
	}
}

// weather plays a round.
func weather(t *testing.T, database string, server *pgtest.Cluster) {
	t.Helper()
	const workers = 3
	random := newRandom(t)
	c := newCluster(t, workerConfig{Database: database, Flows: true, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}, 0)
	s := &storm{cluster: c, load: newFlowLoad(c, random()), server: server, random: random()}
	if err := s.load.caller.createRows(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range workers {
		s.add()
	}
	stop := s.beside(random)
	s.rage(raging)
	stop()
	ended := s.settle()
	h := s.history(ended)
	violations, figures := verifyFlows(h)
	t.Logf("%v; %v", s, &figures)
	reportFlows(t, h, violations)
	if missed := figures.meanNothing(); len(missed) > 0 {
		t.Errorf("the storm met too little to mean something: no %v", strings.Join(missed, ", no "))
	}
}

// history is all that is known when the storm is over.
func (s *storm) history(ended bool) flowHistory {
	s.t.Helper()
	h := flowHistory{
		plan: s.load.planner.plan, enqueued: s.load.enqueued, forks: s.load.forks, asks: s.load.asks, sends: s.load.sends,
		traces: readRecords[trace](s.t, s.config.Effects, 0), records: s.records(), journals: map[holdfast.ID]holdfast.Journal{},
		deaths: s.deaths(), rules: s.cluster.rules(), ended: ended,
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

// story is all that is known of a job.
func story(h flowHistory, id holdfast.ID) string {
	const most = 80
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	r := h.records[id]
	add("the story of job %s, %s %s", id, r.Kind, r.Args)
	add("  it is %s (%s: %s) under lease %d, attempt %d, result %s, parent %s, finished %v", r.State, r.Reason, r.Error, r.LeaseNumber,
		r.Attempt, r.Result, r.Parent, r.FinishedAt)
	if r.Wait != nil {
		add("  it waits since %v until %v for %s; held %t (%s: %s)", r.Wait.Since, r.Wait.Until, r.Wait.For, r.Wait.Held, r.Wait.Reason, r.Wait.Error)
	}
	for _, a := range r.Attempts {
		add("  attempt %d under lease %d on node %d, from %v to %v: %s (%s: %s)", a.Number, a.LeaseNumber, a.Node, a.ClaimedAt, a.EndedAt,
			a.Outcome, a.Reason, a.Error)
	}
	for _, a := range r.Actions {
		add("  %v: %s, %s", a.At, a.Kind, a.Reason)
	}
	for _, a := range h.asks {
		if a.job == id {
			add("  %+v", *a)
		}
	}
	for at, e := range h.traces {
		if e.Job == id {
			data, _ := json.Marshal(e) // a struct of plain fields
			add("  %d %s", at, data)
		}
	}
	for _, e := range h.journals[id].Entries {
		add("  entry %d at %v: %s %s %s, message %d, lease %d, %s", e.Seq, e.At, e.Kind, e.Path, e.Name, e.Message, e.Lease, e.Data)
	}
	for _, m := range h.journals[id].Messages {
		add("  message %d at %v: %s %s from %s %s, unread %t, %s", m.Seq, m.At, m.Kind, m.Name, m.From, m.State, m.Unread, m.Data)
	}
	if len(lines) > 2*most {
		lines = append(append(lines[:most:most], "  …"), lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}

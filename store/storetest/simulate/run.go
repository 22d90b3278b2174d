package simulate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Open opens an empty store that reads its time from a clock.
type Open func(clock func() time.Time) (store.Store, error)

// Report is what came of a simulation.
type Report struct {
	Steps   int    // that were taken
	Calls   int    // that arrived at the store, but for those that only look
	Digest  uint64 // of all that was seen: that of two replays of the same steps is the same
	Failure *play.Failure
}

// Simulation replays steps on a store.
type Simulation struct {
	Open Open
	// Look is after how many calls the jobs that they were about are looked at; 0 is after each.
	Look int
	// Survey is after how many steps everything is looked at; besides it is in the end.
	Survey int
	// Shrinking is how many steps may be replayed to find out which of those that failed are
	// needed.
	Shrinking int
	// Scheduled: there are schedules, which nodes fire.
	Scheduled bool
	// Told, if set, is told what happens.
	Told func(format string, args ...any)
}

// Replay takes the steps on a store of their own. An error is one of opening the store or of
// closing it.
func (s *Simulation) Replay(ctx context.Context, steps []Step) (report Report, err error) {
	c := play.NewClock()
	opened, err := s.Open(c.Now)
	if err != nil {
		return report, err
	}
	defer func() {
		if closing := opened.Close(); err == nil {
			err = closing
		}
	}()
	w := newWorld(ctx, opened, c, s.Look)
	at := 0
	w.told, w.witness.told = s.Told, s.Told
	defer func() {
		report.Calls, report.Digest = w.witness.calls, w.witness.digest
		if thrown := recover(); thrown != nil {
			report.Failure = play.FailureOf(thrown, at, w.witness.op)
		}
	}()
	for ; at < len(steps); at++ {
		w.tellf("%4d  %v", at, steps[at])
		w.take(steps[at])
		report.Steps++
		if (at+1)%s.Survey == 0 {
			w.witness.survey(ctx)
		}
	}
	w.witness.survey(ctx)
	w.calm()
	return report, nil
}

// calm lets everything come to its end: people let go what they hold, a node that nothing happens
// to does what is due, and after a while no job is left that has not finished.
func (w *world) calm() {
	w.fault = faults.None
	w.tellf("people let go what they hold, and one node does what is due")
	s := w.witness
	for _, queue := range queues {
		must("Pause", s.Pause(w.ctx, store.PauseParams{Namespace: namespace, Queue: queue, Actor: "ada"}))
	}
	for _, n := range w.nodes {
		_, err := s.Leave(w.ctx, n.id)
		must("Leave", err)
	}
	for id, n := range s.nodes { // those whose join was not answered
		if !n.dead {
			_, err := s.Leave(w.ctx, id)
			must("Leave", err)
		}
	}
	for s.rescueAll(w.ctx) {
		continue
	}
	info := store.NodeInfo{Name: "last", Namespace: namespace, Kinds: []string{"send", "charge", "send@v1", "charge@v1"}}
	last, err := s.Join(w.ctx, info)
	must("Join", err)
	w.fireAll()
	for seq := int64(1); w.unfinished() > 0; seq++ {
		if seq > 1000 {
			play.Brokenf("EveryDueThing", "%d jobs never come to their end", w.unfinished())
		}
		w.round(last, seq, info.Kinds)
	}
	s.survey(w.ctx)
}

func (w *witness) rescueAll(ctx context.Context) bool {
	rescued, err := w.Rescue(ctx, store.RescueParams{})
	must("Rescue", err)
	return len(rescued.Jobs) > 0
}

// round does what is due, and completes what there is.
func (w *world) round(node, seq int64, kinds []string) {
	s := w.witness
	_, err := s.SweepCancels(w.ctx)
	must("SweepCancels", err)
	closed, err := s.CloseChildren(w.ctx, 1000)
	w.tellf("closed %+v", closed)
	must("CloseChildren", err)
	_, err = s.Promote(w.ctx, 1000)
	must("Promote", err)
	claimed, err := s.Claim(w.ctx, store.ClaimParams{Node: node, Seq: seq, Namespace: namespace, Kinds: kinds, Limit: 20})
	must("Claim", err)
	batch := &store.Batch{}
	for i := range claimed {
		r := &run{claimed: claimed[i], last: s.jobs[claimed[i].Job.ID].lastEntry(), children: true}
		batch.Outcomes = append(batch.Outcomes, w.bare(r, store.Completed, r.last))
	}
	w.tellf("round %d: %s", seq, leasesOf(claimed))
	if len(claimed) > 0 {
		must("Apply", store.ApplyEach(w.ctx, s, batch))
		return
	}
	w.clock.Move(2 * time.Hour)
	for _, j := range s.order {
		if j.held() || j.state == store.Waiting && j.wait.due.IsZero() {
			w.tellf("%v is held: %v, and goes on", j, j.held())
			if !j.held() {
				_, _, err := s.PauseJobs(w.ctx, store.PauseJobsParams{Jobs: []store.ID{j.body.ID}, Actor: "ada"})
				must("PauseJobs", err)
			}
			_, _, err := s.Resume(w.ctx, store.ResumeParams{Job: j.body.ID, Keep: -1, Expect: -1, Actor: "ada"})
			must("Resume", err)
		}
	}
}

// Hunt replays the steps of a seed, and if an invariant does not hold returns the few of them that
// are needed for it, and the story that they tell. An error is one of opening or closing a store.
func (s *Simulation) Hunt(ctx context.Context, seed uint64, n int) (Report, *Find, error) {
	draw := Draw
	if s.Scheduled {
		draw = DrawScheduled
	}
	steps := draw(seed, n)
	report, err := s.Replay(ctx, steps)
	if err != nil || report.Failure == nil {
		return report, nil, err
	}
	find := &Find{Seed: seed, N: n, Failure: *report.Failure}
	find.Steps = play.Shrink(steps[:min(n, report.Failure.At+1)], s.Shrinking, func(some []Step) bool {
		again, err := s.Replay(ctx, some)
		return err == nil && again.Failure != nil && again.Failure.Invariant == report.Failure.Invariant
	})
	var story strings.Builder
	tells := *s
	tells.Told = func(format string, args ...any) { fmt.Fprintf(&story, format+"\n", args...) }
	last, err := tells.Replay(ctx, find.Steps)
	if last.Failure != nil {
		find.Failure = *last.Failure
	}
	find.Story = story.String()
	return report, find, err
}

// Find is a failure with the steps that are needed for it.
type Find struct {
	play.Failure

	Seed  uint64
	N     int // how many steps of the seed were replayed
	Steps []Step
	Story string
}

// String says what there is to know of a failure, so that it can be replayed.
func (f *Find) String() string {
	var trace strings.Builder
	for _, step := range f.Steps {
		fmt.Fprintln(&trace, step)
	}
	return fmt.Sprintf("%s: after %s: %s\nseed %d, %d steps; of them are needed:\n%s\nThe story:\n%s%s",
		f.Invariant, f.Call, f.Text, f.Seed, f.N, trace.String(), f.Story, f.Stack)
}

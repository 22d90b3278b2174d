package rules

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Calm implements play.World: people let go what they hold, those who stood still go on, and after
// a while no job is left that has not finished.
func (w *world) Calm() {
	w.fault = faults.None
	w.tellf("people let go what they hold, and some of the nodes that were not killed go on")
	w.release()
	for _, l := range w.letters {
		w.post(l)
	}
	left := crew - 2
	for _, n := range w.nodes {
		n.frozen = n.seed%4 == 0 || left == 0 // for good
		if n.active() {
			left--
		}
	}
	d := play.NewDice(1)
	for range 2 {
		w.join(d)
	}
	for range 10 {
		if w.about == Fair { // so that one node has something to take in turn
			w.enqueue(d)
		}
	}
	for round, idle := 0, 0; w.unfinished() > 0 || len(w.uncalled()) > 0; round++ {
		if round > 500 {
			w.stuck()
		}
		before := w.eye.digest
		w.round(d, round, idle > 20 && round%16 == 0)
		if idle++; w.eye.digest != before && w.progressed() {
			idle = 0
		}
	}
	w.round(d, 0, true)
	for range 3 { // slots that are too many go back
		w.round(d, 1, false)
	}
	for _, r := range w.eye.rules {
		r.end()
	}
}

// progressed reports whether the last call was one that takes jobs further.
func (w *world) progressed() bool { return w.eye.op == "Apply" }

// release lets queues go on, and gives each limit enough for the heaviest job.
func (w *world) release() {
	for _, queue := range queues {
		if w.about.has(Rests) {
			w.setPaused(queue, false)
		}
	}
	for i := range w.eye.limits {
		l := w.eye.limits[i]
		if need := 1 + len(l.Kinds)%2; l.Capacity < need && !l.Uncapped {
			for _, weight := range l.Kinds {
				need = max(need, weight)
			}
			known := l
			l.Capacity = need
			w.saveLimit(l, &known)
		}
	}
	for _, b := range w.eye.batches {
		must("CloseBatch", w.store.CloseBatch(w.ctx, nil, namespace, b.ID))
	}
}

func (w *world) uncalled() (left []store.ID) {
	for _, b := range w.eye.batches {
		if b.DoneAt.IsZero() {
			left = append(left, b.ID)
		}
	}
	return left
}

func (w *world) stuck() {
	for _, j := range w.eye.order {
		if !j.State.Finished() {
			play.Brokenf("EveryDueThing", "%d jobs never come to their end, %v among them, which is %v in %s, %+v; limits: %+v", w.unfinished(),
				j, j.State, j.Queue, j.Wait, w.eye.limits)
		}
	}
	play.Brokenf("EveryDueThing", "the batches %v are never called back", w.uncalled())
}

// round does what is due, and lets each node do all that it can. late: nothing has happened for a
// while; people look at what is held, and time passes.
func (w *world) round(d *play.Dice, round int, late bool) {
	w.pass(4 * time.Millisecond)
	if late {
		w.pass(2 * time.Hour)
		w.helps()
	}
	w.maintains()
	_, err := w.store.Promote(w.ctx, 1000)
	must("Promote", err)
	for i := range w.nodes {
		if n := w.nodes[(i+round)%len(w.nodes)]; n.active() {
			w.works(d, n, round%16 == 0)
		}
	}
}

// maintains does what falls to a node that leads, by what it is told.
func (w *world) maintains() {
	for _, n := range w.nodes {
		if !n.active() {
			continue
		}
		beat := w.beats(n, store.BeatParams{Node: n.id, LeaderTTL: time.Second, Lead: true})
		if !beat.Leader {
			continue
		}
		p := store.RescueParams{}
		for _, b := range beat.Nodes {
			if !w.isActive(b.Node) {
				p.Dead = append(p.Dead, b)
			}
		}
		for more := true; more; {
			rescued, err := w.store.Rescue(w.ctx, p)
			must("Rescue", err)
			more, p.Dead = len(rescued.Jobs) > 0, nil
		}
		for more := beat.Work.CloseChildren || n.watches; more; {
			closed, err := w.store.CloseChildren(w.ctx, 100)
			must("CloseChildren", err)
			more, n.watches = closed.More, closed.Watch
		}
		if w.about.has(Batches) {
			counted, err := w.store.CountBatches(w.ctx, store.CountBatchesParams{Limit: 100, Members: 100})
			must("CountBatches", err)
			for _, b := range counted.Through {
				w.calls(b)
			}
		}
	}
}

func (w *world) isActive(id int64) bool {
	for _, n := range w.nodes {
		if n.id == id && n.active() {
			return true
		}
	}
	return false
}

// works lets a node do what its loops do. wakes: it hears that there may be jobs of all kinds. (One
// that hears so all the time keeps slots for them.)
func (w *world) works(d *play.Dice, n *node, wakes bool) {
	for n.pending != nil {
		w.send(n.pending, true)
	}
	p := &store.ClaimParams{Limit: 10}
	if w.about == Fair {
		p.Limit = 1
	}
	if n.slots != nil {
		w.loads(n)
		if n.asking == nil {
			w.asksFor(n, false, false)
		}
		if n.asking != nil {
			w.hears(n, true)
		}
		for again := true; again; again = n.permits != nil {
			w.permits(n, false, false)
		}
		if wakes {
			n.slots.Heard("", w.clock.Now())
			n.slots.Probe()
		}
		w.byAccount(n, p, 1000)
	}
	active := slices.DeleteFunc(slices.Clone(w.nodes), func(n *node) bool { return !n.active() })
	if w.about != Fair || n == active[len(active)-1] {
		w.claims(n, d.Next(), p)
	}
	req := &request{node: n, batch: &store.Batch{}}
	for _, r := range n.runs {
		if r.begun {
			req.runs, req.batch.Outcomes = append(req.runs, r), append(req.batch.Outcomes, r.claimed.Outcome(store.Completed))
		}
	}
	if len(req.runs) > 0 {
		w.send(req, false)
	}
}

// helps lets a person see to what is held: jobs that wait for one that has failed, and those that
// keep a turn.
func (w *world) helps() {
	for _, n := range w.nodes {
		if n.active() && n.pending == nil {
			w.audits(n)
		}
	}
	for _, j := range w.eye.order {
		switch {
		case j.depends() && !w.waitsForOthers(j):
			_, _, err := w.store.Resume(w.ctx, store.ResumeParams{Job: j.ID, Keep: -1, Expect: -1, Actor: "ada"})
			must("Resume", err)
		case j.State == store.Failed && j.Options.KeepTurn:
			_, _, err := w.store.Cancel(w.ctx, store.CancelParams{Jobs: []store.ID{j.ID}, Actor: "ada", Skip: true})
			must("Cancel", err)
		}
	}
}

// waitsForOthers reports whether a job comes after one that has not finished, or whose end it is to
// be told.
func (w *world) waitsForOthers(j *job) bool {
	r, err := w.eye.Get(w.ctx, "", j.ID)
	must("Get", err)
	for _, p := range r.Predecessors {
		if on := w.eye.jobs[p.On]; !on.State.Finished() || p.IfFailed != store.HoldIfFailed || p.IfFailed.Lets(on.State) {
			return true
		}
	}
	return false
}

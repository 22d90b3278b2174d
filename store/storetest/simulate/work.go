package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

func (w *world) claim(d *play.Dice) bool {
	n := w.free(d)
	if n == nil {
		return true
	}
	p := &store.ClaimParams{Node: n.id, Seq: n.seq, Namespace: namespace, Kinds: n.info.Kinds, Limit: play.Among(d, 1, 2, 3, 10)}
	if w.unfinished() > crowd {
		p.Limit = play.Among(d.Aside("crowd"), 10, 2*store.MaxClaimSlots)
	}
	if d.Chance(30) {
		for _, q := range queues {
			p.Queues = append(p.Queues, store.QueueDemand{Name: q, Limit: d.Below(4)})
		}
	}
	if d.Chance(20) {
		p.Aging = time.Minute
	}
	n.seq += int64(p.Records())
	w.send(&request{node: n, seed: d.Seed, claim: p}, false)
	return true
}

// write sends what one run has to write.
func (w *world) write(d *play.Dice, n *node, r *run, batch *store.Batch) {
	w.send(&request{node: n, seed: d.Seed, runs: []*run{r}, batch: batch}, false)
}

// end ends one run.
func (w *world) end(d *play.Dice) bool {
	n, r := w.anyRun(d)
	if r != nil {
		w.write(d, n, r, &store.Batch{Outcomes: []*store.Outcome{w.outcome(d, n, r, r.last)}})
	}
	return true
}

// anyRun draws a run of an active node. If none has one, a node claims instead.
func (w *world) anyRun(d *play.Dice) (*node, *run) {
	if aside := d.Aside("stale"); aside.Chance(10) {
		if n, r := w.stale(aside); r != nil {
			return n, r
		}
	}
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && (len(n.runs) > 0 || n.pending != nil) })
	switch {
	case !found:
		w.claim(d)
		return nil, nil
	case n.pending != nil:
		w.send(n.pending, true)
		return nil, nil
	}
	r, _ := play.Choose(d, n.runs, nil)
	return n, r
}

// stale draws a run that is over without having been told, of a job that runs again elsewhere. Its
// node may have been frozen until now.
func (w *world) stale(d *play.Dice) (*node, *run) {
	isStale := func(r *run) bool {
		j := w.witness.jobs[r.claimed.Job.ID]
		return j != nil && j.running() && j.lease != r.claimed.Lease
	}
	n, found := play.Choose(d, w.nodes, func(n *node) bool {
		return !n.killed && n.pending == nil && slices.ContainsFunc(n.runs, isStale)
	})
	if !found {
		return nil, nil
	}
	n.frozen = false
	r, _ := play.Choose(d, n.runs, isStale)
	return n, r
}

// append lets a run remember something.
func (w *world) append(d *play.Dice) bool {
	n, r := w.anyRun(d)
	if r != nil {
		w.write(d, n, r, &store.Batch{Appends: []*store.Append{w.entries(d, r)}})
	}
	return true
}

// park lets a run that remembers something wait, or remember something.
func (w *world) park(d *play.Dice) bool {
	n, r := w.anyRun(d)
	if r == nil {
		return true
	}
	if r.last == 0 {
		w.write(d, n, r, &store.Batch{Appends: []*store.Append{w.entries(d, r)}})
		return true
	}
	o := w.bare(r, store.Waiting, r.last)
	o.Wait = w.wait(d, r)
	if o.Wait.Held {
		o.Reason = play.Among(d, store.ReasonNondeterminism, store.ReasonTerminal)
	}
	w.write(d, n, r, &store.Batch{Outcomes: []*store.Outcome{o}})
	return true
}

func (w *world) wait(d *play.Dice, r *run) *store.Wait {
	wait := &store.Wait{Kinds: store.MessagesOf(store.MessageSignal), Failures: d.Chance(30), Held: d.Chance(8)}
	if j := w.witness.jobs[r.claimed.Job.ID]; j != nil {
		wait.Seen = max(0, j.lastMessage()-play.Among[int64](d, 0, 0, 0, 1))
	}
	if d.Chance(50) {
		wait.Kinds |= store.MessagesOf(store.MessageCallback, store.MessageCallbackFailed, store.MessageChild)
	}
	if d.Chance(20) {
		wait.Kinds, wait.Count = 0, int64(1+d.Below(3))
	}
	if d.Chance(50) {
		wait.Until = w.clock.Now().Add(play.Among(d, time.Second, 20*time.Second, time.Hour))
	}
	return wait
}

// entries draws what a run remembers.
func (w *world) entries(d *play.Dice, r *run) *store.Append {
	a := &store.Append{Lease: r.claimed.Lease, Closing: d.Chance(4)}
	for i := range play.Among[int64](d, 1, 1, 2, 3) {
		e := store.Entry{Seq: r.last + 1 + i, Kind: store.EntryStep, Path: "1", Name: "charge", Data: []byte(d.Key())}
		switch d.Below(6) {
		case 0:
			e.Kind, e.Name = store.EntryCallback, d.Key()
		case 1:
			if j := w.witness.jobs[r.claimed.Job.ID]; j != nil && len(j.inbox) > 0 {
				e.Kind, e.Ref = store.EntryReceived, j.inbox[d.Below(len(j.inbox))].Seq
			}
		case 2:
			if w.unfinished() < crowd {
				q := w.job(d)
				q.OnConflict, q.Job.UniqueKey, q.Job.UniqueStates, q.Job.OrderingKey = 0, nil, 0, ""
				q.Job.Parent, q.Job.Answers = r.claimed.Job.ID, d.Chance(80)
				q.Job.OnParentClose = play.Among(d, store.CancelChild, store.TerminateChild, store.AbandonChild, store.CancelAndWait)
				e.Kind, e.Name = store.EntryChild, q.Job.Kind
				a.Enqueues = append(a.Enqueues, q)
			}
		case 3:
			e.Kind, e.Name = play.Among(d, store.EntryPublished, store.EntryStreamed), play.Among(d, names...)
		}
		a.Entries = append(a.Entries, e)
	}
	return a
}

// bare is an outcome with what a run knows of its job. last is the number of the last entry of the
// journal.
func (w *world) bare(r *run, state store.State, last int64) *store.Outcome {
	job := &r.claimed.Job
	return &store.Outcome{
		Lease: r.claimed.Lease, State: state, Durable: last > 0, HasChildren: r.children, Answers: job.Answers, Parent: job.Parent,
		Namespace: job.Namespace, Queue: job.Queue, HasUnique: len(job.UniqueKey) > 0, HasOrdering: job.OrderingKey != "",
		CancelSeen: r.asked, StartedAt: r.claimed.ClaimedAt,
	}
}

func (w *world) outcome(d *play.Dice, n *node, r *run, last int64) *store.Outcome {
	o := w.bare(r, play.Among(d, store.Completed, store.Completed, store.Completed, store.Completed, store.Retryable, store.Retryable,
		store.Scheduled, store.Available, store.Failed, store.Cancelled), last)
	switch o.State {
	case store.Completed:
		o.Result = []byte(d.Key())
	case store.Failed, store.Retryable:
		o.Reason, o.Error = store.ReasonError, "it broke"
	case store.Available:
		if last > 0 && d.Chance(60) {
			o.Continue = &store.Continue{Args: fmt.Appendf(nil, "%d", d.Below(1000)), Data: []byte(`{}`)}
		} else if d.Aside("never began").Chance(40) {
			o.KeepsPlace, o.StartedAt = true, time.Time{}
		}
	default:
	}
	if o.State == store.Retryable || o.State == store.Scheduled {
		o.Delay = play.Among(d, 0, time.Second, 20*time.Second, time.Hour)
		if d.Chance(30) { // by its own clock
			o.RunAt = w.clock.Now().Add(n.skew + play.Among(d, 0, time.Second, time.Minute))
		}
	}
	if d.Chance(6) {
		o.Version = "v1"
	}
	return o
}

// batch lets a node write all that it has at once.
func (w *world) batch(d *play.Dice) bool {
	n := w.free(d)
	if n == nil {
		return true
	}
	req := &request{node: n, seed: d.Seed, batch: &store.Batch{}}
	b := req.batch
	last := map[*run]int64{}
	ends := play.Among(d.Aside("ends"), 40, 40, 90)
	for _, r := range n.runs {
		if len(b.Appends) < 2 && d.Chance(25) {
			a := w.entries(d, r)
			b.Appends, req.runs, last[r] = append(b.Appends, a), append(req.runs, r), a.LastSeq()
			r.children = r.children || len(a.Enqueues) > 0
		}
	}
	for _, r := range n.runs {
		if len(b.Checkpoints) < 5 && d.Chance(20) {
			b.Checkpoints = append(b.Checkpoints, &store.CheckpointWrite{
				Lease: r.claimed.Lease, Checkpoint: store.Checkpoint{Percent: float64(d.Below(100)), Value: []byte(`"` + d.Key() + `"`)},
			})
		}
		if d.Chance(ends) {
			b.Outcomes, req.runs = append(b.Outcomes, w.outcome(d, n, r, max(r.last, last[r]))), append(req.runs, r)
		}
	}
	for range d.Below(3) {
		if w.unfinished() < crowd {
			q := w.job(d)
			q.Start = d.Chance(70)
			b.Enqueues = append(b.Enqueues, q)
		}
	}
	if len(b.Enqueues) > 0 {
		b.Start = &store.Start{Node: n.id, Seq: n.seq}
		n.seq++
	}
	w.send(req, false)
	return true
}

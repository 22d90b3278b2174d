package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// The names that jobs have.
var (
	machineQueues = []string{"q1", "q2"}
	machineKinds  = []string{"k1", "k2", "k3"}
)

func (m *machine) anyQueue(t *rapid.T) string { return pick(t, "queue", machineQueues...) }

// anyEnqueue draws a new job, or now and then one that was enqueued before.
func (m *machine) anyEnqueue(t *rapid.T) store.Enqueue {
	if len(m.jobs) > 0 && chance(t, "again", 8) {
		if k := one(t, "job", m.jobs); !k.removed {
			return k.enqueue
		}
	}
	return m.newEnqueue(t)
}

func (m *machine) newEnqueue(t *rapid.T) store.Enqueue {
	q := store.Enqueue{Job: store.Job{
		ID: m.ids.next(), Namespace: m.namespace, Queue: m.anyQueue(t), Kind: pick(t, "kind", machineKinds...),
		Priority: rapid.IntRange(1, 4).Draw(t, "priority"), MaxAttempts: pick(t, "attempts", 3, 2, 1, 0, 9),
		Args: []byte(pick(t, "args", "1", "2", "3")),
	}}
	if q.Job.Kind == machineKinds[2] || chance(t, "own backoff", 15) { // see anyPolicies
		q.Job.Options.Backoff = store.Backoff{Base: 5 * time.Second, Cap: 20 * time.Second}
	}
	if m.mode.durable && chance(t, "bound", 15) {
		q.Job.Version = "v1"
	}
	if chance(t, "unique", 40) {
		q.Job.UniqueKey = []byte(m.namespace + pick(t, "key", "a", "b"))
		q.Job.UniqueStates = pick(t, "states", store.Unfinished, store.SetOf(store.Scheduled, store.Available),
			store.SetOf(store.Scheduled, store.Available, store.Running), store.SetOf(store.States...))
		q.OnConflict = pick(t, "conflict", store.ReturnExisting, store.Reject, store.Replace, store.Replace)
	}
	if m.mode.keyed && chance(t, "ordered", 60) {
		q.Job.OrderingKey = pick(t, "ordering key", "x", "y")
	}
	switch pick(t, "when", "now", "now", "later", "at", "past") {
	case "later":
		q.Delay = pick(t, "delay", time.Second, 20*time.Second, time.Hour)
	case "at":
		q.Job.RunAt = m.clock.Now().Add(pick(t, "in", time.Millisecond, time.Minute))
	case "past":
		q.Job.RunAt = m.clock.Now().Add(-pick(t, "ago", time.Millisecond, time.Minute))
	}
	if chance(t, "never", 2) {
		q.Job.RunAt = beyondTime
	}
	if chance(t, "deadline", 10) {
		q.Job.Options.Deadline = m.clock.Now().Add(pick(t, "within", time.Second, time.Minute))
	}
	return q
}

// anyRun draws a run, mostly a live one.
func (m *machine) anyRun(t *rapid.T) *run {
	var live []*run
	for _, r := range m.runs {
		if r.job.live && r.store.Lease.Number == r.job.lease {
			live = append(live, r)
		}
	}
	if len(live) > 0 && !chance(t, "stale", 15) {
		return one(t, "run", live)
	}
	if len(m.runs) == 0 {
		return nil
	}
	return one(t, "run", m.runs)
}

// applyBatch draws a batch of everything.
func (m *machine) applyBatch(t *rapid.T) {
	var batch store.Batch
	var model store.Batch
	var runs []*run
	for range rapid.IntRange(0, 2).Draw(t, "checkpoints") {
		r := m.anyRun(t)
		if r == nil {
			break
		}
		c := store.CheckpointWrite{Checkpoint: store.Checkpoint{
			Percent: float64(rapid.IntRange(0, 100).Draw(t, "percent")), Message: "m", Value: []byte(`{"a":[1,null]}`),
		}}
		a, b := c, c
		a.Lease, b.Lease = r.store.Lease, r.model.Lease
		batch.Checkpoints, model.Checkpoints = append(batch.Checkpoints, &a), append(model.Checkpoints, &b)
	}
	start := chance(t, "start", 75)
	var appended []*run
	if m.mode.durable {
		appended = m.drawAppends(t, &batch, &model)
		m.drawSends(t, &batch, &model)
	}
	for range rapid.IntRange(0, 3).Draw(t, "outcomes") {
		r, o, ok := m.anyOutcome(t, runs)
		if ok && slices.ContainsFunc(runs, r.related) {
			break // Reading: which of a parent and its child ends first in a batch is not promised
		}
		if ok && start && !m.mode.durable && !o.Repeat && chance(t, "release", 50) {
			o = *outcome(r.store, store.Available) // which is in the way of what starts
		}
		if ok && m.mode.durable {
			m.makeDurable(t, r, &o, &batch, slices.Contains(appended, r))
		}
		if !ok {
			break
		}
		m.makeKnowing(t, r, &o)
		a, b := o, o
		a.Lease, b.Lease = r.store.Lease, r.model.Lease
		batch.Outcomes, model.Outcomes = append(batch.Outcomes, &a), append(model.Outcomes, &b)
		runs = append(runs, r)
	}
	enqueues := 3
	if m.mode.durable {
		enqueues = 1 // what happens is to meet the same jobs again
	}
	for range rapid.IntRange(0, enqueues).Draw(t, "enqueues") {
		q := m.anyEnqueue(t)
		if start {
			m.makeStart(t, &q, runs)
		}
		a, b := q, q
		batch.Enqueues, model.Enqueues = append(batch.Enqueues, &a), append(model.Enqueues, &b)
	}
	node := -1
	if start && len(batch.Enqueues) > 0 {
		node = m.anyNode(t)
		m.seqs += 10
		batch.Start = &store.Start{Node: m.nodes[node].store, Seq: m.seqs}
	}
	plain := faults.Copy(&batch)
	m.logBatch(plain)
	m.applyBoth(node, &batch, &model)
	m.checkTurns(&batch)

	for i, c := range batch.Checkpoints {
		over := slices.ContainsFunc(runs, func(r *run) bool { return r.store.Lease == c.Lease })
		if !m.mode.lossy || !over { // see repeatBatch
			m.sameErr("checkpoint", c.Err, model.Checkpoints[i].Err)
		}
	}
	m.checkAppends(appended, runs, &batch, &model)
	m.checkSends(&batch, &model)
	for i, o := range batch.Outcomes {
		m.sameErr("outcome "+o.State.String(), o.Err, model.Outcomes[i].Err)
		if !m.mode.lossy && !o.Repeat || o.State != store.Waiting && o.Continue == nil { // see Outcome.Final
			m.same("final state", o.Final, model.Outcomes[i].Final)
		}
		if !m.mode.lossy && !o.Repeat {
			m.same("due", o.Due, model.Outcomes[i].Due)
		}
		r := runs[i]
		if !errors.Is(o.Err, store.ErrInvalid) { // which nobody sends again
			m.outcomes = append(m.outcomes, sent{r, *plain.Outcomes[i]})
		}
		if o.Err == nil && !r.ended {
			r.ended = true
			r.job.wait = o.Wait
			r.job.pass(model.Outcomes[i].Final) // it may be due again before anybody looks
			if r.job.lease == r.store.Lease.Number {
				r.job.live = false
			}
		}
	}
	m.checkEnqueues(plain, &batch, &model)
	m.checkStart(node, plain, &batch, &model)
}

// checkEnqueues compares what became of enqueues, and remembers the jobs. plain are those that were sent.
func (m *machine) checkEnqueues(plain, batch, model *store.Batch) {
	for i, q := range batch.Enqueues {
		want := model.Enqueues[i]
		m.sameErr("enqueue", q.Err, want.Err)
		if q.Err != nil {
			continue
		}
		got, wantResult := q.Result, want.Result
		if got.Existing && !got.Replaced {
			got.RunAt, wantResult.RunAt = time.Time{}, time.Time{} // Reading: that of the holder is not promised
		}
		if m.mode.lossy {
			got, wantResult = store.EnqueueResult{ID: got.ID}, store.EnqueueResult{ID: wantResult.ID}
		}
		m.same("enqueue", got, wantResult)
		if q.Result.ID == q.Job.ID && m.find(q.Job.ID) == nil {
			m.jobs = append(m.jobs, &known{enqueue: *plain.Enqueues[i]})
		}
	}
}

// checkTurns looks whether a batch tells of ordering keys whose turn it handed on, or left to be
// handed on.
func (m *machine) checkTurns(batch *store.Batch) {
	now := m.clock.Now()
	if !m.mode.keyed || m.mode.lossy || slices.ContainsFunc(batch.Woken, func(w store.Wake) bool {
		return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(now)
	}) {
		return
	}
	for _, r := range m.list(m.store) {
		waited := slices.ContainsFunc(m.last, func(before store.Record) bool { return before.ID == r.ID && before.Blocked })
		told := slices.ContainsFunc(batch.Woken, func(w store.Wake) bool { return w.Kind == store.WakeReady && w.Queue == r.Queue })
		if waited && r.State == store.Available && !r.Blocked && !told {
			m.t.Fatalf("the turn of job %d of %s has come, and the batch tells of %+v", m.names([]store.ID{r.ID}), r.Queue, batch.Woken)
		}
	}
	// Everything was handed on before the batch. What is due now because of it says so itself.
	due := 0
	for _, o := range batch.Outcomes {
		if !o.Due.IsZero() && !o.Due.After(now) {
			due++
		}
	}
	promoted, err := m.store.Promote(m.ctx, 1000)
	m.must("Promote", err)
	if promoted.Jobs > due {
		m.t.Fatalf("%d turns were still to be handed on in %v, and the batch tells of %+v", promoted.Jobs-due, promoted.Wakes, batch.Woken)
	}
}

// anyOutcome draws an outcome of a run, or one that was sent before, as a caller repeats it.
func (m *machine) anyOutcome(t *rapid.T, before []*run) (*run, store.Outcome, bool) {
	if len(m.outcomes) > 0 && chance(t, "repeat", 15) {
		s := one(t, "sent", m.outcomes)
		// Only what was accepted, or was refused because the run was taken away, is repeated by a caller: the answer to a
		// second outcome of a run was an error, not silence.
		if !s.run.ended || m.accepted(s) {
			s.outcome.Repeat = true
			return s.run, s.outcome, true
		}
	}
	r := m.anyRun(t)
	if r == nil || (m.mode.lossy && (r.ended || slices.Contains(before, r))) {
		// A second outcome of a run, repeated since its answer was lost, would be taken for the first.
		return nil, store.Outcome{}, false
	}
	state := pick(t, "state", store.Completed, store.Completed, store.Completed, store.Retryable, store.Retryable,
		store.Scheduled, store.Available, store.Failed, store.Cancelled, store.Running)
	o := *outcome(r.store, state)
	if o.Error != "" {
		o.Error += fmt.Sprint(" ", len(m.outcomes)) // to tell the last one from those before
	}
	if state == store.Retryable || state == store.Scheduled {
		o.Delay = pick(t, "delay", time.Second, 20*time.Second, time.Hour)
		if chance(t, "at a time", 30) {
			o.RunAt = m.clock.Now().Add(pick(t, "in", time.Second, 2*time.Minute))
		}
		// Of a run that is over it is not promised which error comes first.
		if isLive := r.job.live && r.store.Lease.Number == r.job.lease && !slices.Contains(before, r); isLive && chance(t, "never", 2) {
			o.RunAt = beyondTime
		}
	}
	return r, o, true
}

// makeKnowing lets a run that is to be cancelled know of it, or not.
func (m *machine) makeKnowing(t *rapid.T, r *run, o *store.Outcome) {
	if o.Repeat {
		return
	}
	if record, err := m.model.Get(m.ctx, r.store.Job.ID); err == nil && record.CancelRequested {
		o.CancelSeen = chance(t, "cancel seen", 50)
	}
}

// accepted tells whether this very outcome is the one that ended its run.
func (m *machine) accepted(s sent) bool {
	first := slices.IndexFunc(m.outcomes, func(other sent) bool { return other.run == s.run })
	if first < 0 {
		return false
	}
	o := m.outcomes[first].outcome
	return o.State == s.outcome.State && (o.Continue == nil) == (s.outcome.Continue == nil)
}

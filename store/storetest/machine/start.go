package machine

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// The operations of a machine on jobs that start as they are enqueued.

// makeStart lets most jobs of a batch ask to start, and most of these be such that they can. Many
// come into the lane of a job that the batch ends, or of another one: that may be in their way.
func (m *machine) makeStart(t *rapid.T, q *store.Enqueue, ended []*run) {
	q.Start = chance(t, "at once", 92)
	if m.find(q.Job.ID) != nil || !q.Start || !chance(t, "simple", 88) {
		return
	}
	withoutKeys(q)
	q.Job.OrderingKey, q.Job.Version, q.Delay = "", "", 0
	if q.Job.RunAt.After(m.clock.Now()) {
		q.Job.RunAt = time.Time{}
	}
	var neighbours []*known
	for _, r := range ended {
		neighbours = append(neighbours, r.job)
	}
	if len(neighbours) == 0 {
		neighbours = slices.DeleteFunc(slices.Clone(m.jobs), func(k *known) bool { return k.state.Finished() })
	}
	if len(neighbours) > 0 && chance(t, "neighbour", 85) {
		job := one(t, "of", neighbours).enqueue.Job
		q.Job.Queue, q.Job.Kind, q.Job.Priority, q.Job.Options.Backoff = job.Queue, job.Kind, job.Priority, job.Options.Backoff
	}
}

// applyBoth applies a batch on both sides. A store may let the jobs wait for reasons of its own, so
// the model is asked to start them only if the store did: then it has to agree.
func (m *machine) applyBoth(node int, batch, model *store.Batch) {
	err := store.ApplyEach(m.ctx, m.store, batch)
	if batch.Start != nil && len(batch.Start.Claimed) > 0 {
		model.Start = &store.Start{Node: m.nodes[node].model, Seq: batch.Start.Seq}
	}
	m.must("Apply", err, store.ApplyEach(m.ctx, m.model, model))
}

// checkStart compares what a batch started, and remembers the runs. A claim with its number is the
// same as one that took them.
func (m *machine) checkStart(node int, plain, batch, model *store.Batch) {
	if batch.Start == nil {
		return
	}
	runs := m.takeStarted(batch, model, nil)
	m.begun = append(m.begun, begun{node: node, batch: &store.Batch{Enqueues: plain.Enqueues, Start: plain.Start}, runs: runs})
	if len(runs) > 0 {
		params := store.ClaimParams{Seq: plain.Start.Seq, Namespace: m.namespace, Kinds: machineKinds, Limit: batch.Starting()}
		m.claims = append(m.claims, claim{node: node, params: params, runs: runs})
	}
}

func (m *machine) takeStarted(batch, model *store.Batch, known []*run) []*run {
	var want []store.Claimed
	if model.Start != nil {
		want = model.Start.Claimed
	}
	for _, c := range batch.Start.Claimed {
		m.t.Logf("started %v", m.names([]store.ID{c.Job.ID}))
		if c.Lease.Node != batch.Start.Node || c.Lease.Claim != batch.Start.Seq {
			m.t.Fatalf("job %v was started under the lease %+v, want node %d, claim %d", c.Job.ID, c.Lease, batch.Start.Node, batch.Start.Seq)
		}
	}
	return m.take(batch.Start.Claimed, want, known)
}

// repeatStart sends a batch again whose jobs were to start. One of which a job is gone is another
// batch by now.
func (m *machine) repeatStart(t *rapid.T) {
	var candidates []begun
	for _, b := range m.begun {
		if !m.anyRemoved(b.batch.Enqueues) && !slices.ContainsFunc(b.batch.Enqueues, func(q *store.Enqueue) bool { return !m.isTold(q) }) {
			candidates = append(candidates, b)
		}
	}
	if len(candidates) == 0 {
		t.Skip("nothing to repeat")
	}
	if chance(t, "that started something", 75) {
		runs := slices.DeleteFunc(slices.Clone(candidates), func(b begun) bool { return len(b.runs) == 0 })
		if len(runs) > 0 {
			candidates = runs
		}
	}
	b := one(t, "begun", candidates)
	batch, model := faults.Copy(b.batch), faults.Copy(b.batch)
	model.Start.Node = m.nodes[b.node].model
	if len(b.runs) == 0 {
		model.Start = nil // the store had let them wait
	}
	t.Logf("a batch is repeated")
	m.logBatch(batch)
	m.must("Apply", store.ApplyEach(m.ctx, m.store, batch), store.ApplyEach(m.ctx, m.model, model))
	m.checkEnqueues(b.batch, batch, model)
	m.takeStarted(batch, model, b.runs)
}

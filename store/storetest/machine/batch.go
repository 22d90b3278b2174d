package machine

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// applyBatch draws a batch of everything.
func (m *machine) applyBatch(t *rapid.T) {
	var batch, model store.Batch
	var appended []*run
	m.drawCheckpoints(t, &batch, &model)
	start := chance(t, "start", 75)
	if m.mode.durable {
		appended = m.drawAppends(t, &batch, &model)
		m.drawSends(t, &batch, &model)
	}
	runs := m.drawOutcomes(t, start, appended, &batch, &model)
	enqueues := 3
	if m.mode.durable {
		enqueues = 1 // what happens is to meet the same jobs again
	}
	for range rapid.IntRange(0, enqueues).Draw(t, "enqueues") {
		q := m.anyEnqueue(t)
		if start {
			m.makeStart(t, &q, runs)
		}
		a, b := forTwo(q)
		batch.Enqueues, model.Enqueues = append(batch.Enqueues, a), append(model.Enqueues, b)
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
	m.checkOutcomes(runs, plain, &batch, &model)
	m.checkEnqueues(plain, &batch, &model)
	m.checkStart(node, plain, &batch, &model)
}

// drawCheckpoints draws what runs report.
func (m *machine) drawCheckpoints(t *rapid.T, batch, model *store.Batch) {
	for range rapid.IntRange(0, 2).Draw(t, "checkpoints") {
		r := m.anyRun(t)
		if r == nil {
			return
		}
		c := store.CheckpointWrite{Meta: m.anyMeta(t), Checkpoint: store.Checkpoint{
			Percent: float64(rapid.IntRange(0, 100).Draw(t, "percent")), Message: "m", Value: []byte(`{"a":[1,null]}`),
		}}
		if m.mode.lossy && m.mode.durable {
			c.Meta = nil // an append of the same batch may say something, over which a repetition would say this again
		}
		a, b := c, c
		a.Lease, b.Lease = r.store.Lease, r.model.Lease
		batch.Checkpoints, model.Checkpoints = append(batch.Checkpoints, &a), append(model.Checkpoints, &b)
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

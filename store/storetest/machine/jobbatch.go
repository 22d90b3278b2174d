package machine

import (
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// The operations of a machine on batches of jobs.

func (m *machine) newJobBatch(t *rapid.T) {
	b := store.JobBatch{ID: m.ids.Next(), Namespace: m.namespace, BatchSettings: store.BatchSettings{Name: "b"}}
	for _, when := range []store.BatchEnd{store.BatchEnded, store.BatchSucceeded, store.BatchFailed} {
		b.Calls = append(b.Calls, store.BatchJob{When: when, ID: m.ids.Next(), Job: store.ScheduledJob{
			Kind: pick(t, "kind", machineKinds...), Queue: m.anyQueue(t), Priority: 2, Args: []byte("1"),
		}})
	}
	if chance(t, "invalid", 5) {
		b.Calls[0].When = 9
	}
	t.Logf("create batch %v", b.ID)
	m.sameErr("CreateBatch", m.store.CreateBatch(m.ctx, nil, b), m.model.CreateBatch(m.ctx, nil, b))
	m.batches = append(m.batches, b.ID)
	if b.Calls[0].When == store.BatchEnded && chance(t, "filled", 60) {
		m.fillJobBatch(t, b.ID)
	}
}

// fillJobBatch adds members to a batch, cancels some, closes and counts it, and retries some of
// those that were cancelled.
func (m *machine) fillJobBatch(t *rapid.T, id store.ID) {
	var batch, model store.Batch
	var ids []store.ID
	for range rapid.IntRange(2, 4).Draw(t, "members") {
		q := m.newEnqueue(t)
		q.Job.Batch = id
		a, b := forTwo(q)
		batch.Enqueues, model.Enqueues = append(batch.Enqueues, a), append(model.Enqueues, b)
		if chance(t, "cancelled", 70) {
			ids = append(ids, q.Job.ID)
		}
	}
	plain := faults.Copy(&batch)
	m.logBatch(plain)
	m.applyBoth(-1, &batch, &model)
	m.checkEnqueues(plain, &batch, &model)
	m.cancel(t, ids)
	m.closeOne(t, id)
	m.countJobBatches(t)
	if n := rapid.IntRange(0, len(ids)).Draw(t, "retried"); n > 0 {
		m.retry(t, store.RetryParams{Jobs: ids[:n], Actor: "ada"})
	}
}

// anyJobBatch draws one of the last ones, or one that is not there.
func (m *machine) anyJobBatch(t *rapid.T) store.ID {
	if len(m.batches) == 0 || chance(t, "none", 5) {
		return m.ids.Next()
	}
	return m.batches[len(m.batches)-1-rapid.IntRange(0, min(len(m.batches)-1, 3)).Draw(t, "batch from the last")]
}

func (m *machine) closeJobBatch(t *rapid.T) {
	m.closeOne(t, m.anyJobBatch(t))
}

func (m *machine) closeOne(t *rapid.T, id store.ID) {
	t.Logf("close batch %v", id)
	m.sameErr("CloseBatch", m.store.CloseBatch(m.ctx, nil, m.namespace, id), m.model.CloseBatch(m.ctx, nil, m.namespace, id))
}

// countJobBatches does what the leader does: members are counted until there is nothing more to
// count, and what is through is called back. Now and then it dies before that: when it has counted
// once, or all but has not called.
func (m *machine) countJobBatches(t *rapid.T) {
	members := pick(t, "members", 100, 1, 3)
	died := pick(t, "the leader dies", "", "", "early", "late")
	if died == "early" && !m.mode.lossy { // a count that is repeated would count more
		m.sameJobBatches("CountBatches", m.countedOnce(m.store, members), m.countedOnce(m.model, members))
		t.Log("count some of the members")
		return
	}
	got, want := m.counted(m.store, members), m.counted(m.model, members)
	t.Logf("count batches: %d are through, died %s", len(want), died)
	m.sameJobBatches("CountBatches", got, want)
	if died == "late" {
		return
	}
	for i := range got {
		a, b := got[i].Call(), want[i].Call()
		plain := &store.Batch{Enqueues: got[i].Call().Enqueues}
		m.must("Apply", m.applyUnits(m.store, []*store.Unit{a}), m.applyUnits(m.model, []*store.Unit{b}))
		if m.mode.lossy && errors.Is(a.Call.Err, store.ErrConflict) { // it had happened, and its answer was lost
			for _, q := range a.Enqueues {
				q.Result, q.Err = store.EnqueueResult{ID: q.Job.ID}, nil
			}
			a.Call.Err = nil
		}
		m.sameErr("call", a.Err(), b.Err())
		if a.Err() == nil {
			m.checkEnqueues(plain, &store.Batch{Enqueues: a.Enqueues}, &store.Batch{Enqueues: b.Enqueues})
		}
	}
}

// retryMembers retries members of batches, which may have been counted.
func (m *machine) retryMembers(t *rapid.T) {
	params := store.RetryParams{Actor: "ada", Reason: "once more"}
	m.drawJobs(t, &params.Jobs, func(k *known) bool {
		return k.enqueue.Job.Batch != (store.ID{}) && (k.state == store.Failed || k.state == store.Cancelled)
	})
	m.retry(t, params)
}

// counted counts, and returns what is through in the namespace.
func (m *machine) counted(s store.Store, members int) (through []store.JobBatch) {
	for again := true; again; {
		through, again = m.countParts(s, 50, members)
	}
	return through
}

// countedOnce counts so many members of each batch, and returns what is through in the namespace.
func (m *machine) countedOnce(s store.Store, members int) (through []store.JobBatch) {
	through, _ = m.countParts(s, 1, members)
	return through
}

// countParts counts in parts of so many batches and members, once.
func (m *machine) countParts(s store.Store, batches, members int) (through []store.JobBatch, again bool) {
	for after := (store.ID{}); ; {
		c, err := s.CountBatches(m.ctx, store.CountBatchesParams{After: after, Limit: batches, Members: members})
		m.must("CountBatches", err)
		through, again, after = append(through, c.Through...), again || c.Again, c.Next
		if after == (store.ID{}) {
			break
		}
	}
	return slices.DeleteFunc(through, func(b store.JobBatch) bool { return b.Namespace != m.namespace }), again
}

// checkJobBatches compares batches.
func (m *machine) checkJobBatches() {
	f := store.BatchFilter{Namespace: m.namespace, Limit: 1000}
	got, err := m.store.Batches(m.ctx, f)
	m.must("Batches", err)
	want, err := m.model.Batches(m.ctx, f)
	m.must("Batches", nil, err)
	m.sameJobBatches("Batches", got, want)
}

// sameJobBatches compares batches; of their versions, how they grow. Reading: in how many parts the
// members of a batch are counted is not promised, which share the measure of a call with those of
// other batches, also of other namespaces; and each part is a change. A count that is repeated goes
// on from where the lost one stopped.
func (m *machine) sameJobBatches(what string, got, want []store.JobBatch) {
	m.same(what, got, want, cmpopts.IgnoreFields(store.JobBatch{}, "Version"))
	for _, b := range got {
		before, known := m.versions[b.ID]
		m.versions[b.ID] = b
		if !known {
			continue
		}
		now := b
		now.Version, now.Through = before.Version, before.Through // which also ends when a member is retried
		if changed := env.Difference(before, now) != ""; b.Version < before.Version || changed && b.Version == before.Version {
			m.t.Fatalf("%s: a batch was %+v and is %+v: its version has to grow with every change", what, before, b)
		}
	}
}

// followJobBatches lets the model forget the batches that the store has removed.
func (m *machine) followJobBatches(keep time.Duration) {
	got, err := m.store.Batches(m.ctx, store.BatchFilter{Namespace: m.namespace, Limit: 1000})
	m.must("Batches", err)
	want, err := m.model.Batches(m.ctx, store.BatchFilter{Namespace: m.namespace, Limit: 1000})
	m.must("Batches", nil, err)
	for _, b := range want {
		if slices.ContainsFunc(got, func(g store.JobBatch) bool { return g.ID == b.ID }) {
			continue
		}
		if b.DoneAt.IsZero() || keep == 0 || m.clock.Now().Sub(b.DoneAt) < keep {
			m.t.Fatalf("NoLoss: batch %v was removed: %+v", b.ID, b)
		}
		m.model.ForgetBatch(b.ID)
	}
}

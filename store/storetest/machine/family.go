package machine

import (
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// family begins a check with a parent that waits, and children that run: a sequence that has to
// come there by itself rarely does.
func (m *machine) family(t *rapid.T) {
	if !chance(t, "family", 70) {
		return
	}
	m.joinNode(t)
	both := func(batch func(lease func(*run) store.Lease) *store.Batch) {
		a := batch(func(r *run) store.Lease { return r.store.Lease })
		b := batch(func(r *run) store.Lease { return r.model.Lease })
		m.must("Apply", store.ApplyEach(m.ctx, m.store, a), store.ApplyEach(m.ctx, m.model, b))
	}
	claim := func() []*run {
		m.seqs += 10
		m.send(0, store.ClaimParams{Seq: m.seqs, Namespace: m.namespace, Limit: 10, Kinds: []string{"k1"}}, nil)
		return m.claims[len(m.claims)-1].runs
	}
	add := func(job store.Job, from *run) {
		job.ID = m.ids.Next()
		both(func(lease func(*run) store.Lease) *store.Batch {
			enqueues := []*store.Enqueue{{Job: job}}
			if from == nil {
				return &store.Batch{Enqueues: enqueues}
			}
			return &store.Batch{Appends: []*store.Append{{
				Lease: lease(from), Entries: []store.Entry{{Seq: int64(len(m.jobs)), Kind: store.EntryChild, Name: "k1"}}, Enqueues: enqueues,
			}}}
		})
		m.jobs = append(m.jobs, &known{enqueue: store.Enqueue{Job: job}})
	}
	job := store.Job{Namespace: m.namespace, Queue: "q1", Kind: "k1", Priority: 1, MaxAttempts: 3, Args: []byte("1")}
	add(job, nil)
	parent := claim()[0]
	parent.job.parent = true
	children := rapid.IntRange(2, 4).Draw(t, "children")
	for range children {
		job.Parent, job.Answers = parent.store.Job.ID, true
		job.OnParentClose = pick(t, "policy", store.CancelChild, store.TerminateChild, store.AbandonChild, store.CancelAndWait)
		add(job, parent)
	}
	claim()
	messages := rapid.Int64Range(0, 2).Draw(t, "messages")
	for range messages {
		both(func(func(*run) store.Lease) *store.Batch {
			return &store.Batch{Sends: []*store.Send{{Job: parent.store.Job.ID, Message: env.Signal("a"), Key: "family"}}}
		})
	}
	wait := m.anyWait(t, parent.store.Job.ID, min(messages, 1))
	t.Logf("a family of %d children, whose parent waits like %+v", children, wait)
	park := store.Outcome{State: store.Waiting, Wait: wait, Durable: true}
	both(func(lease func(*run) store.Lease) *store.Batch {
		o := park
		o.Lease = lease(parent)
		return &store.Batch{Outcomes: []*store.Outcome{&o}}
	})
	m.outcomes = append(m.outcomes, sent{parent, park})
	parent.ended, parent.job.live, parent.job.wait = true, false, wait
}

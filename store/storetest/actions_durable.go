package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine on jobs that remember: what persons do to them, and what becomes of children. What runs write is in
// actions_journal.go.

func (m *machine) durableActions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"pausejobs": m.pauseJobs,
		"terminate": m.terminateJobs,
		"fork":      m.forkJob,
		"close":     m.closeChildren,
	}
	for i := range 2 {
		all[fmt.Sprintf("resume%d", i)] = m.resumeJob
	}
	return all
}

// family begins a check with a parent that waits, and children that run: a sequence that has to come there by itself rarely does.
func (m *machine) family(t *rapid.T) {
	if !chance(t, "family", 70) {
		return
	}
	m.joinNode(t)
	both := func(batch func(lease func(*run) store.Lease) *store.Batch) {
		a := batch(func(r *run) store.Lease { return r.store.Lease })
		b := batch(func(r *run) store.Lease { return r.model.Lease })
		m.must("Apply", m.store.Apply(m.ctx, a), m.model.Apply(m.ctx, b))
	}
	claim := func() []*run {
		m.seqs += 10
		m.send(0, store.ClaimParams{Seq: m.seqs, Namespace: m.namespace, Limit: 10, Kinds: []string{"k1"}}, nil)
		return m.claims[len(m.claims)-1].runs
	}
	add := func(job store.Job, from *run) {
		job.ID = m.ids.next()
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
		job.OnParentClose = pick(t, "policy", store.CancelChild, store.TerminateChild, store.AbandonChild)
		add(job, parent)
	}
	claim()
	messages := rapid.Int64Range(0, 2).Draw(t, "messages")
	for range messages {
		both(func(func(*run) store.Lease) *store.Batch {
			return &store.Batch{Sends: []*store.Send{{Job: parent.store.Job.ID, Message: signal("a"), Key: "family"}}}
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

func (m *machine) anyKinds(t *rapid.T) []string {
	if m.mode.durable {
		return pick(t, "kinds", []string{"k1", "k2", "k1@v1", "k2@v1", "k3@v1"}, []string{"k1", "k2", "k3", "k1@v1"},
			[]string{"k1@v1", "k2@v1"}, []string{"k2", "k3"})
	}
	return pick(t, "kinds", []string{"k1", "k2"}, []string{"k1", "k2"}, machineKinds, []string{"k2"})
}

func (m *machine) pauseJobs(t *rapid.T) {
	params := store.PauseJobsParams{Reason: "look first", Actor: "ada"}
	running := chance(t, "running", 50)
	m.drawJobs(t, &params.Jobs, func(k *known) bool { return k.live || !running && !k.state.Finished() })
	t.Logf("pause %v", m.names(params.Jobs))
	got, err := m.store.PauseJobs(m.ctx, params)
	want, err2 := m.model.PauseJobs(m.ctx, params)
	m.must("PauseJobs", err, err2)
	m.same("number of answers", len(got), len(want))
	for i := range want {
		m.sameErr("PauseJobs", got[i].Err, want[i].Err)
		if want[i].Err == nil {
			m.same("PauseJobs", got[i], want[i])
		}
	}
}

func (m *machine) resumeJob(t *rapid.T) {
	var ids []store.ID
	m.drawJobs(t, &ids, func(k *known) bool {
		return k.state == store.Waiting || k.state == store.Failed || k.state == store.Cancelled
	})
	params := resumption(ids[0])
	m.closeBefore(t, ids[:1])
	_, last, _ := m.lengths(params.Job)
	if k := m.find(params.Job); k == nil || !k.live { // Reading: of a job that runs they are not looked at
		params.Keep = pick(t, "keep", -1, -1, last, last-1, 1, 0)
		params.Expect = pick(t, "expect", -1, last, last, last+1)
	}
	t.Logf("resume %v, keep %d, expect %d of %d", m.names(ids[:1]), params.Keep, params.Expect, last)
	got, err := m.store.Resume(m.ctx, params)
	want, err2 := m.model.Resume(m.ctx, params)
	if !m.mode.lossy { // see persistent
		m.sameErr("Resume", err, err2)
		if err2 == nil {
			m.same("Resume", got, want)
		}
	}
	if k := m.find(params.Job); k != nil && err2 == nil {
		k.retried = true
	}
}

func (m *machine) terminateJobs(t *rapid.T) {
	params := store.CancelParams{Reason: cancelReason, Actor: "ada", Terminate: true}
	m.drawJobs(t, &params.Jobs, func(k *known) bool { return k.live || k.state == store.Waiting })
	t.Logf("terminate %v", m.names(params.Jobs))
	got, err := m.store.Cancel(m.ctx, params)
	want, err2 := m.model.Cancel(m.ctx, params)
	m.must("Cancel", err, err2)
	m.same("number of answers", len(got), len(want))
	for i := range want {
		m.sameErr("Cancel", got[i].Err, want[i].Err)
		m.same("Cancel", got[i], want[i], cmpopts.IgnoreFields(store.CancelResult{}, "Err"))
	}
	m.settleLives()
}

func (m *machine) forkJob(t *rapid.T) {
	q := m.newEnqueue(t)
	q.Job.UniqueKey, q.Job.UniqueStates, q.OnConflict, q.Delay = nil, 0, 0, 0
	params := store.ForkParams{From: m.anyJob(t), Keep: rapid.Int64Range(0, 6).Draw(t, "keep"), Job: q.Job, Reason: "what if", Actor: "ada"}
	t.Logf("fork %v, keep %d", m.names([]store.ID{params.From}), params.Keep)
	err := m.store.Fork(m.ctx, params)
	err2 := m.model.Fork(m.ctx, params)
	m.sameErr("Fork", err, err2)
	if err == nil {
		m.jobs = append(m.jobs, &known{enqueue: q, forked: true})
	}
}

// closeChildren lets both sides close all that there is to close: which come first, if there is a limit, is the store's choice.
func (m *machine) closeChildren(t *rapid.T) {
	got, want := m.closeAll(m.store), m.closeAll(m.model)
	t.Logf("closed %v", m.names(want))
	if !m.mode.lossy {
		m.same("closed children", got, want)
	}
	for _, id := range want {
		m.closed[id] = true
	}
	m.settleLives()
}

// closeBefore closes children before a person lets one of them go on. Reading: whether it is closed then because its parent finished
// long ago, and nobody had looked since, is not promised.
func (m *machine) closeBefore(t *rapid.T, ids []store.ID) {
	if slices.ContainsFunc(ids, func(id store.ID) bool {
		k := m.find(id)
		return k != nil && k.enqueue.Job.Parent != store.ID{}
	}) {
		m.closeChildren(t)
	}
}

// makeDurable lets an outcome say what the run knows of its job, and ends some runs in the ways of those that remember.
func (m *machine) makeDurable(t *rapid.T, r *run, o *store.Outcome, batch *store.Batch, appended bool) {
	if o.Repeat {
		return
	}
	id := r.store.Job.ID
	_, last, messages := m.lengths(id)
	o.Durable = last > 0 || appended
	o.HasChildren = r.job.parent || slices.ContainsFunc(batch.Appends, func(a *store.Append) bool {
		return a.Lease.Job == id && len(a.Enqueues) > 0
	})
	if chance(t, "bind", 15) {
		o.Version = pick(t, "version", "v1", "v2")
	}
	if !o.Durable {
		return
	}
	switch {
	case o.State != store.Running && chance(t, "park", 40):
		*o = *outcome(r.store, store.Waiting, func(parked *store.Outcome) {
			parked.Durable, parked.HasChildren, parked.Version = true, o.HasChildren, o.Version
			parked.Wait = m.anyWait(t, id, messages)
			parked.Reason, parked.Error = pick(t, "reason", store.ReasonNondeterminism, store.ReasonTerminal), "it is another one"
		})
	case o.State == store.Available && chance(t, "continue", 60):
		// What was lost on the way would meet another journal when it is repeated.
		if !m.mode.lossy || len(batch.Sends) == 0 && !appended {
			o.Continue = &store.Continue{Args: []byte(pick(t, "args", "1", "2", "3")), Data: []byte(`{}`)}
		}
	}
}

func (m *machine) anyWait(t *rapid.T, id store.ID, messages int64) *store.Wait {
	wait := &store.Wait{
		Seen:     max(0, messages-pick(t, "unseen", int64(0), 0, 0, 1)),
		Failures: chance(t, "failures", 30),
		For:      []byte(`{"signal":"s"}`),
	}
	for kind := store.MessageSignal; kind <= store.MessageChild; kind++ {
		if chance(t, fmt.Sprint("kind ", kind), 35) {
			wait.Kinds |= store.MessagesOf(kind)
		}
	}
	if chance(t, "count", 30) {
		wait.Count = rapid.Int64Range(1, 4).Draw(t, "of")
	}
	if chance(t, "until", 40) {
		wait.Until = m.clock.Now().Add(pick(t, "within", time.Second, 20*time.Second, time.Hour))
	}
	// Reading: whose words are kept of a job that is to be paused, and parks itself held, is not promised.
	if record, err := m.model.Get(m.ctx, id); err == nil && !record.PauseRequested {
		wait.Held = chance(t, "held", 10)
	}
	return wait
}

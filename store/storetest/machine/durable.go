package machine

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

func (m *machine) pauseJobs(t *rapid.T) {
	params := store.PauseJobsParams{Reason: "look first", Actor: "ada"}
	running := chance(t, "running", 50)
	m.drawJobs(t, &params.Jobs, func(k *known) bool { return k.live || !running && !k.state.Finished() })
	t.Logf("pause %v", m.names(params.Jobs))
	got, _, err := m.store.PauseJobs(m.ctx, params)
	want, _, err2 := m.model.PauseJobs(m.ctx, params)
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
	params := env.Resumption(ids[0])
	if m.mode.lossy && m.waitsForOthers(ids[0]) {
		t.Skip("the first time it ends the pause, and repeated the wait for the others")
	}
	m.closeBefore(t, ids[:1])
	_, last, _ := m.lengths(params.Job)
	if k := m.find(params.Job); k == nil || !k.live { // Reading: of a job that runs they are not looked at
		params.Keep = pick(t, "keep", -1, -1, last, last-1, 1, 0)
		params.Expect = pick(t, "expect", -1, last, last, last+1)
	}
	if k := m.find(params.Job); chance(t, "over", 25) && (k == nil || !k.live || !m.mode.lossy) {
		params.Continue = &store.Continue{Args: []byte(pick(t, "args", "1", "2", "3")), Data: []byte(`{}`)}
	}
	t.Logf("resume %v, keep %d, expect %d of %d, over %v", m.names(ids[:1]), params.Keep, params.Expect, last, params.Continue != nil)
	got, _, err := m.store.Resume(m.ctx, params)
	want, _, err2 := m.model.Resume(m.ctx, params)
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

// waitsForOthers reports whether a job comes after others.
func (m *machine) waitsForOthers(job store.ID) bool {
	r, err := m.model.Get(m.ctx, "", job)
	return err == nil && r.Wait != nil && len(r.Predecessors) > 0
}

func (m *machine) terminateJobs(t *rapid.T) {
	params := store.CancelParams{Reason: cancelReason, Actor: "ada", Terminate: true}
	m.drawJobs(t, &params.Jobs, func(k *known) bool { return k.live || k.state == store.Waiting })
	t.Logf("terminate %v", m.names(params.Jobs))
	got, _, err := m.store.Cancel(m.ctx, params)
	want, _, err2 := m.model.Cancel(m.ctx, params)
	m.must("Cancel", err, err2)
	m.sameResults("Cancel", got, want)
	m.settleLives()
}

// finishOutside ends jobs as an outside system does, most of them handed over. Reading: which of a
// parent and its child is ended first is not promised.
func (m *machine) finishOutside(t *rapid.T) {
	var ids []store.ID
	m.drawJobs(t, &ids, func(k *known) bool { return k.state == store.Waiting && k.wait != nil && k.wait.HandedOver })
	params := store.FinishParams{Actor: "ada"}
	for i, id := range ids {
		if slices.ContainsFunc(ids[:i], func(other store.ID) bool { return m.related(id, other) }) {
			ids = ids[:i]
			break
		}
		end := env.CompletedBy(id)
		if chance(t, "fail", 50) {
			end = env.FailedBy(id)
		}
		params.Ends = append(params.Ends, end)
	}
	t.Logf("finish %v", m.names(ids))
	got, _, err := m.store.Finish(m.ctx, params)
	want, _, err2 := m.model.Finish(m.ctx, params)
	m.must("Finish", err, err2)
	m.same("number of answers", len(got), len(want))
	for i := range want {
		if m.mode.lossy && want[i].Err == nil {
			got[i] = want[i] // the call whose answer was lost may have done it, and the next one is refused
		}
	}
	m.sameResults("Finish", got, want)
}

// related reports whether one of two jobs is the other's parent.
func (m *machine) related(a, b store.ID) bool {
	is := func(child, parent store.ID) bool {
		k := m.find(child)
		return k != nil && k.enqueue.Job.Parent == parent
	}
	return is(a, b) || is(b, a)
}

func (m *machine) forkJob(t *rapid.T) {
	q := m.newEnqueue(t)
	withoutKeys(&q)
	q.Delay, q.Job.Batch = 0, store.ID{}
	params := store.ForkParams{From: m.anyJob(t), Keep: rapid.Int64Range(0, 6).Draw(t, "keep"), Job: q.Job, Reason: "what if", Actor: "ada"}
	t.Logf("fork %v, keep %d", m.names([]store.ID{params.From}), params.Keep)
	_, err := m.store.Fork(m.ctx, params)
	_, err2 := m.model.Fork(m.ctx, params)
	m.sameErr("Fork", err, err2)
	if err == nil {
		m.jobs = append(m.jobs, &known{enqueue: q, forked: true})
	}
}

// closeChildren lets both sides close all that there is to close: which come first, if there is a
// limit, is the store's choice.
func (m *machine) closeChildren(t *rapid.T) {
	awaited := m.awaited()
	got, want := m.closeAll(m.store), m.closeAll(m.model)
	t.Logf("closed %v", m.names(want))
	if !m.mode.lossy {
		m.same("closed children", got, want)
	}
	for _, id := range want {
		if k := m.find(id); k != nil && k.enqueue.Job.Parent != (store.ID{}) {
			m.closed[id] = true
		}
	}
	m.settleLives()
	m.noteTold(awaited)
	m.checkDependencies()
}

// closeBefore closes children before a person lets one of them go on. Reading: whether it is closed
// then because its parent finished long ago, and was not looked for since, is not promised.
func (m *machine) closeBefore(t *rapid.T, ids []store.ID) {
	if slices.ContainsFunc(ids, func(id store.ID) bool {
		k := m.find(id)
		return k != nil && k.enqueue.Job.Parent != store.ID{}
	}) {
		m.closeChildren(t)
	}
}

package storetest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine. Each draws its parameters, does the same on both sides, and compares
// the answers.

// machineTTL is such that a lease does not end in the very microsecond in which somebody looks.
const machineTTL = 15*time.Second + 3*time.Microsecond

// cancelReason is the same for all requests: whether the first or the last of two is kept is not promised.
const cancelReason = "not needed"

func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"":       m.check,
		"join":   m.joinNode,
		"leave":  m.leaveNode,
		"beat":   m.beatNode,
		"cancel": m.cancelJobs,
		"retry":  m.retryJobs,
		"pause":  m.pauseQueue,
		"rescue": m.rescueNodes,
		"giveup": m.giveUpRuns,
		"sweep":  m.sweepCancels,
		"retain": m.retainJobs,
		"repeat": m.repeatClaim,
		"again":  m.repeatStart,
	}
	if m.mode.durable {
		maps.Copy(all, m.durableActions())
	}
	if !m.mode.keyed {
		all["promote"] = m.promoteDue
	}
	// What moves jobs forward comes up more often.
	for i := range 4 {
		all[fmt.Sprintf("apply%d", i)] = m.applyBatch
		all[fmt.Sprintf("claim%d", i)] = m.claimJobs
	}
	for i := range 2 {
		all[fmt.Sprintf("clock%d", i)] = m.moveClock
	}
	return all
}

func pick[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

// one draws one of a list whose elements say too much to be printed: a failing check shows the index.
func one[T any](t *rapid.T, what string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

func chance(t *rapid.T, what string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(t, what) >= 100-percent
}

// anyJob draws the id of a job that was enqueued, or now and then one that nobody knows.
func (m *machine) anyJob(t *rapid.T) store.ID {
	if len(m.jobs) == 0 || chance(t, "unknown job", 3) {
		return m.ids.next()
	}
	// The draws shrink towards the last one.
	return m.jobs[len(m.jobs)-1-rapid.IntRange(0, len(m.jobs)-1).Draw(t, "job from the last")].enqueue.Job.ID
}

// drawJobs draws some jobs, most of them from those that fit, if there are any.
func (m *machine) drawJobs(t *rapid.T, ids *[]store.ID, fits func(*known) bool) {
	var fitting []*known
	for _, k := range m.jobs {
		if !k.removed && fits(k) {
			fitting = append(fitting, k)
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "jobs") {
		if len(fitting) > 0 && !chance(t, "any job", 40) {
			*ids = append(*ids, one(t, "fitting job", fitting).enqueue.Job.ID)
		} else {
			*ids = append(*ids, m.anyJob(t))
		}
	}
}

func (m *machine) cancelJobs(t *rapid.T) {
	params := store.CancelParams{Reason: cancelReason, Actor: "ada"}
	m.drawJobs(t, &params.Jobs, func(k *known) bool { return k.live })
	t.Logf("cancel %v", m.names(params.Jobs))
	got, err := m.store.Cancel(m.ctx, params)
	want, err2 := m.model.Cancel(m.ctx, params)
	m.must("Cancel", err, err2)
	m.same("number of answers", len(got), len(want))
	for i := range want {
		m.sameErr("Cancel", got[i].Err, want[i].Err)
		m.same("Cancel", got[i], want[i], cmpopts.IgnoreFields(store.CancelResult{}, "Err"))
	}
}

func (m *machine) retryJobs(t *rapid.T) {
	params := store.RetryParams{Actor: "ada"}
	m.drawJobs(t, &params.Jobs, func(k *known) bool {
		return k.state == store.Failed || k.state == store.Cancelled || k.state == store.Retryable
	})
	m.closeBefore(t, params.Jobs)
	t.Logf("retry %v", m.names(params.Jobs))
	got, err := m.store.Retry(m.ctx, params)
	want, err2 := m.model.Retry(m.ctx, params)
	m.must("Retry", err, err2)
	m.same("number of answers", len(got), len(want))
	for i := range want {
		m.sameErr("Retry", got[i].Err, want[i].Err)
		m.same("Retry", got[i], want[i], cmpopts.IgnoreFields(store.RetryResult{}, "Err"))
		if k := m.find(params.Jobs[i]); k != nil && got[i].Err == nil {
			k.retried = true
		}
	}
}

func (m *machine) pauseQueue(t *rapid.T) {
	params := store.PauseParams{
		Namespace: m.namespace, Queue: m.anyQueue(t), Paused: rapid.Bool().Draw(t, "paused"), Actor: "ada",
	}
	t.Logf("pause %s: %v", params.Queue, params.Paused)
	m.must("Pause", m.store.Pause(m.ctx, params), m.model.Pause(m.ctx, params))
}

func (m *machine) promoteDue(t *rapid.T) {
	limit := pick(t, "limit", 1000, 1, 2, 3)
	t.Logf("promote %d", limit)
	got, err := m.store.Promote(m.ctx, limit)
	want, err2 := m.model.Promote(m.ctx, limit)
	m.must("Promote", err, err2)
	if m.mode.lossy {
		// Some may have been promoted by a call whose answer was lost, and more by its repetition.
		m.settle()
		return
	}
	if got.Jobs != want.Jobs || (got.More != want.More && want.Jobs < limit) {
		t.Fatalf("Promote: the store says %+v, the model %+v", got, want)
	}
	for _, w := range want.Wakes {
		if !isReady(got.Wakes, w.Namespace, w.Queue) {
			t.Fatalf("Promote: the store says %+v, the model %+v", got, want)
		}
	}
	if !want.More && !got.NextDue.Equal(want.NextDue) {
		t.Fatalf("Promote: the next job is due at %v, the model says %v", got.NextDue, want.NextDue)
	}
}

func (m *machine) sweepCancels(*rapid.T) {
	_, err := m.store.SweepCancels(m.ctx)
	_, err2 := m.model.SweepCancels(m.ctx)
	m.must("SweepCancels", err, err2)
}

func (m *machine) claimJobs(t *rapid.T) {
	i := m.anyNode(t)
	if m.mode.keyed {
		m.settle()
	}
	m.seqs += 10
	params := store.ClaimParams{
		Seq: m.seqs, Namespace: m.namespace, Limit: rapid.IntRange(1, 6).Draw(t, "limit"),
		Kinds: m.anyKinds(t),
		Aging: pick(t, "aging", 0, 0, 20*time.Second),
	}
	if chance(t, "queues", 30) {
		params.Queues = []store.QueueDemand{}
		for _, q := range machineQueues {
			if chance(t, "serve "+q, 70) {
				params.Queues = append(params.Queues, store.QueueDemand{Name: q, Limit: rapid.IntRange(0, 4).Draw(t, "of "+q)})
			}
		}
	}
	// Also the first time, as a caller does whose first request was lost.
	params.Repeat = chance(t, "first lost", 10)
	m.send(i, params, nil)
}

// repeatClaim sends a claim again, of which some job still runs: of one that is done altogether nothing may be left
// that a store could recognise.
func (m *machine) repeatClaim(t *rapid.T) {
	var candidates []claim
	for _, c := range m.claims {
		if slices.ContainsFunc(c.runs, func(r *run) bool { return r.job.live && r.job.lease == r.store.Lease.Number }) {
			candidates = append(candidates, c)
		}
	}
	if len(candidates) == 0 {
		t.Skip("nothing to repeat")
	}
	c := one(t, "claim", candidates)
	c.params.Repeat = true
	m.send(c.node, c.params, c.runs)
}

// send claims on both sides. known are the runs that a repeated claim may return.
func (m *machine) send(nodeIndex int, params store.ClaimParams, known []*run) {
	m.t.Logf("node %d claims %+v", nodeIndex, params)
	a, b := params, params
	a.Node, b.Node = m.nodes[nodeIndex].store, m.nodes[nodeIndex].model
	got, err := m.store.Claim(m.ctx, a)
	want, err2 := m.model.Claim(m.ctx, b)
	m.sameErr("Claim", err, err2)
	runs := m.take(got, want, known)
	if known == nil {
		m.claims = append(m.claims, claim{node: nodeIndex, params: params, runs: runs})
	}
}

// take compares the jobs that were claimed on both sides, and remembers and returns the runs that are new. known are those that were
// claimed before, if it is a repetition.
func (m *machine) take(got, want []store.Claimed, known []*run) (runs []*run) {
	m.same("claimed jobs", claimedIDs(got), claimedIDs(want))
	for i := range got {
		if !want[i].Durable || known != nil || m.ownWords(want[i].CancelReason) {
			// Reading: whether a repeated claim tells of requests is not promised, nor does it matter without a journal.
			got[i].CancelRequested, got[i].CancelReason = want[i].CancelRequested, want[i].CancelReason
		}
		m.same("claimed job", got[i], want[i],
			cmpopts.IgnoreFields(store.Lease{}, "Node", "Claim", "Slot"))
		job := m.find(got[i].Job.ID)
		number := got[i].Lease.Number
		if at := slices.IndexFunc(known, func(r *run) bool { return r.job == job }); at >= 0 {
			m.same("lease of a repeated claim", got[i].Lease, known[at].store.Lease)
			continue
		}
		if job.live || number <= job.lease || known != nil {
			m.t.Fatalf("OneOwner: job %v was claimed with lease %d while lease %d was live: %v", got[i].Job.ID, number, job.lease, job.live)
		}
		job.live, job.lease = true, number
		r := &run{job: job, store: got[i], model: want[i]}
		m.runs, runs = append(m.runs, r), append(runs, r)
	}
	return runs
}

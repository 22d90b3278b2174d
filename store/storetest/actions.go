package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine. Each draws its parameters, does the same on both sides, and compares the answers. The
// times below are such that no two of them meet: a lease does not end, and a node does not die, in the very
// microsecond in which somebody looks.
const (
	machineDeadAfter = 20*time.Second + 7*time.Microsecond
	machineTTL       = 15*time.Second + 3*time.Microsecond
)

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

func (m *machine) joinNode(t *rapid.T) {
	alive := 0
	for _, n := range m.nodes {
		if n.alive {
			alive++
		}
	}
	if alive >= 3 {
		t.Skip("enough nodes")
	}
	info := store.NodeInfo{Name: "n", Slots: 3}
	a, err := m.store.Join(m.ctx, info)
	b, err2 := m.model.Join(m.ctx, info)
	m.must("Join", err, err2)
	if m.place(a, storeSide) >= 0 {
		t.Fatalf("OneOwner: node id %d came twice", a)
	}
	m.nodes = append(m.nodes, node{store: a, model: b, alive: true})
	t.Logf("node %d joins", len(m.nodes)-1)
}

// anyNode draws a node, mostly one that is alive.
func (m *machine) anyNode(t *rapid.T) int {
	if len(m.nodes) == 0 || (len(m.nodes) < 2 && chance(t, "new node", 50)) {
		m.joinNode(t)
	}
	var alive []int
	for i, n := range m.nodes {
		if n.alive {
			alive = append(alive, i)
		}
	}
	if len(alive) > 0 && !chance(t, "any node", 5) {
		return rapid.SampledFrom(alive).Draw(t, "node")
	}
	return rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
}

func (m *machine) leaveNode(t *rapid.T) {
	i := m.anyNode(t)
	t.Logf("node %d leaves", i)
	m.must("Leave", m.store.Leave(m.ctx, m.nodes[i].store), m.model.Leave(m.ctx, m.nodes[i].model))
	m.nodes[i].alive = false
	m.gone(i)
	m.sweepCancels(t) // a store may leave it to the sweep to cancel what was to be cancelled
}

// gone notes that the leases of a node are over.
func (m *machine) gone(node int) {
	for _, r := range m.runs {
		if r.store.Lease.Node == m.nodes[node].store && r.job.lease == r.store.Lease.Number {
			r.job.live = false
		}
	}
}

func (m *machine) beatNode(t *rapid.T) {
	i := m.anyNode(t)
	ttl := time.Duration(0)
	if chance(t, "stand", 50) {
		ttl = machineTTL
	}
	t.Logf("node %d beats, leader for %v", i, ttl)
	got, want := m.beat(i, ttl)
	if ttl == 0 {
		return // whether a beat that does not stand tells of the leadership is not promised
	}
	m.same("leader", got.Leader, want.Leader)
	if got.Leader {
		if got.Epoch < m.epoch {
			t.Fatalf("the epoch went from %d to %d", m.epoch, got.Epoch)
		}
		m.epoch = got.Epoch
	}
}

// beat lets a node beat, and compares what it is asked to cancel.
func (m *machine) beat(i int, ttl time.Duration) (got, want store.Beat) {
	got, err := m.store.Beat(m.ctx, store.BeatParams{Node: m.nodes[i].store, LeaderTTL: ttl, DeadAfter: deadAfter})
	want, err2 := m.model.Beat(m.ctx, store.BeatParams{Node: m.nodes[i].model, LeaderTTL: ttl, DeadAfter: deadAfter})
	m.sameErr("Beat", err, err2)
	if w, g := want.Work, got.Work; w.Rescue && !g.Rescue || w.SweepCancels && !g.SweepCancels || w.CloseChildren && !g.CloseChildren {
		m.t.Fatalf("a beat tells the leader of %+v, there is %+v to do", g, w)
	}
	byJob := func(a, b store.CancelRequest) int { return slices.Compare(a.Job[:], b.Job[:]) }
	slices.SortFunc(got.Cancels, byJob)
	slices.SortFunc(want.Cancels, byJob)
	for i, c := range want.Cancels {
		if m.ownWords(c.Reason) && i < len(got.Cancels) {
			got.Cancels[i].Reason, got.Cancels[i].Actor = c.Reason, c.Actor
		}
	}
	m.same("cancels", got.Cancels, want.Cancels, cmpopts.IgnoreFields(store.CancelRequest{}, "At"))
	m.same("pauses", sortedIDs(got.Pauses), sortedIDs(want.Pauses))
	return got, want
}

func (m *machine) moveClock(t *rapid.T) {
	d := pick(t, "by", time.Millisecond, time.Second, time.Second, 10*time.Second, 30*time.Second, 5*time.Minute, time.Hour, 4*24*time.Hour)
	// Most nodes are not late, or nothing would ever run to its end.
	if chance(t, "all beat", 80) {
		m.pass(t, d, -1)
	} else {
		m.clock.Advance(d)
		t.Logf("it is %v, and nobody beats", m.clock.Now())
	}
}

// pass moves the clock, and lets every node beat but one.
func (m *machine) pass(t *rapid.T, d time.Duration, silent int) {
	m.clock.Advance(d)
	t.Logf("it is %v, and all but node %d beat", m.clock.Now(), silent)
	for i, n := range m.nodes {
		if n.alive && i != silent {
			m.beat(i, 0)
		}
	}
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
	for _, q := range want.Queues {
		if !slices.Contains(got.Queues, q) {
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

func (m *machine) rescueNodes(t *rapid.T) {
	params := store.RescueParams{DeadAfter: machineDeadAfter, Limit: 100, Decide: func(j store.Job) (time.Duration, bool) {
		return time.Duration(j.Attempt) * 10 * time.Second, j.Attempt < j.MaxAttempts
	}}
	// Half of the time a node that runs something falls silent first, or rescues would find little.
	var busy []int
	for i, n := range m.nodes {
		if n.alive && slices.ContainsFunc(m.runs, func(r *run) bool {
			return r.job.live && r.store.Lease.Node == n.store && r.store.Lease.Number == r.job.lease
		}) {
			busy = append(busy, i)
		}
	}
	if len(busy) > 0 && chance(t, "silence", 50) {
		m.pass(t, 30*time.Second, rapid.SampledFrom(busy).Draw(t, "silent"))
	}
	t.Logf("rescue")
	now := m.clock.Now()
	got, err := m.store.Rescue(m.ctx, params)
	want, err2 := m.model.Rescue(m.ctx, params)
	m.must("Rescue", err, err2)
	for _, r := range want {
		m.find(r.Job).pass(r.State)
	}
	if !m.mode.lossy {
		tidy := func(rescued []store.Rescued, side func(node) int64) []store.Rescued {
			for i := range rescued {
				r := &rescued[i]
				r.Node = m.place(r.Node, side)
				if r.State != store.Retryable {
					r.RunAt = time.Time{}
				}
				if r.State == store.Available || r.State == store.Waiting {
					r.Reason = "" // Reading: it is not promised here why a rescued job is asked to stop, or held
				}
			}
			slices.SortFunc(rescued, func(a, b store.Rescued) int { return slices.Compare(a.Job[:], b.Job[:]) })
			return rescued
		}
		m.same("Rescue", tidy(got, storeSide), tidy(want, modelSide))
	}
	listed, err := m.model.Nodes(m.ctx)
	m.must("Nodes", nil, err)
	for _, n := range listed {
		if i := m.place(n.ID, modelSide); !n.DeadAt.IsZero() && n.DeadAt.Equal(now) && m.nodes[i].alive {
			m.nodes[i].alive = false
			m.gone(int(i))
		}
	}
}

// retainJobs lets the model follow the store, which may keep jobs longer than asked but never shorter.
func (m *machine) retainJobs(t *rapid.T) {
	keep := func(what string) time.Duration { return pick(t, what, 0, time.Minute, time.Hour, 24*time.Hour) }
	params := store.RetainParams{Completed: keep("completed"), Failed: keep("failed"), Cancelled: keep("cancelled"), Limit: 10}
	t.Logf("retain %+v", params)
	for calls := 0; ; calls++ {
		retained, err := m.store.Retain(m.ctx, params)
		m.must("Retain", err)
		if !retained.More {
			break
		}
		if calls > 1000 {
			t.Fatal("Retain says More for ever")
		}
	}
	limits := map[store.State]time.Duration{store.Completed: params.Completed, store.Failed: params.Failed, store.Cancelled: params.Cancelled}
	for _, k := range m.jobs {
		if k.removed || !k.state.Finished() {
			continue
		}
		id := k.enqueue.Job.ID
		_, err := m.store.Get(m.ctx, id)
		record, err2 := m.model.Get(m.ctx, id)
		m.must("Get", nil, err2)
		age, limit := m.clock.Now().Sub(record.FinishedAt), limits[record.State]
		over := limit > 0 && age >= limit
		switch {
		case err == nil && over && age >= limit+slack:
			t.Fatalf("%v job %v finished %v ago and is kept, although %v was asked for", record.State, id, age, limit)
		case err == nil:
		case !errors.Is(err, store.ErrNotFound):
			t.Fatalf("Get: %v", err)
		case !over:
			t.Fatalf("NoLoss: %v job %v was removed %v after it finished, although %v was asked for", record.State, id, age, limit)
		default:
			m.model.Forget(id)
			k.removed = true
		}
	}
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

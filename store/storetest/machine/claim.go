package machine

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

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
		if chance(t, "kinds", 40) {
			params.Queues = append(params.Queues, m.kindDemands(t, params.Kinds)...)
		}
	}
	if m.mode.gated {
		m.gatedClaim(&params)
	}
	// Also the first time, as a caller does whose first request was lost.
	params.Repeat = chance(t, "first lost", 10)
	m.send(i, params, nil)
}

// kindDemands draws demands for kinds, in a queue or in all, and for everything.
func (m *machine) kindDemands(t *rapid.T, kinds []string) (demands []store.QueueDemand) {
	for _, kind := range append([]string{""}, kinds...) {
		for _, queue := range append([]string{""}, machineQueues...) {
			if (kind != "" || queue == "") && chance(t, "demand "+queue+" "+kind, 25) {
				demands = append(demands, store.QueueDemand{Name: queue, Kind: kind, Limit: rapid.IntRange(0, 3).Draw(t, "of "+queue+" "+kind)})
			}
		}
	}
	return demands
}

// repeatClaim sends a claim again, of which some job still runs: of one that is done altogether
// nothing may be left that a store could recognise.
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
	if m.mode.gated {
		params.Passed = &store.Passed{}
	}
	a, b := params, params
	a.Node, b.Node = m.nodes[nodeIndex].store, m.nodes[nodeIndex].model
	got, err := m.store.Claim(m.ctx, a)
	want, err2 := m.claimOfModel(b, got, known != nil)
	m.sameErr("Claim", err, err2)
	runs := m.take(got, want, known)
	if known == nil {
		m.claims = append(m.claims, claim{node: nodeIndex, params: params, runs: runs})
	}
}

// take compares the jobs that were claimed on both sides, and remembers and returns the runs that
// are new. known are those that were claimed before, if it is a repetition.
func (m *machine) take(got, want []store.Claimed, known []*run) (runs []*run) {
	m.same("claimed jobs", env.ClaimedIDs(got), env.ClaimedIDs(want))
	for i := range got {
		got[i].CancelReason = m.asTold(got[i].Job.ID, got[i].CancelReason)
		want[i].CancelReason = m.asTold(want[i].Job.ID, want[i].CancelReason)
		if !want[i].Durable || known != nil || m.ownWords(want[i].CancelReason) {
			// Reading: whether a repeated claim tells of requests is not promised, nor does it
			// matter without a journal.
			got[i].CancelRequested, got[i].CancelReason = want[i].CancelRequested, want[i].CancelReason
		}
		// Reading: an outcome says that its job has a journal, also beside an append that was
		// refused, which no engine writes apart from it. What is empty is read in vain.
		got[i].Durable = got[i].Durable && want[i].Durable
		m.same("claimed job", got[i], want[i],
			cmpopts.IgnoreFields(store.Lease{}, "Node", "Claim", "Slot"), cmpopts.IgnoreFields(store.Claimed{}, "HasSuccessors"))
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

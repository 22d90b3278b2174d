package env

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Promote promotes until there is nothing left to promote.
func (e *Env) Promote() {
	e.Helper()
	for range 1000 {
		promoted, err := e.Store.Promote(e.Ctx, 1000)
		e.NoError("Promote", err)
		if !promoted.More {
			return
		}
	}
	e.Fatal("Promote says More for ever")
}

// Demand returns claim parameters for up to limit jobs of the usual kinds, with a number of their
// own.
func (e *Env) Demand(node int64, limit int) store.ClaimParams {
	seq := e.seqs.Add(int64(limit/store.MaxClaimSlots+1)) - int64(limit/store.MaxClaimSlots)
	return store.ClaimParams{Node: node, Seq: seq, Namespace: e.space, Kinds: []string{"send", "push", "bill"}, Limit: limit}
}

// ClaimWith claims with the given parameters.
func (e *Env) ClaimWith(params store.ClaimParams) []store.Claimed {
	e.Helper()
	claimed, err := e.Store.Claim(e.Ctx, params)
	e.NoError("Claim", err)
	return claimed
}

// Claim promotes what is due, so that ordering keys that are free are handed on, and claims up to
// limit jobs.
func (e *Env) Claim(node int64, limit int) []store.Claimed {
	e.Helper()
	e.Promote()
	return e.ClaimWith(e.Demand(node, limit))
}

// ClaimOne claims exactly one job, which must be the given one.
func (e *Env) ClaimOne(node int64, id store.ID) store.Claimed {
	e.Helper()
	claimed := e.Claim(node, 1)
	e.WantIDs("claimed", ClaimedIDs(claimed), id)
	return claimed[0]
}

// ClaimKinds claims with a list of kinds.
func (e *Env) ClaimKinds(node int64, kinds ...string) []store.Claimed {
	e.Helper()
	e.Promote()
	params := e.Demand(node, 100)
	params.Kinds = kinds
	return e.ClaimWith(params)
}

// ClaimRuns claims everything there is of the usual kinds, or of those that are given.
func (e *Env) ClaimRuns(node int64, kinds ...string) map[store.ID]store.Claimed {
	e.Helper()
	e.Promote()
	params := e.Demand(node, 1000)
	if len(kinds) > 0 {
		params.Kinds = kinds
	}
	runs := map[store.ID]store.Claimed{}
	for _, run := range e.ClaimWith(params) {
		runs[run.Job.ID] = run
	}
	return runs
}

// WantNothing promotes, and checks that there is nothing for the node to claim.
func (e *Env) WantNothing(node int64) {
	e.Helper()
	if claimed := e.Claim(node, 100); len(claimed) != 0 {
		e.Fatalf("claimed %v, want nothing", ClaimedIDs(claimed))
	}
}

// WantCancelTold claims a job, whose run must be told that it was cancelled, and why.
func (e *Env) WantCancelTold(node int64, id store.ID) store.Claimed {
	e.Helper()
	run := e.ClaimOne(node, id)
	if !run.CancelRequested || run.CancelReason != "not needed" || !run.Durable {
		e.Fatalf("the run after the cancel: %+v", run)
	}
	cancels := e.Beat(node).Cancels
	if len(cancels) != 1 || cancels[0].Job != id || cancels[0].Reason != "not needed" || cancels[0].Actor != "ada" {
		e.Fatalf("the beat brings %+v", cancels)
	}
	return run
}

// Started makes a job and a run of it that has lasted for a second.
func (e *Env) Started(change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	run := e.ClaimOne(e.Join(), e.Add(change...))
	e.Clock.Advance(time.Second)
	return run
}

// ClaimedIDs are the jobs of what was claimed.
func ClaimedIDs(claimed []store.Claimed) []store.ID {
	var ids []store.ID
	for _, c := range claimed {
		ids = append(ids, c.Job.ID)
	}
	return ids
}

// IDsOf are the jobs of enqueues.
func IDsOf(enqueues []*store.Enqueue) []store.ID {
	var ids []store.ID
	for _, q := range enqueues {
		ids = append(ids, q.Job.ID)
	}
	return ids
}

// LeasesOf are the leases of runs.
func LeasesOf(runs []store.Claimed) []store.Lease {
	var leases []store.Lease
	for _, run := range runs {
		leases = append(leases, run.Lease)
	}
	return leases
}

// RescuedIDs are the jobs of what was rescued.
func RescuedIDs(rescued []store.RescuedJob) []store.ID {
	var ids []store.ID
	for _, r := range rescued {
		ids = append(ids, r.Job)
	}
	return ids
}

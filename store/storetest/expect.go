package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

// attemptOf is the record that the outcome of a run must leave.
func attemptOf(run store.Claimed, o *store.Outcome, ended time.Time) store.Attempt {
	return store.Attempt{
		Number: run.Job.Attempt, LeaseNumber: run.Lease.Number, Node: run.Lease.Node,
		ClaimedAt: run.ClaimedAt, StartedAt: o.StartedAt, EndedAt: ended,
		Outcome: o.Final, Reason: o.Reason, Error: o.Error, Trace: o.Trace,
	}
}

// finishedLease compares leases of finished jobs, of which only the number and the node are told.
var finishedLease = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Lease" },
	cmp.Comparer(func(a, b store.Lease) bool { return a.Number == b.Number && a.Node == b.Node }))

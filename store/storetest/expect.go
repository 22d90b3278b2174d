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

// uncountedNumber leaves out the number of attempts that do not count. Reading: "as counted" may be read as the number
// that the run had or as the number that is left of it.
var uncountedNumber = cmp.FilterPath(func(p cmp.Path) bool {
	if p.Last().String() != ".Number" || len(p) < 2 {
		return false
	}
	want, got := p.Index(-2).Values()
	for _, v := range []any{want.Interface(), got.Interface()} {
		if a, ok := v.(store.Attempt); !ok || a.Outcome != store.Scheduled && a.Outcome != store.Available {
			return false
		}
	}
	return true
}, cmp.Ignore())

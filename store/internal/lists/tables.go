package lists

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Few is how many jobs are read and sorted as a whole.
const Few = store.CountBound

// Found is a job that a table has.
type Found struct {
	Place

	State   store.State // as the table knows it; 0: it does not
	Checked bool        // it fits, but for what Tables.Fits does not look at either
}

// Rows are what was looked at of a table, in an order.
type Rows struct {
	Found  []Found // of rows that were checked there, those that fit
	Looked int     // how many rows; fewer than asked for: they were the last
	Last   Place   // of the last row, if there is one
}

// Where is a set of tables that have pointers.
type Where uint8

// The tables with pointers.
const (
	InReady    Where = 1 << iota // available jobs
	InLine                       // available jobs that wait for the turn of an ordering key
	InDeferred                   // scheduled, retryable and waiting ones
	InClaims                     // those that run
)

// whereOf are the tables in which jobs are that are in such a state.
func whereOf(states store.StateSet) (w Where) {
	if states.Has(store.Available) {
		w |= InReady | InLine
	}
	if states&store.SetOf(store.Scheduled, store.Retryable, store.Waiting) != 0 {
		w |= InDeferred
	}
	if states.Has(store.Running) {
		w |= InClaims
	}
	return w
}

// Document is what a job has of JSON.
type Document struct {
	Args     []byte
	Codec    int // of the args
	Metadata []byte
}

// Declared is a search attribute as a store finds it.
type Declared struct {
	ID   int64
	Type store.AttributeType
}

// Values is a range of values as databases keep them: From belongs to it, and Below does not.
type Values struct{ From, Below string }

// Tables are what a store looks at for one list or count, in one snapshot. They know its filter,
// and the states that are wanted.
type Tables interface { //nolint:interfacebloat // one method for each way to look
	// Holder returns the job that holds a unique key, if there is one.
	Holder(key []byte) ([]store.ID, error)
	// ByKey returns the jobs that have a business key, or had it last: one of each kind of the
	// filter at the most. Some of them may have been removed.
	ByKey(key string) ([]store.ID, error)
	// Descendants returns the children of a job, theirs, and so on, up to limit of them.
	Descendants(root store.ID, limit int) ([]store.ID, error)
	// LostFrom returns jobs of which a run was lost with a node, up to limit of them.
	LostFrom(node int64, limit int) ([]store.ID, error)
	// Pointers returns jobs that have a pointer in one of the tables, in a wanted state and at
	// times of a span, up to limit of them in any order. Of lanes it may return others as well.
	Pointers(in Where, times Span, limit int) ([]Found, error)
	// NotCompletedIn returns jobs that failed or were cancelled, in a wanted state and in the lanes
	// of the filter, up to limit of them. It finds nothing, and says so, if that selects all lanes.
	NotCompletedIn(limit int) (found []Found, byLane bool, err error)
	// Times returns the places of those of the jobs that have one in an order by time.
	Times(s store.Sort, ids []store.ID) ([]Found, error)

	// Jobs returns the next n of all jobs, in an order by id, within a range.
	Jobs(s store.Sort, r Range, n int) (Rows, error)
	// Finished does so with those that have finished, in wanted states or not.
	Finished(s store.Sort, r Range, n int) (Rows, error)
	// Children does so with the children of a job.
	Children(parent store.ID, s store.Sort, r Range, n int) (Rows, error)
	// NotCompleted does so with the jobs that failed or were cancelled, whichever are wanted.
	NotCompleted(s store.Sort, r Range, n int) (Rows, error)
	// Ready returns the next n jobs in ready by run time, after a place and within a span.
	Ready(after *Place, times Span, n int) (Rows, error)
	// Deferred does so with those in deferred that are in a wanted state.
	Deferred(after *Place, times Span, n int) (Rows, error)
	// Ended does so with those that finished in a state, the last first.
	Ended(state store.State, after *Place, times Span, n int) (Rows, error)

	// Dead does so with those that failed and have one of the fingerprints of the filter, in its
	// lanes.
	Dead(after *Place, times Span, n int) (Rows, error)

	// Declared returns the search attributes of the filter's namespace by name, without those that
	// are being removed.
	Declared() (map[string]Declared, error)
	// Valued returns the next n jobs that have a value for an attribute, in an order by id, within
	// a range.
	Valued(attribute int64, value string, s store.Sort, r Range, n int) (Rows, error)
	// ValuedIn returns jobs whose value for an attribute is in a range, up to limit of them.
	ValuedIn(attribute int64, in Values, limit int) ([]store.ID, error)
	// ValuesOf returns what jobs have for an attribute, in the order given; "": nothing.
	ValuesOf(attribute int64, ids []store.ID) ([]string, error)
	// LaneCount returns how many lanes the filter selects, which are not all.
	LaneCount() (int, error)
	// Buckets returns the next n buckets within a range, in an order by id, in which the lanes of
	// the filter may have jobs, each once.
	Buckets(s store.Sort, r Range, n int) ([]Bucket, error)
	// FewBuckets returns up to n of them, in any order. One may be there several times, which
	// count.
	FewBuckets(r Range, n int) ([]Bucket, error)
	// Within is Jobs for several ranges, which are in the order. It may pass over those of other
	// lanes, which count.
	Within(s store.Sort, ranges []Range, n int) (Rows, error)

	// Fits looks at all fields of the filter but IDs, UniqueKey, Key, the range of creation,
	// Metadata, Args and Attributes, and at the state of jobs whose State is 0.
	Fits(found []Found) ([]bool, error)
	// Documents returns what jobs have of JSON, in the order given.
	Documents(ids []store.ID) ([]Document, error)
	// Records returns what is known of jobs, in the order given.
	Records(ids []store.ID) ([]store.Record, error)
}

// Wanted are the states in which a job may fit a filter, in a list with that order.
func Wanted(f *store.Filter, s store.Sort) store.StateSet {
	wanted := s.States()
	if len(f.States) > 0 {
		wanted &= setOf(f.States)
	}
	if len(f.Reasons) > 0 {
		wanted &= store.SetOf(store.Failed, store.Cancelled)
	}
	if len(f.Fingerprints) > 0 {
		wanted &= store.SetOf(store.Failed)
	}
	if RunTimes(f) != always {
		wanted &= store.Unfinished
	}
	if FinishedTimes(f) != always {
		wanted &^= store.Unfinished
	}
	return wanted
}

// setOf is the set of those that are states.
func setOf(states []store.State) (set store.StateSet) {
	for _, s := range states {
		if s >= store.Scheduled && s <= store.Cancelled {
			set |= store.SetOf(s)
		}
	}
	return set
}

// RunTimes are the run times that a filter selects.
func RunTimes(f *store.Filter) Span { return span(f.RunAfter, f.RunBefore) }

// FinishedTimes are the times at which the jobs finished that a filter selects.
func FinishedTimes(f *store.Filter) Span { return span(f.FinishedAfter, f.FinishedBefore) }

// Fingerprints are those that a filter selects, each once.
func Fingerprints(f *store.Filter) []int64 {
	return slices.Compact(slices.Sorted(slices.Values(f.Fingerprints)))
}

// Every are all states.
var Every = store.SetOf(store.States...)

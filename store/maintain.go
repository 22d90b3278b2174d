package store

import "time"

// Promoted is the answer of Promote.
type Promoted struct {
	Jobs  int    // how many became available, of all namespaces; until then a job that is due stays deferred
	Wakes []Wake // one WakeReady for each queue that has something to claim now; empty when Jobs is 0
	More  bool   // the limit was reached: ask again
	// NextDue is when the next deferred job of any namespace is due, or the next that waits for the
	// rate of its key; zero: none that is known.
	NextDue time.Time
}

// Swept is the answer of SweepCancels.
type Swept struct {
	Jobs  int  // requests that were applied
	Ended []ID // jobs that this call has finished, as cancelled
	Wakes []Wake
}

// Closed is the answer of CloseChildren.
type Closed struct {
	Ended   []ID   // children and successors that were ended at once, by this call, as cancelled
	Running []ID   // children that run and were asked to stop
	Wakes   []Wake // children that are to end themselves, parents that the end of others woke, successors, turns that were handed on
	More    bool   // the limit was reached, or those that ended may have children or successors: ask again
	// Watch: a job may end without a note that others come after it, since it began to run before
	// they did. Ask again within a second.
	Watch bool
}

// Retention says how long finished jobs are kept, by their state, counted from the moment they
// finished. They are kept at least that long; how much longer depends on the store (a day on
// PostgreSQL, which drops whole partitions). For Retain zero is for ever; in the option
// WithRetention of package holdfast it is the default.
type Retention struct {
	Completed time.Duration
	Failed    time.Duration
	Cancelled time.Duration
	// Audit is how long it is kept what people did. What they did to a job goes with the job, if
	// that is removed later.
	Audit time.Duration
	// Feed is how long changes are kept in the feed.
	Feed time.Duration
	// Stubs is how long the stubs of archived jobs are kept, from their removal.
	Stubs time.Duration
	// Archived lets Retain remove no finished job: its caller removes them by RemoveExpired, once
	// they are kept elsewhere.
	Archived bool
	// Limit bounds the work of one call on stores that delete row by row.
	Limit int
}

// Retained is the answer of Retain.
type Retained struct {
	Jobs int  // how many were removed
	More bool // there is more to remove now
}

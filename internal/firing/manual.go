package firing

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Replaced is the reason of a job that was asked to stop because of the next one.
const Replaced = "replaced by the next job of its schedule"

// Manual is a fire that a person asks for, of nominal times: each has a job, unless the policy is
// against it. number tells it apart from others; see store.Fire. What the clock does is not
// changed. One that replaces a job is of the version of the schedule that its caller sets, and
// makes the schedule due, so that the job is asked to stop whatever becomes of the caller.
func Manual(s *store.Schedule, nominal []time.Time, number int64, overlap store.Overlap) store.Unit {
	fire := &store.Fire{Namespace: s.Namespace, Name: s.Name, Manual: number}
	u := store.Unit{Fire: fire}
	if replaces(overlap) {
		fire.Cancels = s.Last
	}
	for _, at := range nominal {
		q := enqueue(s, at, overlap)
		u.Enqueues = append(u.Enqueues, q)
		fire.Runs = append(fire.Runs, store.FireRun{Nominal: at, State: store.RunFired, Enqueue: q})
	}
	return u
}

// Asked is the fire by which a schedule forgets the job that a Manual one has replaced, and that
// was asked to stop. s is the schedule as it was before that one.
func Asked(s *store.Schedule) store.Unit {
	return store.Unit{Fire: &store.Fire{
		Namespace: s.Namespace, Name: s.Name, Version: s.Version + 1, Cursor: s.Cursor, NextAt: s.NextAt, Left: s.Left,
	}}
}

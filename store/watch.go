package store

import (
	"slices"
	"time"
)

// WakeKind says what happened.
type WakeKind uint8

// The kinds of wake-ups.
const (
	WakeAll         WakeKind = iota // look at everything: wake-ups may have been lost
	WakeReady                       // a job of Queue may be claimed
	WakeDeferred                    // a job is due soon, at Due
	WakeCancel                      // a running job is to be cancelled: Jobs, or, if it names none, any
	WakeQueue                       // a queue was paused or resumed
	WakeLeader                      // there is something to do for the node that leads
	WakeWanted                      // a process waits for Jobs, and for those made since Due: news of them is told by WakeNews
	WakeStillWanted                 // the same, said before: news of a moment ago were told then
	WakeNews                        // Jobs have ended or published something; without any: some may have
	WakeLimit                       // a limit was made, changed or removed
	WakeSlotsWanted                 // a node has jobs that wait for slots of a limit
	WakeSlotsFree                   // slots of a limit were given back
	WakeNode                        // people want something else of Node than before
	WakeWatched                     // a process watches the runs of Jobs: what they do is told by WakeDetail; without any: it asks who watches
	WakeDetail                      // runs of Jobs that are watched have gone on; without any: some may have
)

// Wake tells a node that looking is worth while. Wake-ups are hints: they may come twice, late or
// never, and nothing may depend on them but latency.
type Wake struct {
	Kind WakeKind
	// Namespace is that of Queue. Wake-ups that are about no queue and no limit concern everybody:
	// every node promotes for all namespaces, one leads for all, and a job's id says enough.
	Namespace string
	Queue     string // or the name of a limit
	Due       time.Time
	Maker     Maker // who has made the ids of the jobs since Due; 0: anybody
	Jobs      []ID
	Node      int64
}

// Concerns reports whether the wake-up is for a node of the namespace: whether it is about none, or
// about that one.
func (w Wake) Concerns(namespace string) bool {
	switch w.Kind {
	case WakeReady, WakeQueue, WakeLimit, WakeSlotsWanted, WakeSlotsFree:
		return w.Namespace == namespace
	default:
		return true
	}
}

// AddWake adds a wake-up of a queue, or of a time, to those that say something else. Of times the
// earliest is told.
func AddWake(wakes []Wake, w Wake) []Wake {
	i := slices.IndexFunc(wakes, func(k Wake) bool { return k.Kind == w.Kind && k.Namespace == w.Namespace && k.Queue == w.Queue })
	switch {
	case i < 0:
		return append(wakes, w)
	case w.Due.Before(wakes[i].Due):
		wakes[i].Due = w.Due
	}
	return wakes
}

// Traits is what the engine should know of a store.
type Traits struct {
	Name string // "sqlite" or "postgres"
	// Concurrent tells whether batches that touch different jobs are applied side by side. Where
	// they are not, they wait for one another, and more than one call of Apply at a time gains
	// nothing.
	Concurrent bool
	// Wakeups tells whether Watch delivers wake-ups of other processes at present. Where it does
	// not, nodes poll.
	Wakeups bool
	// MaxBatch is how many operations one Apply should carry at the most.
	MaxBatch int
}

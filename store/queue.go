package store

import "time"

// Queue is a queue and a bounded look at what is in it. It exists once a job was enqueued to it or
// it was paused. One that was deleted exists as long as it has jobs that are not finished.
type Queue struct {
	Namespace string
	Name      string
	CreatedAt time.Time
	PausedAt  time.Time // zero: not paused
	PausedBy  string
	Rest      Resting         // the last one, until the queue is resumed
	Attempts  QueueAttempts   // what a person has set of how its jobs are attempted
	Counts    map[State]Count // of the states that are not finished
	OldestDue time.Time       // run time of the oldest available job; zero if there is none
}

// Unserved is a kind of jobs that wait in a queue where no living node claims them.
type Unserved struct {
	Namespace string
	Queue     string
	Kind      string
	Version   string // that the jobs are bound to, if they are
	// Known: a living node of the namespace has the kind, and the version; but none of those serves
	// the queue.
	Known     bool
	OldestDue time.Time // run time of the job that has waited longest
}

// Count is a number that stops at a bound: with More set there are at least N.
type Count struct {
	N    int
	More bool
}

// CountBound is where counts of a queue stop, so that looking costs the same however long the queue
// is.
const CountBound = 10_000

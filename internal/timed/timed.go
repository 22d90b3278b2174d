// Package timed measures how long the calls of a store take that nodes and clients make all the
// time, for metrics. A client without telemetry has none of it.
//
// # Imports
//
// Package store.
package timed

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Operation is a call of a store, whatever statements that sends.
type Operation int

// The operations, which are called like the methods of store.Store.
const (
	Apply Operation = iota
	EnqueueTx
	Claim
	Busy
	Beat
	Promote
	Rescue
	Retain
	SweepCancels
	CloseChildren
	CountBatches
	DueSchedules
	Grant
	TakePermits
	Ended
	Journals
	Messages
	OpenUpdates
	Get
	List
	Count
	Find
	Queues
	KeepLogs
	KeepFacts
	OrderFeed
	ReadFeed

	Operations int = iota // how many there are
)

var names = [Operations]string{
	Apply:         "commit",
	EnqueueTx:     "enqueue_tx",
	Claim:         "claim",
	Busy:          "busy",
	Beat:          "beat",
	Promote:       "promote",
	Rescue:        "rescue",
	Retain:        "retain",
	SweepCancels:  "settle_cancels",
	CloseChildren: "settle_children",
	CountBatches:  "settle_batches",
	DueSchedules:  "due_schedules",
	Grant:         "grant",
	TakePermits:   "take_permits",
	Ended:         "ended",
	Journals:      "journals",
	Messages:      "messages",
	OpenUpdates:   "updates",
	Get:           "get",
	List:          "list",
	Count:         "count",
	Find:          "find",
	Queues:        "queues",
	KeepLogs:      "keep_logs",
	KeepFacts:     "keep_facts",
	OrderFeed:     "order_feed",
	ReadFeed:      "read_feed",
}

// String is the operation as metrics name it.
func (o Operation) String() string { return names[o] }

// timed is a store that tells how long its calls take.
type timed struct {
	store.Store

	tell func(op Operation, took time.Duration)
}

// Wrap returns a store that tells of each call how long it took, whatever it answered. What is no
// Operation is not told. tell is called by many goroutines, and must return at once.
func Wrap(st store.Store, tell func(op Operation, took time.Duration)) store.Store {
	return timed{st, tell}
}

func (s timed) took(op Operation, began time.Time) {
	s.tell(op, time.Since(began))
}

// Package slots keeps the account of what a node runs: which of its slots are in use, which jobs it
// has prefetched, and how many more it may claim, in all and in each queue. It decides; the node
// claims and runs.
//
//	slots    the account
//	limit    the part of it that one limit over all nodes has
//	share    the part of it that one queue has, and its classes, which limits tell apart
//	divide   makes the classes
//	look     which queues have jobs, where classes are made as queues are heard of
//	window   the classes that are looked at together
//	retire   drops classes and limits that were of no use for long
//	count    which jobs count in limits, and how the limits are
//	apportion  divides slots among classes
//	save     slots that are saved up for jobs that take several
//	inquire  whether classes have jobs, where slots are saved up for them or others want those that they use,
//	         or permits were of no use last
//	permits  the account of a limit's rate: permits that were taken in advance, and when to ask for more
//	fairshare  how many slots of a limit a node uses while others want some
//	ask      what is asked of limits, and the answers
//	weigh    slots that are kept for queues, and the parts of queues in the others
//	rate     how many jobs end within the prefetch horizon
//	demand   what may be claimed now, and what the answer to a claim tells
//	admit    claimed jobs get a slot or wait for one; a slot passes from one job to the next
//	reserve  room for jobs whose enqueue is also their claim
//	buffer   the prefetched jobs that are given back
//	run      the runs in the slots, which can be cancelled and paused
//	early    requests for jobs that are not here yet
//	aside    outcomes that callers' transactions block
//	quiet    nothing is claimed and nothing begins, as people want it
//
// A claimed job goes through this package in the order
//
//	Demand → claim → Learn, Admit ─┬─ a slot is free ──────→ Begin → Over → End ─┐
//	                               └─ else: in the buffer ←─────────────────────┘ gives it the slot
//
// and one that its enqueue starts in the order MayStart, Reserve, AdmitReserved, Begin, Over, End.
//
// # Guarantees
//
// No more jobs have a slot than the node has slots, and of a queue no more than its limit. A demand
// or a reservation is for jobs that have a slot, or are expected to get one within the prefetch
// horizon; so long jobs are left to other nodes, and short ones need not wait for a claim each. No
// job waits in the buffer while a slot is free that it may use. A queue that is full takes no slot
// away from the others.
//
// Where queues have shares, one that has jobs finds the slots that are kept for it free at once,
// and of the others its part by weight as slots become free. No slot is free while a job waits that
// may use it; those that are kept for a queue without jobs are free.
//
// Where limits tell many queues apart, or queues are served by pattern, only those that may have
// jobs have classes. They are heard of by wake-ups, or looked for (TakeLook, Found) when one may
// have been lost. A queue is forgotten when it is known to have no jobs, none of its jobs is here,
// and that is so for a while. Of many queues with jobs each comes to be looked at.
//
// Of a limit over all nodes no more slots are taken than the node holds: by jobs from their claim
// until their outcome is committed, and by those that a claim or an enqueue under way may add.
//
// Where classes share slots of a limit, the one comes first that got none for the longest time, and
// slots are saved up for its jobs if these take several: so each gets some, by the time that the
// jobs have ended which the node ran when its turn came. That is so for jobs that count in one
// limit: no slots of one are kept while those of another one are awaited.
//
// Of a rate over all nodes no more jobs are claimed than the node has permits for, each within the
// time in which it may be used.
//
// A node claims at once only where there may be jobs: after a wake-up, after a claim that found
// enough, or after one that failed. A wake-up that arrives while a claim is under way is not lost.
//
// A request to cancel or pause that arrives before the job does is remembered, for about a thousand
// jobs.
//
// # Failures
//
// There is no database here, and nothing fails. All of it is in memory, and is lost with the node;
// its leases tell the other nodes of its jobs. If handlers suddenly take longer than was expected,
// JobsWait tells of jobs that wait, and TakeStale takes those that have waited too long, to be
// given back. What is counted must be counted back: each job that got a slot by End, each
// reservation by AdmitReserved, each PutAside by CameBack. The callers see to that through panics
// too, because nothing finds a slot that is lost.
//
// # Locks and times
//
// There is one mutex, held briefly. Of a Run, Cancel and Pause are called without it, the other
// methods with it. The time comes from the caller, by the clock of the database, as due times do.
//
// # Imports
//
// This package imports store, for its records only, and internal/supervise. What runs in a slot it
// knows only as a Run.
package slots

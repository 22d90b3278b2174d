// Package gather brings runs of one kind together that have a slot each, so that one call of a
// handler works them all: the handlers of package many.
//
// Each run keeps what is its own: its goroutine, lease, context, attempt and outcome. It joins a
// batch in the place where another kind's handler would work, waits there, and goes its way when
// the call has returned. So nothing else of a node knows of batches but when runs are about to
// begin (Expect) and have left their slot (Left).
//
// # When a batch begins
//
// When it is full; or when no run is known to come and its first one has waited for as long as the
// handler wants. A run is known to come between Expect, which is told of all runs of a claim before
// the first of them begins, and Join. So is, when a call has returned, what the slots of its runs
// bring: they end one after the other, and each passes its slot on. Otherwise short runs that were
// prefetched would be worked one by one. A run that is held up on its way does not hold up the
// others for more than a second.
//
// # Failures
//
// A run whose context ends while it waits is taken out. One that never joins, because it must not
// run, fails before or is lost, is forgotten when it has left. Of one that was given up as stuck
// the call goes on with its member, whose result is dropped.
//
// # Locks
//
// There is one mutex, held briefly; call is called without it.
//
// # Imports
//
// Of ours, store.
package gather

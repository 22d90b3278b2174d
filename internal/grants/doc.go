// Package grants is the loop of a node that sees to its slots of limits: it learns which limits
// there are, asks for slots where jobs wait for some, and gives back what others want.
//
// # How slots move
//
// A node that lacks slots asks the store for them. If it gets too few it says so to the others
// (WakeSlotsWanted), and those that hold some and do not use them give them back, which is told as
// well (WakeSlotsFree): by the store in the same commit, if it can, or else by the node; then it
// asks again. So slots are where they are needed after three short transactions. No node decides
// for the others. What is not heard is found with the next look, which comes with each beat, or
// every 1.5 s where there are no wake-ups: then the store tells whether slots are wanted. A node
// without limits looks every 30 s where there are wake-ups.
//
// While its jobs use slots that others want a node looks whether it has more of them, if it does
// not know: if not, it gives the slots back as these end, and does not claim in vain first.
//
// A node asks for more than it needs unless others want some, so that it does not ask for each job.
// Its calls take a fifth of the time at the most, but for the few that a slot needs which moves.
//
// Of a fair limit (store.LimitSettings.Fair) the store gives a node no more than its part, which
// follows from what all nodes hold and have said last that they wish for. A node that is told that
// slots are wanted reads what its part is now, and uses no more; what it holds beyond that it gives
// back as its jobs end. Nothing goes to and fro: the parts depend on what nodes wish for alone, and
// slots that are left over go to those whose ids come first. A node that has less than it could use
// says so again every few seconds, as wishes are forgotten.
//
// # How permits come
//
// Permits of rates are taken in advance by a loop of their own (RunPermits), while jobs wait that
// count: the package slots decides how many, and when. Who gives some back that come rarely says so
// (WakeSlotsFree).
//
// # Guarantees
//
// The jobs that a node has claimed, and those that a claim or an enqueue under way may add, never
// need more slots than it holds. The package slots keeps that account: see there, and store.Limits
// for what the store sees to.
//
// # Failures
//
// An answer that is lost leaves the node with what it said it would keep; it asks again. A node
// that was declared dead holds nothing, and asks under its new id. If the store says that a node
// holds more than it knows, as a crash of the database has lost that it gave slots back, the node
// says again what it holds with its next look, and tells the others that slots are free.
//
// # Imports
//
// It imports store, and the packages logs, slots and supervise.
package grants

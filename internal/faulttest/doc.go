// Package faulttest holds whole clients against real databases under faults that are not
// deaths: transactions that callers hold open, commits that take time, clocks that jump,
// storms, silent networks, files that vanish. It has no code of its own.
//
// # Beside its sisters
//
// Package crashtest kills processes at random and looks at everything that they left. Here each
// fault has a test with its name, which brings it about on purpose, at the moment that matters,
// and looks at the one thing that must hold. What has been broken once is broken here again and
// again. The engine's own tests run in virtual time, in which nothing takes any; package
// storetest asks one store at a time.
//
// # What must hold
//
//   - Nothing is stuck: a lease has a run that works on it, whatever a commit, a context or an
//     error of a handler's own has come to. What is due starts soon, and not with the next poll
//     of an idle node.
//   - What waits for a lock of a caller's transaction waits alone, and does not fail
//     because of it.
//   - Nothing is tried again at once without end: not what contradicts its journal, and not
//     what kills its node. A kind's promises hold for the node that rescues its jobs.
//   - No node that lives is declared dead, and one that is dead is found, whatever the clock of the
//     database says and however long it was away.
//   - What is confirmed is in the database that others find.
//   - What an operation costs goes by the work that there is: not by what there ever was, and
//     not by what one caller writes at once.
//
// # How
//
// Tests go through package holdfast, on SQLite and PostgreSQL where the fault can happen on
// both (see onEach), and wait for conditions with a limit that is for tests that hang (see
// eventually). Where being late is the very fault, the limit is far above what a slow machine
// takes and far below the poll or the beat that would hide it. Where cost is, they count what
// the server counts, and measure no time. A pause of a fixed length is a fault that takes so
// long, never a wait for something.
//
// Faults come from a proxy that is slow, refuses, or falls silent (proxy), a store whose calls
// are cut off (severed), the test binary as another process (worker), transactions and locks of
// a caller's own, a server of its own whose clock libfaketime sets (faketime), and PgBouncer
// (pooler). What is not installed is skipped, and says so.
//
// Tests that draw print their seed. HOLDFAST_SEED repeats what they drew, if not the moments.
package faulttest

// Package operate does what people ask for (cancel, pause, resume, retry, fork), keeps the list of
// nodes, and does what the leader does for all: rescue, retention, the children of jobs that have
// finished.
//
// # What it promises
//
// What people ask for is done at once where the job does not run; where it does, the request is
// recorded, and the node of the job reads it with its next beat. Many jobs are done in transactions
// of a thousand.
//
// Nodes that are silent are marked dead before anything is taken from them. What the leader does
// may be done by two at once, and may be interrupted anywhere: what was done twice or by half is
// found as it is the next time.
//
// # Who waits for whom
//
// The order of locks is that of package write. A rescue marks the node dead, unless it is claiming
// or writing journals at this moment, and then locks the records: a node that is slow, not dead,
// finds no record any more. Whatever takes jobs from their runs locks the fence of the node alone.
// Whatever takes bodies takes those that it can have, and leaves the others to the next time.
// CloseChildren goes on behind those, so that what a caller's transaction holds delays no other
// parent and no other parent's children.
//
// # When it fails
//
// A job that a caller's transaction holds is looked at again a few times, and is then
// store.ErrBusy. A dead node that cannot be marked has locks on an idle connection: what has been
// silent for longer than is allowed is ended.
//
// # Mutexes
//
// Store.lookedMu and rounds.mu are held for moments. Nothing is taken under them.
//
// # Imports
//
// Package store, packages pg, schema, local, locks, read and write, and pgx.
package operate

// Package refusal says what only stores refuse, in the same words for every database: the class
// first, and once; then which job it is about, once. What others refuse as well is in package
// store. storetest compares the words. It imports store only.
package refusal

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// NoKey is the ErrNotFound of a business key that no job has.
func NoKey(key store.JobKey) error {
	return fmt.Errorf("%w: no job of kind %q has the key %q", store.ErrNotFound, key.Kind, key.Key)
}

// JobIsEnding is the ErrConflict of a job that must not start over before it has ended.
func JobIsEnding(id store.ID) error {
	return fmt.Errorf("%w: job %s is ending, and what it compensates would not be done; let it end, or terminate it", store.ErrConflict, id)
}

// IsToTell is the ErrBusy of a job that cannot be removed before those that come after it were told
// how it has ended, which takes a moment.
func IsToTell(id store.ID) error {
	return fmt.Errorf("%w: jobs that come after job %s are still to be told how it has ended", store.ErrBusy, id)
}

// ChildAfter is the ErrInvalid of a child that is to come after other jobs: one of them may be its
// parent, or wait for that, and no list of edges shows the cycle.
func ChildAfter(id store.ID) error {
	return fmt.Errorf("%w: job %s is a child and cannot come after others; let its parent start it when they have ended", store.ErrInvalid, id)
}

// NotHandedOver is the ErrConflict of a job that is to be finished from outside and was not handed
// over.
func NotHandedOver(id store.ID, state store.State) error {
	return fmt.Errorf("%w: job %s is %s and was not handed over", store.ErrConflict, id, state)
}

// QueueInUse is the ErrConflict of a queue that cannot be deleted.
func QueueInUse(name string) error {
	return fmt.Errorf("%w: queue %s has jobs that are not finished", store.ErrConflict, name)
}

// DeadNode is the ErrNodeDead of a node.
func DeadNode(node int64) error { return fmt.Errorf("%w: node %d", store.ErrNodeDead, node) }

// NoNode is the ErrNotFound of a node.
func NoNode(node int64) error { return fmt.Errorf("%w: node %d", store.ErrNotFound, node) }

// NodeIsDraining is the ErrConflict of a node that cannot be asked for another mode.
func NodeIsDraining(node int64) error {
	return fmt.Errorf("%w: node %d is draining, which is final", store.ErrConflict, node)
}

// NoUpdate is the ErrNotFound of a request that was not sent to a job, or is forgotten.
func NoUpdate(job store.ID, key string) error {
	return fmt.Errorf("%w: job %s has no update with the id %.60q", store.ErrNotFound, job, key)
}

// JournalMoved is the ErrConflict of a journal that has not the entries, last being the last one,
// that the caller has read.
func JournalMoved(job store.ID, last int64) error {
	return fmt.Errorf("%w: the journal of job %s now ends at entry %d", store.ErrConflict, job, last)
}

// JournalRewritten is the ErrConflict of an entry that is not the one which the caller has read.
func JournalRewritten(job store.ID, seq int64) error {
	return fmt.Errorf("%w: entry %d of job %s was rewritten or removed", store.ErrConflict, seq, job)
}

// JournalGap is the ErrInvalid of an append that does not follow the last entry of a journal.
func JournalGap(job store.ID, seq int64) error {
	return fmt.Errorf("%w: the journal of job %s ends before entry %d", store.ErrInvalid, job, seq-1)
}

// BadCursor is the ErrInvalid of a cursor that no page has answered with.
func BadCursor(cursor string) error {
	return fmt.Errorf("%w: unknown cursor %.50q; use the one returned with the previous page", store.ErrInvalid, cursor)
}

// OtherSort is the ErrInvalid of a cursor of a list in another order than the one that is asked
// for.
func OtherSort(of, asked store.Sort) error {
	return fmt.Errorf("%w: the cursor is of a list sorted by %s, not %s", store.ErrInvalid, of, asked)
}

// OtherDatabase is the ErrInvalid of a transaction that is not one of the store's own database.
func OtherDatabase() error {
	return fmt.Errorf("%w: the transaction is on a different database than the store", store.ErrInvalid)
}

// NotWrapped is the ErrInvalid of a transaction that the store does not know; by says what wraps
// one.
func NotWrapped(by string) error {
	return fmt.Errorf("%w: the transaction is not for this store; wrap it with %s", store.ErrInvalid, by)
}

// TxIsOver is the ErrInvalid of a caller's transaction in which nothing can be done any more, being
// closed or aborted; err is what its driver says. Repeating an operation in it would not help.
func TxIsOver(is string, err error) error {
	return fmt.Errorf("%w: your transaction is %s; roll it back and begin again (%w)", store.ErrInvalid, is, err)
}

// CopyUnfinished is the ErrConflict of a node that would join a database which has a part of the
// jobs of another one.
func CopyUnfinished() error {
	return fmt.Errorf("%w: a copy into the database is not complete; finish it with holdfast copy", store.ErrConflict)
}

// CopyNeedsEmpty is the ErrConflict of a target that has jobs, schedules or limits of its own.
func CopyNeedsEmpty() error {
	return fmt.Errorf("%w: the target has jobs of its own, or schedules or limits; copy into a database without any", store.ErrConflict)
}

// CopyNeedsQuiet is the ErrConflict of a database in which a node lives.
func CopyNeedsQuiet(node int64) error {
	return fmt.Errorf("%w: node %d lives in the database; stop it, and copy then", store.ErrConflict, node)
}

// ResetNeedsQuiet is the ErrConflict of a database in which a node lives.
func ResetNeedsQuiet(node int64) error {
	return fmt.Errorf("%w: node %d lives in the database; stop it, and reset then", store.ErrConflict, node)
}

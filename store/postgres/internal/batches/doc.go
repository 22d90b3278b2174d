// Package batches keeps batches of jobs in PostgreSQL, counts their members, and copies batches
// into another database.
//
//	batches   what is done with batches
//	count     the duty of the leader
//
// # No member is missed
//
// Who adds to a batch locks its row FOR KEY SHARE until its transaction ends, if the batch is open:
// the transaction may be one of a caller, and take long. Closing changes no key, so it waits for
// none of these. From then on no transaction can add. The leader then seals the batch: it takes the
// row FOR UPDATE, which it gets only when none of those transactions is open any more, and does not
// wait for it. What the next statement reads is all that the batch has, and members are counted
// only then, so it is of no importance what their ids are and when they were committed.
//
// # Members that were counted run again
//
// What retries a member locks the row in the same way, until its transaction ends, and notes the
// member if it was counted (retry_finished). Counts and calls take the row FOR UPDATE, or leave the
// batch alone. So the notes that a count reads are all, each member has a note or counts by the end
// that it has, and a call of a batch without notes is one of which all members have ended.
//
// A look reads without a lock what is to be counted, so closed batches that wait for a member cost
// one probe each.
//
// It may import package store, packages pg and local, and pgx.
package batches

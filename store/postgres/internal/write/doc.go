// Package write does what nodes and clients do all the time: it applies batches, wakes and promotes
// jobs, and writes in the transactions of callers.
//
// # How it writes
//
// The state of a job is where its pointer is. On the way of a job that succeeds the body is
// inserted once and never changed. A claim deletes the pointers and writes one record for 60 jobs;
// completing adds a narrow row and sets bits in the record. That is about 780 bytes of log for a
// job of 63 bytes, from insert to completion.
//
// Statements on the fast path assume that all is well (every lease lives, every id is new) and fail
// as a whole if it is not; then nothing has happened, and the batch is done again on the slow path,
// which asks first. Data that PostgreSQL refuses fails the operation that brought it, behind a
// savepoint, and nothing else of the batch.
//
// # Who waits for whom
//
// Locks are taken in this order, here and in package operate: lanes, rows of nodes, fences of
// journals, claim records, bodies; and within one kind by key, so that writers do not meet
// crosswise. Pointers and unique keys follow, in the order of the statements:
//
//   - A pointer is waited for by those alone that have locked its job's body. What takes pointers without bodies passes over those that
//     are locked. Claims and promotion then wait for nothing that the others hold; retention does, for the bodies that it deletes.
//   - To delete a unique key takes its job's pointer first, or the job's claim record: no two delete one key, and none waits to. So a
//     claim may come to keys after pointers, and an enqueue to keys after what the batch has woken.
//   - To insert one waits for a transaction that inserts or deletes the same key. Enqueues come last, and insert in the order of the keys;
//     but the ends of runs in their batch may have deleted keys before, and what replaces the holder of a key locks its body after it.
//     So two batches can wait for each other. Each waits only briefly (patience, below), less long than PostgreSQL takes to look for a
//     deadlock, and then does without.
//
// Where writers meet crosswise in another way PostgreSQL ends one of them, which is repeated by
// itself (pg.RetryOnConflict). No statement waits for a lock longer than lock_timeout, two seconds.
//
// Transactions of callers stay open as long as they like, and hold bodies (SendTx, AppendTx),
// unique keys and ids (EnqueueTx). A batch waits 50 ms for the first such lock, and is then done
// again without the operations that need it: it asks which of the bodies can be had at this moment,
// and tries keys for 2 ms each, and for 50 ms in all (patience). The others are store.ErrBusy, and
// what was held is remembered (Blocked). While such a transaction is known, bodies are asked for
// beforehand and keys are waited for no longer than 2 ms: the first thing that it holds costs a
// batch a wait, each further one next to nothing. Whatever takes jobs from their runs takes what it
// can have, and leaves the rest to the next time.
//
//   - A claim (package claims) locks the row of its node, and then takes pointers, passing over those that others are taking. A batch
//     whose jobs start on a node locks its row before everything that is written under a lease, as a node that leaves does.
//   - Whatever is written under a lease locks the claim record first.
//   - An append shares the fence of its node, an advisory lock. To mark the node dead or to take a job from it takes that lock
//     exclusively: rows of journals have nothing of their own to lock. A step in a caller's transaction locks its job's body instead,
//     and has ten seconds from its append to its commit.
//   - Unique keys are inserted in the order of the keys, by both passes of an enqueue; those that were found held are tried by turns, and
//     too briefly to be in another's way.
//   - Turns of ordering keys are handed on by what frees or asks for one, after its commit, and by promotion. What is to be looked
//     at is written down in the same transaction as the reason for it (key_check), so that none is forgotten.
//
// # When it fails
//
// A batch fails as a whole, and may be repeated: what did happen is recognised. What is wrong with
// one operation is in its Err.
//
// # Mutexes
//
// Blocked.mu is held for moments. Nothing is taken under it.
//
// # Imports
//
// Package store, packages pg, local, claims and locks, and pgx.
package write

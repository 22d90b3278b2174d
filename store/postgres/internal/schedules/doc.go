// Package schedules keeps schedules in PostgreSQL, carries out fires, and copies schedules into
// another database.
//
//	schedules   what people and code do with schedules, and ask about them
//	fire        the part of a batch that fires
//	copy        pages of schedules and runs
//
// A batch with fires locks their schedules before all else, in the order of their ids, and compares
// the versions then: of two processes that fire one schedule the second waits for the first, and
// finds another version. It waits for 50 ms: a transaction that takes longer is that of a person,
// or of a process that stands still, and the batch is done again without the fires of what that
// holds, which are store.ErrBusy. When the jobs are enqueued, the nominal times are noted and the
// schedules moved on. What is refused refuses the batch, which is rolled back.
//
// It may import package store, packages pg and local, and pgx.
package schedules

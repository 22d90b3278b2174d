// Package schedules keeps schedules in SQLite, carries out fires, and copies schedules into another
// database.
//
// A fire is the last part of a batch: its jobs are enqueued by then, and the version is compared,
// the nominal times are noted, and the schedule is moved on. There is one writer, so nothing
// happens between the steps; a fire that is refused refuses the batch, which is rolled back.
package schedules

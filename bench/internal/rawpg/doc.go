// Package rawpg is the ceilings on PostgreSQL: small programs over bare pgx that do the least that
// a correct system must, so that it is known how much of the machine is left to win. They have no
// retries, leases, priorities in memory, metrics or user code.
//
//   - Raw claims: a batch is claimed row by row with SKIP LOCKED, in the same transaction that deletes the batch before. Any
//     number of processes could do so at once.
//   - Owner has a lane to itself: nobody else may take its jobs, so that it reads them without writing anything, and deletes them a
//     batch at a time when they are done.
//   - Single inserts and durable functions go through one committer, which takes all that waits, puts it into one transaction in one
//     round trip, and tells each when it is durable. A function of N steps is N+2 such points: its start, each step, its end.
package rawpg

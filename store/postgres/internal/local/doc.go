// Package local is what one process knows of a database beside what is in it: the lanes that it has
// met, where its claims begin, and the wake-ups that it sends and hears. All of it may be lost or
// late, which costs latency and nothing else.
//
// # Lanes
//
// What a lane stands for never changes, so LaneCache needs no news. Lanes are interned in
// transactions of their own, never in a caller's, whose locks may live long.
//
// # Cursors
//
// While any transaction of the server is long, nothing that dies can be cleared away, and scans of
// hot tables get longer with each row that was taken. So claims begin where the last one ended,
// which cursors.go tells about.
//
// # Wake-ups
//
// Watch listens on a connection of its own and reconnects by itself. It tests the connection with
// notifications to itself: a pooler in transaction mode accepts LISTEN and loses what comes, and
// only a test finds that out. As long as nothing is proven Wakeups is false, and nodes poll. Notify
// merges wake-ups of one queue to one in 5 ms, and sends them after the commit that they tell of;
// those of EnqueueTx are part of the caller's transaction.
//
// # Mutexes
//
// LaneCache.mu, Notifier.mu, Cursors.mu, door.mu and making.mu are held for moments. Nothing is
// taken under one of them but LaneCache.mu under Cursors.mu.
//
// # Imports
//
// Package store, package pg, and pgx.
package local

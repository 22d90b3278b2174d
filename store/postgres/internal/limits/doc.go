// Package limits keeps limits in PostgreSQL, and how many slots of them nodes hold.
//
// # Who waits for whom
//
// A call for slots takes two statements in one transaction and one round trip. The first locks the
// node, so that it is not declared dead meanwhile, and then the limits, in the order of their ids.
// The second sees all that was committed before it had these locks, gives out what is left, and
// writes it down. One statement that does both would add up what it saw before it waited. Claims,
// beats and outcomes lock none of this, and no transaction of a caller does, so the wait is that
// for other such calls.
//
// The commit of a call by which the node gets no slots does not wait for the disk. Who takes what
// it has given back locks the limit after it, and so commits after it in the log: when that is
// durable, so is this. If the server crashes before, the node holds in the store what it has given
// back, and no other node has got any of it; the node says so again when it next reads its limits.
//
// # When it fails
//
// Nothing of a call that fails has happened. Of one whose answer is lost the node does not know,
// and uses no more than it has said that it keeps; a call that arrives after a later one changes
// nothing. What a dead node holds is deleted by a sweep, once it has no claim record: then nothing
// that it claimed runs as far as the store knows, and what it still writes is refused.
//
// # Imports
//
// Package store, packages pg and local.
package limits

// Package duty has the names of what a node does again and again, beside running jobs: one list for
// the log (call, part), metrics (the label duty), spans (duty NAME), the health of a node (Loops)
// and package maintain.
//
// The maintenance of a database has five parts, which package maintain does by their names; the
// first word of a duty's name says to which one it belongs.
//
// It imports nothing of ours.
package duty

// The duties of the leader that package maintain does, too.
const (
	Rescue    = "rescue"          // takes jobs from nodes that have died
	Promote   = "promote"         // makes jobs available whose time has come
	Schedules = "schedules"       // fires schedules
	Cancels   = "settle cancels"  // applies cancels that could not be applied at once
	Children  = "settle children" // ends children, and lets jobs go on that came after others
	Batches   = "settle batches"  // counts the members of batches, and calls batches back
	Retain    = "retain"          // removes what is old
	Hours     = "retain facts"    // makes hours of the minutes of facts
)

// The other duties and loops of a node.
const (
	Heartbeat = "heartbeat"
	Claims    = "claims"
	Limits    = "limits"         // asks for slots of limits, and gives them back
	Rates     = "rates"          // asks for permits of limits
	Settings  = "queue settings" // reads what people have set of queues
	Facts     = "facts"          // writes what was counted
	Unserved  = "unserved jobs"  // logs jobs that no living node serves
	Leases    = "lost leases"    // gives up leases that the node has lost track of
	Prefetch  = "stale prefetch" // gives back jobs that were claimed ahead and get no slot
	Look      = "look at queues" // reads the gauges of queues
)

// Maintenance are those that package maintain does, in the order in which it does them.
var Maintenance = []string{Rescue, Promote, Schedules, Cancels, Children, Batches, Retain, Hours}

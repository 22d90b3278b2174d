// Package maintain does the maintenance of a database on request, and lets a process do nothing
// else.
//
// The node that leads does the maintenance: it rescues the jobs of dead nodes, makes due jobs
// available, fires schedules, settles what cancels and the ends of jobs have left to do, and
// removes what is older than its retention. Where no node runs for long, such as on a platform that
// starts a process for each request, no node leads. There, call Once every minute:
//
//	report, err := maintain.Once(ctx, client, 30*time.Second)
//
// Where nodes run that are too busy, or are not to be trusted with it, a process of its own can be
// a node that only maintains:
//
//	client, err := holdfast.Open(ctx, source, maintain.Only())
//	err = client.Run(ctx)
//
// # What it promises
//
// Each duty is safe beside that of a leader, and beside itself: what two do at once is done once. A
// process that dies on the way has done a part, and left the rest as it was.
//
// Which nodes are dead can only be told by watching them, for half of the time after which they are
// dead at least, and by a clock that cannot be set: 10 to 25 seconds, if they were not given other
// times. So Once takes that long if nodes have not signed off and none of them leads, and as long
// as a leader takes to beat if one does. If its budget is smaller the Report has Doubtful nodes.
//
// # Imports
//
// The root package, and internal/access and internal/engine.
package maintain

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/engine"
)

// Duty is a part of the maintenance.
type Duty int

// The duties, in the order in which Once does them.
const (
	// Rescue takes jobs from nodes that have died, so that others run them. If a node leads it
	// only sees to nodes that are known to be dead.
	Rescue Duty = iota + 1
	// Promote makes jobs available whose time has come: scheduled ones, retries, and those that
	// wait for a rate or for a time.
	Promote
	// Schedules enqueues the jobs of schedules whose time has come.
	Schedules
	// Settle applies cancels that could not be applied at once, ends the children of jobs that have
	// ended, lets jobs go on that came after others, and calls batches back.
	Settle
	// Retain removes finished jobs that are older than the client's retention
	// (holdfast.WithRetention), and what else has a retention.
	Retain
)

var names = map[Duty]string{Rescue: duty.Rescue, Promote: duty.Promote, Schedules: duty.Schedules, Settle: "settle", Retain: duty.Retain}

// String returns the duty as a word, such as "rescue".
func (d Duty) String() string {
	if name, ok := names[d]; ok {
		return name
	}
	return fmt.Sprintf("Duty(%d)", int(d))
}

// Report is what was done.
type Report struct {
	Node      int64 // as which other nodes were watched, or lost runs were counted, and which has left; 0: there was no need
	Led       bool  // with Rescue: no other node does the maintenance
	Died      int64 // nodes that were declared dead
	Rescued   int64 // jobs that were taken from dead nodes
	Promoted  int64 // jobs that became available
	Fired     int64 // decisions about schedules: times that fired, or that were passed over by a policy
	Cancelled int64 // requests to cancel that were applied
	Closed    int64 // jobs that were ended, or asked to end, because their parent or predecessor had ended
	Called    int64 // batches that were called back
	Removed   int64 // jobs that were older than their retention
	// Doubtful is of how many nodes it could not be told whether they live; 0 if another node
	// leads. A larger budget helps: three beats, or the time after which a node is dead.
	Doubtful int
	// More: the time was over before all was done. Call Once again.
	More bool
}

// Once does duties, or all if none is named, until there is nothing more to do now, until budget is
// used up, or until ctx ends; the last two are no errors. To watch other nodes it joins as one that
// claims nothing, and leaves at the end. The duties concern all namespaces of the database.
//
// If a duty fails the others are done all the same. The error is ErrUnavailable if the budget was
// used up and nothing could be done, because the database was locked or did not answer; ErrConflict
// if a node of this client runs: it does the maintenance if no other does; ErrInvalid for a budget
// that is not positive, or an unknown duty; or what the database has said. The Report tells what
// was done until then.
func Once(ctx context.Context, c *holdfast.Client, budget time.Duration, duties ...Duty) (Report, error) {
	if budget <= 0 {
		return Report{}, fmt.Errorf("%w: budget %v of a maintenance: it must be positive", holdfast.ErrInvalid, budget)
	}
	if len(duties) == 0 {
		duties = []Duty{Rescue, Promote, Schedules, Settle, Retain}
	}
	var wanted engine.Duties
	for _, d := range duties {
		set := map[Duty]*bool{
			Rescue: &wanted.Rescue, Promote: &wanted.Promote, Schedules: &wanted.Schedules, Settle: &wanted.Settle, Retain: &wanted.Retain,
		}[d]
		if set == nil {
			return Report{}, fmt.Errorf("%w: %v: no such duty", holdfast.ErrInvalid, d)
		}
		*set = true
	}
	m, err := access.Runner(c).Maintain(ctx, budget, wanted)
	return Report{
		Node: m.Node, Led: m.Led, Died: m.Died, Rescued: m.Rescued, Promoted: m.Promoted, Fired: m.Fired, Cancelled: m.Cancelled,
		Closed: m.Closed, Called: m.Called, Removed: m.Removed, Doubtful: m.Doubtful, More: m.More,
	}, err
}

// Only lets the client's node have no handlers: Run and Start then join as a node that claims no
// jobs but operations (package operation; operation.Off leaves those to others, too), and that does
// the maintenance if no other node does. Handlers that are registered all the same let Run fail
// with ErrInvalid.
func Only() holdfast.Option { return access.Maintains().(holdfast.Option) } //nolint:errcheck // always one

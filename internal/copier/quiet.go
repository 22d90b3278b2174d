package copier

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// deadAfter is how long a node may be silent that does not say it.
const deadAfter = 20 * time.Second

// Quiet returns an error if a node lives in a database, and gives back the jobs of those that died.
// One that is declared dead and lives all the same joins again, which a copy notices.
func Quiet(ctx context.Context, s store.Store, which string) error {
	// A look at the nodes that were killed on this machine, of which SQLite knows at once.
	if err := rescue(ctx, s, store.RescueParams{}); err != nil {
		return err
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	var silent []store.NodeBeat
	for i := range nodes {
		n := &nodes[i]
		if !n.DeadAt.IsZero() {
			continue
		}
		after := cmp.Or(n.Info.DeadAfter, deadAfter)
		if s.Now().Sub(n.BeatAt) <= after {
			return fmt.Errorf("%w: node %d (%s) lives in the %s; stop it, or, if it was killed, wait for %v",
				store.ErrConflict, n.ID, n.Info.Name, which, after)
		}
		silent = append(silent, store.NodeBeat{Node: n.ID, At: n.BeatAt})
	}
	if len(silent) == 0 {
		return nil
	}
	return rescue(ctx, s, store.RescueParams{Dead: silent})
}

// settle does what finished jobs still owe to others, their children and parents, as the next node
// would: the other kind of database may have another way to note it.
func settle(ctx context.Context, s store.Store) error {
	for {
		closed, err := s.CloseChildren(ctx, 1000)
		if err != nil || !closed.More {
			return err
		}
	}
}

// rescue rescues until nothing is left.
func rescue(ctx context.Context, s store.Store, params store.RescueParams) error {
	for {
		rescued, err := s.Rescue(ctx, params)
		if err != nil || len(rescued.Jobs) == 0 {
			return err
		}
	}
}

package pulse

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Living is what a look at the nodes tells of those that have not signed off and are not known to
// be dead.
type Living struct {
	Nodes   int
	Silence time.Duration // the longest that one of them may be silent; 0: none says so

	leader int64     // the node that leads; 0: none
	beat   time.Time // its last beat
}

// Look looks at the nodes.
func Look(ctx context.Context, s store.Store) (l Living, err error) {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	nodes, err := s.Nodes(call)
	for i := range nodes {
		if nodes[i].DeadAt.IsZero() {
			l.Nodes++
			l.Silence = max(l.Silence, nodes[i].Info.DeadAfter)
			if nodes[i].Leader {
				l.leader, l.beat = nodes[i].ID, nodes[i].BeatAt
			}
		}
	}
	return l, err
}

// AreLed waits until a node that has the lease of the leader has beaten, which shows that it lives,
// or until its lease is over. It looks at each interval.
func (l Living) AreLed(ctx context.Context, s store.Store, interval time.Duration) (bool, error) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for is := l; ; {
		if is.leader == 0 {
			return false, nil
		}
		if is.leader != l.leader || !is.beat.Equal(l.beat) {
			return true, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		var err error
		if is, err = Look(ctx, s); err != nil {
			return false, err
		}
	}
}

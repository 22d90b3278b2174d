package postgres

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// giveUp takes the jobs of leases of which their node says that nobody works on them, as a rescue
// would if the node were dead. Since it lives, whatever is being written to journals under its
// leases comes first, as when somebody terminates a job: what was accepted counts for the job.
func (s *Store) giveUp(ctx context.Context, lost []store.Lease) ([]store.Rescued, error) {
	lost = slices.DeleteFunc(slices.Clone(lost), func(l store.Lease) bool { return !isPossible(l) })
	if len(lost) == 0 {
		return nil, nil
	}
	var owners []int64
	for _, l := range lost {
		owners = append(owners, l.Node)
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	nodes, seqs, slots, ids, numbers := leaseArgs(len(lost), func(i int) store.Lease { return lost[i] })

	rescue := rescue{store: s, policies: map[int64]map[string]store.Policy{}}
	err := retryOnConflict(ctx, func() error {
		_, err := rescue.take(ctx, func(t session) ([]*heldRun, error) {
			if err := t.run(ctx, "fence_out", nil, owners); err != nil {
				return nil, err
			}
			return s.heldRuns(ctx, t, "slots_of_leases", nodes, seqs, slots, ids, numbers)
		})
		return err
	})
	if err != nil {
		return nil, classify(ctx, "give up leases", err)
	}
	return rescue.tell(ctx), nil
}

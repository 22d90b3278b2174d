package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// giveUp takes the jobs of leases of which their node says that nobody works on them, as a rescue
// would if the node were dead.
func (s *Store) giveUp(ctx context.Context, lost []store.Lease) ([]store.Rescued, error) {
	var rescued []store.Rescued
	err := s.writeIf(ctx, "give up leases",
		func(t *tx) (bool, error) {
			for _, l := range lost {
				if r, err := t.record(recordName{l.Node, l.Claim}); err != nil || r.holds(l) {
					return true, err
				}
			}
			return false, nil
		},
		func(t *tx) error {
			rescued = nil
			for _, l := range lost {
				r, err := t.record(recordName{l.Node, l.Claim})
				if err != nil {
					return err
				}
				if !r.holds(l) {
					continue
				}
				job, found, err := t.rescueSlot(r, l.Slot)
				if err != nil {
					return err
				}
				if found {
					rescued = append(rescued, job)
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return rescued, nil
}

package model

import (
	"cmp"

	"github.com/holdfastdev/holdfast/store"
)

// fairAhead are the jobs that are before one in the line of its key.
func (s *Store) fairAhead(j *job) []*job {
	if j.Options.FairKey == "" || j.state != store.Available || !s.hasTurn(j) {
		return nil
	}
	return s.selected(func(a *job) bool {
		return a.state == store.Available && s.hasTurn(a) && a.LaneName() == j.LaneName() && a.Namespace == j.Namespace &&
			a.Queue == j.Queue && a.Priority == j.Priority && cmp.Or(a.RunAt.Compare(j.RunAt), compareIDs(a.ID, j.ID)) < 0
	})
}

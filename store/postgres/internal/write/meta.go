package write

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// saidBy is what writes say that can be written, in the order of a batch.
func saidBy(checkpoints []*store.CheckpointWrite, appends []*appending, runs []*Run) pg.Said {
	s := pg.Said{}
	for _, c := range checkpoints {
		if c.Err == nil {
			s.Add(c.Lease.Job, c.Meta)
		}
	}
	for _, a := range appends {
		if a.Err == nil {
			s.Add(a.Lease.Job, a.Meta)
		}
	}
	for _, r := range runs {
		if r.outcome != nil && r.outcome.Err == nil {
			s.Add(r.Lease.Job, r.outcome.Meta)
		}
	}
	return s
}

package workers

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// records are jobs as they are now, by their ids, without their payloads: a thousand of the
// largest would be a gigabyte.
type records map[store.ID]*store.Record

const (
	// firstRecords are read at first. How large they are tells how many are read at once then: no
	// more than mostRecords, since those that follow may be larger.
	firstRecords, mostRecords = 16, 128
	// mostPayloads is about how many bytes of payloads are read at once.
	mostPayloads = 16 << 20
)

// records reads the jobs of runs, as many in one query as their payloads let.
func (s *service) records(ctx context.Context, runs []*run) (records, error) {
	ids := map[string][]store.ID{} // by namespace
	for _, r := range runs {
		ids[r.Namespace] = append(ids[r.Namespace], r.Job)
	}
	all, n := make(records, len(runs)), firstRecords
	for namespace, ids := range ids {
		for len(ids) > 0 {
			part := ids[:min(len(ids), n)]
			size, err := s.readRecords(ctx, store.Filter{Namespace: namespace, IDs: part}, all)
			if err != nil {
				return nil, err
			}
			ids, n = ids[len(part):], recordsFor(size/len(part))
		}
	}
	return all, nil
}

// recordsFor is how many jobs are read at once whose payloads have that many bytes, each.
func recordsFor(size int) int {
	return min(max(mostPayloads/max(size, 1), 1), mostRecords)
}

// readRecords reads jobs, and returns how many bytes their payloads have.
func (s *service) readRecords(ctx context.Context, filter store.Filter, all records) (size int, err error) {
	for params := (store.ListParams{Filter: filter, Limit: store.MaxFilterIDs}); ; {
		page, err := s.engine.Store.List(ctx, params)
		if err != nil {
			return 0, err
		}
		for i := range page.Jobs {
			j := &page.Jobs[i]
			size += len(j.Args) + len(j.Metadata)
			j.Args, j.Metadata = nil, nil
			all[j.ID] = j
		}
		if params.After = page.Next; params.After == "" {
			return size, nil
		}
	}
}

// of is the job of a run; nil: it is not there, or another run has it.
func (all records) of(l store.Lease) *store.Record {
	if found := all[l.Job]; found != nil && found.Lease.Number == l.Number {
		return found
	}
	return nil
}

// runs reports whether the run still has its job.
func (all records) runs(l store.Lease) bool {
	found := all.of(l)
	return found != nil && found.State == store.Running
}

// due is when the job of an outcome that was sent before runs again, whichever run has left it so;
// zero: at no time, or it has gone on since.
func (all records) due(o *store.Outcome) time.Time {
	found := all[o.Lease.Job]
	if found == nil || found.State != o.Final {
		return time.Time{}
	}
	if found.State != store.Scheduled && found.State != store.Retryable && found.State != store.Waiting {
		return time.Time{}
	}
	return found.RunAt
}

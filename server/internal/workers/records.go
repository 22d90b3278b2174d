package workers

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// records are jobs as they are now, by their ids.
type records map[store.ID]*store.Record

// records reads the jobs of runs, up to a thousand in one query.
func (s *service) records(ctx context.Context, runs []*run) (records, error) {
	ids := map[string][]store.ID{} // by namespace
	for _, r := range runs {
		ids[r.Namespace] = append(ids[r.Namespace], r.Job)
	}
	all := make(records, len(runs))
	for namespace, ids := range ids {
		for len(ids) > 0 {
			n := min(len(ids), store.MaxFilterIDs)
			if err := s.readRecords(ctx, store.Filter{Namespace: namespace, IDs: ids[:n]}, all); err != nil {
				return nil, err
			}
			ids = ids[n:]
		}
	}
	return all, nil
}

func (s *service) readRecords(ctx context.Context, filter store.Filter, all records) error {
	for params := (store.ListParams{Filter: filter, Limit: store.MaxFilterIDs}); ; {
		page, err := s.engine.Store.List(ctx, params)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			all[page.Jobs[i].ID] = &page.Jobs[i]
		}
		if params.After = page.Next; params.After == "" {
			return nil
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

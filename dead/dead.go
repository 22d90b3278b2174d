package dead

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Groups returns a page of groups, the one that has failed last first; params.After goes on from
// Next of the page before. It finds the groups one after the other, however many jobs each has, and
// counts up to params.Most jobs of each on the page. A group that fails again between two pages
// comes first then, so it may be missed, or told twice. Without a namespace the filter has that of
// the client. The error is ErrInvalid for a filter of anything but namespace, queues, kinds and
// fingerprints, or a wrong cursor or limit.
func Groups(ctx context.Context, c *holdfast.Client, params store.DeadParams) (store.DeadPage, error) {
	e, _ := access.Engine(c)
	if params.Filter.Namespace == "" {
		params.Filter.Namespace = c.Namespace()
	}
	return e.Store.DeadGroups(ctx, params)
}

// Get returns a dead letter. The errors are ErrNotFound, and ErrConflict for a job that has not
// failed, or runs again.
func Get(ctx context.Context, c *holdfast.Client, id holdfast.ID) (store.Record, error) {
	record, err := c.Get(ctx, id)
	if err == nil && record.State != store.Failed {
		err = store.JobIs(id, record.State)
	}
	return record, err
}

// Result says what became of one dead letter.
type Result struct {
	Job holdfast.ID
	// State is the job's then: Available or Scheduled of one that runs again, Failed of one that
	// was removed. It is 0 if there is an Err.
	State store.State
	// Err is why it was left as it was: an ErrConflict if it has not failed any more, or does not
	// let itself be changed like this; a *store.UniqueError if another job has its key; ErrBusy if
	// a transaction holds it; ErrNotFound if it was removed; or the error of Options.Args.
	Err error
}

// Report says what became of all.
type Report struct {
	Done   int // those that were changed
	Failed int // those with an Err
}

// each calls one with the dead letters that a filter selects, page by page, from the last failure
// to the first, as they were when it came to them.
func each(ctx context.Context, c *holdfast.Client, filter store.Filter, size int, page func([]store.Record) error) error {
	if len(filter.States) > 0 {
		return fmt.Errorf("%w: dead letters have failed; the filter has states", store.ErrInvalid)
	}
	filter.States = []store.State{store.Failed}
	if filter.Namespace == "" {
		filter.Namespace = c.Namespace()
	}
	for after := ""; ; {
		found, err := c.ListBy(ctx, store.SortFinished, filter, after, size)
		if err != nil {
			return err
		}
		if len(found.Jobs) > 0 {
			if err := page(found.Jobs); err != nil {
				return err
			}
		}
		if after = found.Next; after == "" {
			return nil
		}
	}
}

// pageSize is how many jobs are read and changed at once.
const pageSize = 500

// Purge removes the dead letters that a filter selects, with all that belongs to them, as
// Client.Delete does; one that runs again meanwhile, or has completed since, is left alone. told is
// called with what became of each; it may be nil. It ends with the first error of the database, or
// of ctx; what was removed by then stays so.
func Purge(ctx context.Context, c *holdfast.Client, filter store.Filter, reason string, told func(Result)) (report Report, err error) {
	e, actor := access.Engine(c)
	params := store.DeleteParams{Namespace: c.Namespace(), Reason: reason, Actor: actor, States: store.SetOf(store.Failed)}
	if filter.Namespace != "" {
		params.Namespace = filter.Namespace
	}
	err = each(ctx, c, filter, pageSize, func(jobs []store.Record) error {
		params.Jobs = idsOf(jobs)
		results, err := e.Delete(ctx, params)
		for _, r := range results {
			report.add(Result{r.Job, r.State, r.Err}, told)
		}
		return err
	})
	return report, err
}

func idsOf(jobs []store.Record) []holdfast.ID {
	ids := make([]holdfast.ID, len(jobs))
	for i := range jobs {
		ids[i] = jobs[i].ID
	}
	return ids
}

func (r *Report) add(one Result, told func(Result)) {
	if one.Err != nil {
		one.State = 0
		r.Failed++
	} else {
		r.Done++
	}
	if told != nil {
		told(one)
	}
}

// Export writes the dead letters that a filter selects as lines of JSON, in the form in which
// store.Record is written, without their attempts and journals. It returns how many it has written.
func Export(ctx context.Context, c *holdfast.Client, filter store.Filter, to io.Writer) (n int, err error) {
	lines := json.NewEncoder(to)
	err = each(ctx, c, filter, pageSize, func(jobs []store.Record) error {
		for i := range jobs {
			if err := lines.Encode(&jobs[i]); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// wait waits until a time.
func wait(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

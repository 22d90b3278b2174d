package copier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Pages are bounded by both: what is interrupted is done again.
const (
	pageRows  = 500
	pageBytes = 2 << 20
)

// Report is what a copy has found.
type Report struct {
	// Source and Target are the jobs by their state at the end, which are the same.
	Source, Target map[store.State]int64
	// Schedules are those of the source and of the target, which are the same.
	Schedules store.ScheduleSums
	// Limits is how many limits there are.
	Limits int
	// Before tells that an earlier copy had copied everything.
	Before bool
}

// Copy copies all jobs, schedules and limits of one database into another. progress is told of how
// many jobs the target has, of how many.
func Copy(ctx context.Context, source, target store.Store, progress func(done, total int64)) (Report, error) {
	c := &copying{Context: ctx, source: source, target: target, progress: progress}
	var ok, also bool
	c.from, ok = source.(store.Copies)
	c.to, also = target.(store.Copies)
	if !ok || !also {
		return Report{}, fmt.Errorf("%w: one of the stores cannot be copied", store.ErrInvalid)
	}
	if err := c.begin(); err != nil {
		return Report{}, err
	}
	if c.known.Done {
		return c.compare(true)
	}
	if err := c.copy(store.Place{Job: c.known.Last}); err != nil {
		return Report{}, err
	}
	report, err := c.compare(false)
	if errors.Is(err, errDiffers) && c.known.Last != (store.ID{}) {
		// Jobs may have come since whose ids an earlier copy had passed by: callers give them.
		if err = c.copy(store.Place{}); err == nil {
			report, err = c.compare(false)
		}
	}
	if err != nil {
		return report, err
	}
	return report, c.to.Import(ctx, store.ImportParams{From: c.survey.Origin, Done: true})
}

// copying is one copy.
type copying struct {
	context.Context //nolint:containedctx // it is that of one call

	source, target store.Store
	from, to       store.Copies
	progress       func(done, total int64)

	survey store.Survey   // of the source, when the copy began
	known  store.CopyNote // of the target, when it began
	done   int64
}

// begin checks that nothing works in the two databases, and that the target is there for this copy.
func (c *copying) begin() (err error) {
	if err := Quiet(c, c.source, "source"); err != nil {
		return err
	}
	if err := Quiet(c, c.target, "target"); err != nil {
		return err
	}
	if err := settle(c, c.source); err != nil {
		return err
	}
	if c.survey, err = c.from.Survey(c); err != nil {
		return err
	}
	there, err := c.to.Survey(c)
	if err != nil {
		return err
	}
	if there.Origin.Database == c.survey.Origin.Database {
		return fmt.Errorf("%w: source and target are the same database", store.ErrInvalid)
	}
	if there.Note != nil {
		c.known = *there.Note
		c.done = there.Jobs()
	}
	if c.known.Done && c.known.From == c.survey.Origin {
		return nil
	}
	return c.to.Import(c, store.ImportParams{
		From: c.survey.Origin, Queues: c.survey.Queues, Limits: c.survey.Limits, Classes: c.survey.Classes,
		Attributes: c.survey.Attributes,
	})
}

// copy copies page by page, from a place on.
func (c *copying) copy(from store.Place) error {
	total := c.survey.Jobs()
	for {
		c.progress(min(c.done, total), total)
		page, err := c.from.Export(c, store.ExportParams{After: from, Limit: pageRows, Bytes: pageBytes})
		if err != nil {
			return err
		}
		params := store.ImportParams{
			From: c.survey.Origin, Jobs: page.Jobs, Builds: page.Builds, Keys: page.Keys, Signals: page.Signals,
			Schedules: page.Schedules, Runs: page.Runs, Batches: page.Batches, Stubs: page.Stubs,
			Last: last(from.Job, page.Jobs),
		}
		if err := c.to.Import(c, params); err != nil {
			return err
		}
		c.done += int64(len(page.Jobs))
		from = page.Next
		if page.End {
			c.progress(total, total)
			return nil
		}
	}
}

// last is the last job of which everything is in the target.
func last(before store.ID, jobs []store.Whole) store.ID {
	for i := range jobs {
		if !jobs[i].Unfinished {
			before = jobs[i].ID
		}
	}
	return before
}

const again = "stop all programs that use the two, and copy again; if that does not help, into an empty target"

var errDiffers = errors.New("the target has not the jobs of the source")

// compare checks that no node or person worked in the source meanwhile, that there are the same
// jobs, and as many in each state, and the same schedules, batches, limits and classes of
// retention. before: the target was complete when this copy began.
func (c *copying) compare(before bool) (Report, error) {
	if err := Quiet(c, c.source, "source"); err != nil {
		return Report{}, err
	}
	now, err := c.from.Survey(c)
	if err != nil {
		return Report{}, err
	}
	if now.Origin != c.survey.Origin {
		return Report{}, fmt.Errorf("%w: the source was worked on, or sent to, while it was copied; copy it again, into an empty target",
			store.ErrConflict)
	}
	there, err := c.to.Survey(c)
	if err != nil {
		return Report{}, err
	}
	report := Report{Source: now.Counts, Target: there.Counts, Schedules: now.Schedules, Limits: len(now.Limits), Before: before}
	alike := maps.Equal(now.Counts, there.Counts) && now.IDs == there.IDs
	what := "jobs"
	switch {
	case alike && now.Schedules != there.Schedules:
		what = "schedules"
	case alike && now.Batches != there.Batches:
		what = "batches"
	case alike && !reflect.DeepEqual(now.Limits, there.Limits):
		what = "limits"
	case alike && !reflect.DeepEqual(now.Classes, there.Classes):
		what = "retention classes"
	case alike && !declares(there.Attributes, now.Attributes):
		what = "search attributes"
	case alike:
		return report, nil
	}
	switch {
	case before:
		return report, fmt.Errorf("%w: the copy was completed before, and the %s have changed since", store.ErrConflict, what)
	case alike:
		return report, fmt.Errorf("%w: the target has not the %s of the source; some were changed meanwhile, here or there: "+again,
			store.ErrConflict, what)
	}
	return report, fmt.Errorf("%w: %w; jobs were enqueued or changed meanwhile, here or there: "+again, store.ErrConflict, errDiffers)
}

// declares reports whether all search attributes are among others.
func declares(there, all []store.NamespaceAttribute) bool {
	return !slices.ContainsFunc(all, func(a store.NamespaceAttribute) bool {
		return !slices.ContainsFunc(there, func(b store.NamespaceAttribute) bool {
			return a.Namespace == b.Namespace && a.Name == b.Name && a.Type == b.Type && a.Leaving == b.Leaving
		})
	})
}

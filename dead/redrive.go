package dead

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Options say how dead letters run again. The zero value lets them do so as they are, at once.
type Options struct {
	// Args returns the args with which a job runs again, as JSON; nil: its own. Its error is that
	// of the job, which stays as it is. Args of a job that goes on with its journal, or that has a
	// unique key, cannot be changed: an ErrConflict.
	Args func(job *store.Record) (json.RawMessage, error)
	// Queue and Priority (1 to 4) are those in which the jobs run; "" and 0: their own.
	Queue    string
	Priority int
	// RunAt is when they run; zero: at once.
	RunAt time.Time
	// Rate is how many jobs a second; 0: as fast as it goes.
	Rate float64
	// Reason is for people; it is recorded with each job.
	Reason string
	// Told is called with what became of each job, one after the other; it may be nil.
	Told func(Result)
}

// Redrive lets the dead letters that a filter selects run again, from their first attempt; a
// durable job goes on after its last step that succeeded. Each is retried and changed in one
// transaction: if it cannot be, it stays failed, as it was. It ends with the first error of the
// database, or of ctx; jobs that run again by then do so. The error is ErrInvalid for options that
// no job can have.
func Redrive(ctx context.Context, c *holdfast.Client, filter store.Filter, o Options) (report Report, err error) {
	e, actor := access.Engine(c)
	r := &redrive{engine: e, namespace: c.Namespace(), actor: actor, options: &o}
	if filter.Namespace != "" {
		r.namespace = filter.Namespace
	}
	if err := r.prepare(); err != nil {
		return report, err
	}
	size, next := pageSize, time.Now()
	if o.Rate > 0 {
		size = int(min(pageSize, max(1, math.Ceil(o.Rate/10)))) // ten pages a second
	}
	err = each(ctx, c, filter, size, func(jobs []store.Record) error {
		if o.Rate > 0 {
			if err := wait(ctx, next); err != nil {
				return err
			}
			next = later(next, time.Now()).Add(pause(len(jobs), o.Rate))
		}
		return r.page(ctx, jobs, func(one Result) { report.add(one, o.Told) })
	})
	return report, err
}

// later is the later one of two times: time in which the database was slow is not made up for.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Move is Redrive that takes the dead letters to another queue, where they run.
func Move(ctx context.Context, c *holdfast.Client, filter store.Filter, queue string, o Options) (Report, error) {
	if queue == "" {
		return Report{}, fmt.Errorf("%w: no queue is given to move dead letters to", store.ErrInvalid)
	}
	o.Queue = queue
	return Redrive(ctx, c, filter, o)
}

// redrive is one on its way.
type redrive struct {
	engine           *engine.Engine
	namespace, actor string
	options          *Options
	change           store.Edit // of all, but for the args
	changes          bool
}

// prepare finds out what is changed, and refuses what no job can have.
func (r *redrive) prepare() error {
	o := r.options
	if o.Queue != "" {
		if err := valid.Name("queue", o.Queue); err != nil {
			return err
		}
		r.change.Queue = &o.Queue
	}
	if o.Priority != 0 {
		r.change.Priority = &o.Priority
	}
	if !o.RunAt.IsZero() {
		r.change.RunAt = &o.RunAt
	}
	r.changes = o.Args != nil || o.Queue != "" || o.Priority != 0 || !o.RunAt.IsZero()
	if o.Rate < 0 || math.IsNaN(o.Rate) || math.IsInf(o.Rate, 0) {
		return fmt.Errorf("%w: %v jobs a second is no rate", store.ErrInvalid, o.Rate)
	}
	return (&store.EditParams{Edit: r.change}).Check()
}

// page lets the jobs of a page run again: those without a journal and a change together.
func (r *redrive) page(ctx context.Context, jobs []store.Record, tell func(Result)) error {
	journals, err := r.engine.Store.Journals(ctx, r.namespace, idsOf(jobs))
	if err != nil {
		return err
	}
	var plain []holdfast.ID
	for i := range jobs {
		if !r.changes && len(journals[i].Entries) == 0 {
			plain = append(plain, jobs[i].ID)
			continue
		}
		one, err := r.one(ctx, &jobs[i], &journals[i])
		if err != nil {
			return err
		}
		tell(one)
	}
	if len(plain) == 0 {
		return nil
	}
	results, err := r.engine.Retry(ctx, store.RetryParams{
		Namespace: r.namespace, Jobs: plain, Reason: r.options.Reason, Actor: r.actor, Failed: true,
	})
	for _, one := range results {
		tell(Result{one.Job, one.State, one.Err})
	}
	return err
}

// one lets one job run again; the error is one that concerns all.
func (r *redrive) one(ctx context.Context, job *store.Record, raw *store.Journal) (Result, error) {
	result := Result{Job: job.ID}
	params := store.EditParams{
		Namespace: r.namespace, Job: job.ID, Edit: r.change, Reason: r.options.Reason, Actor: r.actor,
		Again: &store.Again{Keep: -1, Expect: raw.LastSeq()},
	}
	if len(raw.Entries) > 0 {
		if params.Again.Keep, result.Err = journal.LastSuccess(raw.Entries); result.Err != nil {
			return result, nil //nolint:nilerr // it concerns this job alone
		}
	}
	if args := r.options.Args; args != nil {
		params.Edit.Args, result.Err = args(job)
		if result.Err == nil && params.Edit.Args != nil {
			result.Err = store.About(job.ID, "redriving", valid.JSON("args", params.Edit.Args, math.MaxInt))
		}
		if result.Err != nil {
			return result, nil //nolint:nilerr // it concerns this job alone
		}
	}
	result.State, result.Err = r.engine.Edit(ctx, params)
	for _, own := range []error{store.ErrConflict, store.ErrNotFound, store.ErrBusy, store.ErrInvalid} {
		if errors.Is(result.Err, own) {
			result.Err = store.About(job.ID, "redriving", result.Err)
			return result, nil
		}
	}
	return result, result.Err
}

// pause is how long to wait after so many jobs at a rate.
func pause(jobs int, rate float64) time.Duration {
	const most = 100 * 365 * 24 * 3600 // seconds; a Duration does not hold much more
	return time.Duration(min(float64(jobs)/rate, most) * float64(time.Second))
}

package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Jobs is what an operation does with the jobs of a namespace.
type Jobs interface {
	List(ctx context.Context, filter store.Filter, after string, limit int) (store.Page, error)
	Count(ctx context.Context, filter store.Filter) (store.Count, error)
	Get(ctx context.Context, id store.ID) (store.Record, error)
	// Change does what the verb says, which is none that edits. It returns a result for each job.
	// Delete removes only jobs that are in one of the states then, none: in any that is finished.
	Change(ctx context.Context, verb Verb, reason string, states []store.State, ids []store.ID) ([]store.Result, error)
	// Edit changes a job.
	Edit(ctx context.Context, reason string, id store.ID, e store.Edit) error
}

// Run is one run of an operation.
type Run struct {
	Jobs Jobs
	Spec *Spec
	// ID is that of the operation's job; zero: it has none, and cannot go on later.
	ID store.ID
	// Save keeps the progress, and returns when it is durable.
	Save func(ctx context.Context, p *Progress) error
	// Said is told after each page.
	Said func(p *Progress)
}

// TooManyError says that more jobs match than were expected.
type TooManyError struct{ Expected, Matched, Done int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("more jobs match than were expected: %d of about %d; %d were changed. "+
		"Look at the filter, and start another operation if it is right", e.Matched, e.Expected, e.Done)
}

// Do changes the jobs until there are no more, and leaves in p how far it came, whatever it
// returns. When ctx ends it finishes the page first, for which it has a moment, and returns the
// cause. It returns a *TooManyError before more jobs are changed than may be.
func (r *Run) Do(ctx context.Context, p *Progress) error {
	work, end := within(ctx)
	defer end()
	if len(p.Pending) == 0 && p.Matched == 0 {
		if err := r.look(work); err != nil {
			return err
		}
	} else if err := r.goOn(work, p); err != nil {
		return err
	}
	for !p.Last && ctx.Err() == nil {
		err := r.page(work, p)
		if err != nil && len(p.Pending) == 0 { // the page before is counted, which is not kept yet
			return errors.Join(err, r.Save(work, p))
		}
		if err != nil {
			return err
		}
		r.Said(p)
	}
	if err := r.Save(work, p); err != nil {
		return err
	}
	if p.Last {
		return nil
	}
	return context.Cause(ctx)
}

// pagePatience is how long a page may go on after the operation was told to end.
const pagePatience = 8 * time.Second

// within is the context in which a page is changed. One that is cancelled half way would not be
// counted, so it has a moment, unless the lease is lost: then another run may be at it.
func within(ctx context.Context) (work context.Context, end func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if errors.Is(cause, store.ErrLeaseLost) {
			cancel(cause)
			return
		}
		timer := time.AfterFunc(pagePatience, func() { cancel(cause) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() { unhook(); cancel(nil) }
}

// look refuses to begin if far more jobs match than were expected.
func (r *Run) look(ctx context.Context) error {
	most := r.Spec.Most()
	if most == 0 || most >= store.CountBound {
		return nil
	}
	n, err := r.Jobs.Count(ctx, store.Filter(r.Spec.Filter))
	if err == nil && n.N > most {
		err = &TooManyError{Expected: r.Spec.Expected, Matched: n.N}
	}
	return err
}

// page finds the next jobs, keeps which they are, and changes them.
func (r *Run) page(ctx context.Context, p *Progress) error {
	page, err := r.Jobs.List(ctx, store.Filter(r.Spec.Filter), p.After, r.Spec.Action.page())
	if err != nil {
		return err
	}
	jobs := slices.DeleteFunc(page.Jobs, func(j store.Record) bool { return r.isSpared(&j) })
	if most := r.Spec.Most(); most > 0 && p.Matched+len(jobs) > most {
		return &TooManyError{Expected: r.Spec.Expected, Matched: p.Matched + len(jobs), Done: p.Changed}
	}
	p.After, p.Last = page.Next, page.Next == ""
	if len(jobs) == 0 {
		return nil
	}
	for i := range jobs {
		p.Pending = append(p.Pending, jobs[i].ID)
	}
	if err := r.Save(ctx, p); err != nil {
		return err
	}
	counted := *p
	counted.Refusals = slices.Clone(p.Refusals)
	if err := r.change(ctx, jobs, &counted); err != nil {
		return err
	}
	counted.Matched, counted.Pending = counted.Matched+len(jobs), nil
	*p = counted
	return nil
}

// isSpared reports that an operation leaves a job alone: it is that of an operation, and not meant.
func (r *Run) isSpared(j *store.Record) bool {
	return j.ID == r.ID || j.Kind == Kind && !namesOperations((*store.Filter)(&r.Spec.Filter))
}

// goOn finishes the page that an earlier run has begun.
func (r *Run) goOn(ctx context.Context, p *Progress) error {
	if len(p.Pending) == 0 {
		return nil
	}
	counted := *p
	counted.Refusals = slices.Clone(p.Refusals)
	var left []store.ID
	for _, id := range p.Pending {
		record, err := r.Jobs.Get(ctx, id)
		switch {
		case errors.Is(err, store.ErrNotFound) && r.Spec.Action.Verb == Delete:
			counted.Changed++ // it had finished, and was about to be deleted
		case errors.Is(err, store.ErrNotFound):
			counted.Gone++
		case err != nil:
			return err
		case isMarked(record.Actions, r.ID):
			counted.Changed++
		default:
			left = append(left, id)
		}
	}
	jobs, err := r.stillMatching(ctx, left)
	if err != nil {
		return err
	}
	counted.Gone += len(left) - len(jobs)
	if err := r.change(ctx, jobs, &counted); err != nil {
		return err
	}
	counted.Matched, counted.Pending = counted.Matched+len(p.Pending), nil
	*p = counted
	r.Said(p)
	return nil
}

func (r *Run) stillMatching(ctx context.Context, ids []store.ID) (jobs []store.Record, err error) {
	filter := store.Filter(r.Spec.Filter)
	filter.IDs = ids // they are some of those that it had
	for after := ""; len(ids) > 0; {
		page, err := r.Jobs.List(ctx, filter, after, PageSize)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, page.Jobs...)
		if after = page.Next; after == "" {
			break
		}
	}
	return jobs, nil
}

// change changes jobs and counts them.
func (r *Run) change(ctx context.Context, jobs []store.Record, p *Progress) error {
	results := make([]store.Result, len(jobs))
	var ids []store.ID
	var places []int
	for i := range jobs {
		results[i] = store.Result{Job: jobs[i].ID, State: jobs[i].State}
		if r.Spec.Action.isDone(&jobs[i]) {
			p.Already++
			continue
		}
		ids, places = append(ids, jobs[i].ID), append(places, i)
	}
	changed, err := r.ask(ctx, ids)
	if err != nil {
		return err
	}
	for i, result := range changed {
		if result.State == 0 {
			result.State = jobs[places[i]].State
		}
		results[places[i]] = result
		p.count(&result, &jobs[places[i]], r.Spec.Action.Verb)
	}
	return nil
}

// count counts a job of which a change was asked.
func (p *Progress) count(r *store.Result, was *store.Record, verb Verb) {
	stops := verb == Cancel || verb == Terminate
	switch {
	case errors.Is(r.Err, store.ErrNotFound):
		p.Gone++
	case r.Err != nil:
		p.refuse(r.Job, r.Err)
	case stops && !was.State.Finished() && (r.State == store.Completed || r.State == store.Failed):
		p.Already++ // it has finished at this moment
	default:
		p.Changed++
	}
}

// editors is how many jobs are edited at a time: each is a transaction.
const editors = 8

// ask asks for a change of jobs. An error is that of a database that did not answer.
func (r *Run) ask(ctx context.Context, ids []store.ID) ([]store.Result, error) {
	reason, edit := r.Spec.reason(r.ID), r.Spec.Action.edit()
	if len(ids) == 0 {
		return nil, nil
	}
	if edit == nil {
		return r.Jobs.Change(ctx, r.Spec.Action.Verb, reason, r.Spec.Filter.States, ids)
	}
	results, failed := make([]store.Result, len(ids)), make([]error, editors)
	var all sync.WaitGroup
	for e := range editors {
		all.Go(func() {
			for i := e; i < len(ids); i += editors {
				err := r.Jobs.Edit(ctx, reason, ids[i], *edit)
				if err != nil && !isOfJob(err) {
					failed[e] = err
					return
				}
				results[i] = store.Result{Job: ids[i], Err: err}
			}
		})
	}
	all.Wait()
	return results, errors.Join(failed...)
}

// isOfJob reports that an error is about one job, and others may be changed.
func isOfJob(err error) bool {
	for _, is := range []error{store.ErrNotFound, store.ErrConflict, store.ErrInvalid, store.ErrBusy} {
		if errors.Is(err, is) {
			return !errors.Is(err, store.ErrPermission)
		}
	}
	return false
}

// ended is the error with which a handler returns what Do did.
func ended(err error) error {
	var many *TooManyError
	if errors.As(err, &many) || errors.Is(err, store.ErrInvalid) {
		return &usercode.FailError{Err: err}
	}
	return err
}

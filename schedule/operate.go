package schedule

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/store"
)

// Create makes a schedule. The errors are ErrInvalid, also for one that would never fire, and
// ErrConflict if there is one of that name.
func Create(ctx context.Context, c *holdfast.Client, s Schedule) (store.Schedule, error) {
	e, _ := access.Engine(c)
	made, err := Rehearse(c, s)
	if err != nil {
		return store.Schedule{}, err
	}
	return e.SaveSchedule(ctx, made, 0, c.Actor())
}

// Rehearse returns the schedule that Create would make now, and makes none. The error is
// ErrInvalid.
func Rehearse(c *holdfast.Client, s Schedule) (store.Schedule, error) {
	e, _ := access.Engine(c)
	d, err := s.draft(c)
	if err == nil {
		err = d.begin(nil, e.Store.Now())
	}
	if err != nil {
		return store.Schedule{}, err
	}
	if d.NextAt.IsZero() {
		return store.Schedule{}, fmt.Errorf("%w: schedule %q has no time after now: its times, or its end, have passed", store.ErrInvalid, s.name)
	}
	return d.Schedule, nil
}

// Check lets an Update or a Reset go on only if a function finds nothing wrong with the schedule as
// it is before the options that follow; its error is theirs. So a caller changes what it has seen,
// and nothing else. The function may be called several times.
func Check(is func(*store.Schedule) error) Option {
	return func(d *draft) error { return is(&d.Schedule) }
}

// Get returns a schedule. The error is ErrNotFound.
func Get(ctx context.Context, c *holdfast.Client, name string) (store.Schedule, error) {
	e, _ := access.Engine(c)
	found, err := e.Store.Schedules(ctx, store.ScheduleFilter{Namespace: c.Namespace(), Name: name, Limit: 1})
	if err == nil && len(found) == 0 {
		err = store.NoSchedule(c.Namespace(), name)
	}
	if err != nil {
		return store.Schedule{}, err
	}
	return found[0], nil
}

// List returns up to limit schedules by name, those after the given name; "" for the first page.
func List(ctx context.Context, c *holdfast.Client, after string, limit int) ([]store.Schedule, error) {
	e, _ := access.Engine(c)
	filter := store.ScheduleFilter{Namespace: c.Namespace(), Limit: limit}
	if after != "" {
		filter.AfterNamespace, filter.AfterName = c.Namespace(), after
	}
	return e.Store.Schedules(ctx, filter)
}

// Runs returns what became of up to limit nominal times of a schedule, the last ones first; see
// store.ScheduleRun. At least the last 200 are kept. after, if it is not zero, is the last one of
// the page before.
func Runs(ctx context.Context, c *holdfast.Client, name string, after store.ScheduleRun, limit int) ([]store.ScheduleRun, error) {
	e, _ := access.Engine(c)
	return e.Store.ScheduleRuns(ctx, store.ScheduleRunParams{
		Namespace: c.Namespace(), Name: name, Before: after.Nominal, BeforeManual: after.Manual, Limit: limit,
	})
}

// Update changes a schedule: what an option says is set, the rest stays. With other times it goes
// on from now; with another job it misses none. A paused one stays paused. The errors are
// ErrNotFound and ErrInvalid.
func Update(ctx context.Context, c *holdfast.Client, name string, opts ...Option) (store.Schedule, error) {
	return change(ctx, c, name, func(d *draft) (bool, error) {
		return true, d.apply(opts)
	})
}

// Reset sets a schedule to what code has declared last. Of the options only a Check does anything.
// The errors are ErrNotFound, ErrConflict if no code has declared it, and that of a Check.
func Reset(ctx context.Context, c *holdfast.Client, name string, checks ...Option) (store.Schedule, error) {
	return change(ctx, c, name, func(d *draft) (bool, error) {
		if err := d.apply(checks); err != nil {
			return false, err
		}
		if d.Declared == "" {
			return false, fmt.Errorf("%w: no code has declared the schedule %q", store.ErrConflict, name)
		}
		return true, d.setDeclared(d.Declared)
	})
}

// Pause stops a schedule from firing, with a note for people. It has no effect on its jobs. The
// error is ErrNotFound. Pausing it again replaces the note.
func Pause(ctx context.Context, c *holdfast.Client, name, note string) (store.Schedule, error) {
	return change(ctx, c, name, func(d *draft) (bool, error) {
		d.pause(note)
		return true, nil
	})
}

// Resume lets a paused schedule fire again. The times that have passed meanwhile are missed ones,
// if they are more than a minute back. The error is ErrNotFound; one that is not paused stays as it
// is.
func Resume(ctx context.Context, c *holdfast.Client, name string) (store.Schedule, error) {
	return change(ctx, c, name, func(d *draft) (bool, error) {
		paused := !d.PausedAt.IsZero()
		d.PausedAt, d.PausedBy, d.Note = store.Schedule{}.PausedAt, "", ""
		return paused, nil
	})
}

// Delete removes a schedule and the list of its runs; its jobs stay. One that code declares comes
// back with the next Sync: pause it instead. The error is ErrNotFound.
func Delete(ctx context.Context, c *holdfast.Client, name string) error {
	e, _ := access.Engine(c)
	for range tries {
		s, err := Get(ctx, c, name)
		if err != nil {
			return err
		}
		if _, err := stop(ctx, e, &s); err != nil {
			return err
		}
		if err := e.Store.DeleteSchedule(ctx, c.Namespace(), name, s.Version, c.Actor()); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return busy(name)
}

// stop asks the job to stop that a fire has replaced, if no leader has done that yet: none will for
// a schedule that is gone, or whose policy has become another one. It reports whether nothing is
// left to be asked; a job that a transaction of a caller holds is.
func stop(ctx context.Context, e *engine.Engine, s *store.Schedule) (done bool, err error) {
	if s.Cancels == (store.ID{}) {
		return true, nil
	}
	results, err := e.Cancel(ctx, store.CancelParams{
		Jobs: []store.ID{s.Cancels}, Reason: firing.Replaced, Terminate: s.Overlap == store.OverlapTerminate, Unrecorded: true,
	})
	if err != nil {
		return false, err
	}
	return results[0].Err == nil || errors.Is(results[0].Err, store.ErrNotFound), nil
}

func busy(name string) error {
	return fmt.Errorf("%w: schedule %q changes all the time; try again", store.ErrConflict, name)
}

// tries is how often a change is repeated that another one has overtaken.
const tries = 10

// change reads a schedule, has it changed, and saves it, again if it was changed meanwhile, as by a
// fire. how returns false if there is nothing to be saved.
func change(ctx context.Context, c *holdfast.Client, name string, how func(*draft) (bool, error)) (s store.Schedule, err error) {
	e, _ := access.Engine(c)
	for range tries {
		s, err = Get(ctx, c, name)
		if err != nil {
			return s, err
		}
		d := &draft{Schedule: s, client: c}
		changed, err := how(d)
		if err != nil || !changed {
			return s, err
		}
		done, err := stop(ctx, e, &s)
		if err != nil {
			return s, err
		}
		if done {
			d.Cancels = store.ID{}
		}
		if err := d.begin(&s, e.Store.Now()); err != nil {
			return s, err
		}
		saved, err := e.SaveSchedule(ctx, d.Schedule, s.Version, c.Actor())
		if !errors.Is(err, store.ErrConflict) {
			return saved, err
		}
	}
	return s, busy(name)
}

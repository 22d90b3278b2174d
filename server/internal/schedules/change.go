package schedules

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerChange(a *api.API) {
	op := func(method, id, path, summary, about string) api.Op {
		return api.Op{
			ID: id, Method: method, Path: "/schedules/{schedule}" + path, Tag: tag, Scope: access.SchedulesWrite, MaxBody: maxBody, Summary: summary,
			About: about,
		}
	}
	api.RegisterFull(a, op(http.MethodPatch, "schedule-update", "", "Change a schedule",
		`What is left out stays. With other times it goes on from now; with another job it misses none. reset, alone, sets it to what code
has declared last.`), update)
	api.RegisterFull(a, op(http.MethodPost, "schedule-pause", "/pause", "Stop a schedule from firing",
		"Pausing it again replaces the note."), pause)
	api.RegisterFull(a, op(http.MethodPost, "schedule-resume", "/resume", "Let a paused schedule fire again",
		"Times that have passed meanwhile are missed ones."), resume)
	api.Register(a, op(http.MethodPost, "schedule-trigger", "/trigger", "Enqueue a job of a schedule now",
		"Also if it is paused. If an earlier job is in the way by the overlap policy nothing is enqueued: state is skipped, and job is that one."), trigger)
	fill := op(http.MethodPost, "schedule-backfill", "/backfill", "Enqueue jobs for times that have passed",
		`One for each nominal time of the range, whether it has fired or not. Repeated with its number it leaves alone the times that have
their job. With dry_run it only tells how many times there are, and the first of them.`)
	fill.Timeout = backfillTimeout
	api.Register(a, fill, backfill)
	api.RegisterFull(a, op(http.MethodDelete, "schedule-delete", "", "Delete a schedule",
		"With the list of its runs; its jobs stay. One that code declares comes back when the program starts: pause it instead."), remove)
}

// ScheduleJobEdit is a change of what a schedule enqueues. What is left out stays.
type ScheduleJobEdit struct {
	Args        api.Payload                `json:"args,omitempty"`
	Queue       string                     `json:"queue,omitempty"`
	Priority    int                        `json:"priority,omitempty" minimum:"1" maximum:"4"`
	MaxAttempts int                        `json:"max_attempts,omitempty" minimum:"1"`
	Timeout     api.PositiveDuration       `json:"timeout,omitzero"`
	Heartbeat   api.PositiveDuration       `json:"heartbeat_timeout,omitzero"`
	Backoff     *jobs.NewBackoff           `json:"backoff,omitempty"`
	Tags        []string                   `json:"tags,omitempty" nullable:"false" doc:"Instead of all its tags"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" doc:"Instead of its metadata"`
	Attributes  map[string]json.RawMessage `json:"attributes,omitempty" doc:"Beside, or in place of, those that it has"`
	OrderingKey string                     `json:"ordering_key,omitempty"`
}

func (e *ScheduleJobEdit) options() ([]holdfast.EnqueueOption, error) {
	job := jobs.NewJob{
		Queue: e.Queue, Priority: e.Priority, MaxAttempts: e.MaxAttempts, Timeout: e.Timeout, Heartbeat: e.Heartbeat, Backoff: e.Backoff,
		Tags: e.Tags, Metadata: e.Metadata, Attributes: e.Attributes, OrderingKey: e.OrderingKey,
	}
	opts, err := job.Options("/job")
	if e.Tags != nil && len(e.Tags) == 0 {
		opts = append(opts, holdfast.Tags()) // none of them is left
	}
	return opts, err
}

// ScheduleUpdate is a change of a schedule.
type ScheduleUpdate struct {
	ScheduleTimes
	SchedulePolicies

	Job   *ScheduleJobEdit `json:"job,omitempty"`
	Reset bool             `json:"reset,omitempty" doc:"Set it to what code has declared last; nothing else"`
}

type scheduleUpdateIn struct {
	OfSchedule
	api.IfMatch

	Body ScheduleUpdate
}

func update(ctx context.Context, c *api.Call, in *scheduleUpdateIn) (*api.Tagged[Schedule], error) {
	if err := in.Given(); err != nil {
		return nil, err
	}
	b := &in.Body
	switch {
	case b.Reset && !reflect.DeepEqual(*b, ScheduleUpdate{Reset: true}):
		return nil, problem.Invalid("/reset", "reset goes with nothing else")
	case reflect.DeepEqual(*b, ScheduleUpdate{}):
		return nil, problem.Invalid("", "the body says nothing that is to be changed")
	}
	s, err := schedule.Get(ctx, c.Client, in.Schedule)
	if err != nil {
		return nil, err
	}
	if err := jobs.MayRun(c, s.Job.Kind); err != nil {
		return nil, err
	}
	if err := in.Matches(versionOf(&s)); err != nil {
		return nil, err
	}
	// The schedule may have been changed since it was read here: what changes it looks again with
	// each try.
	still := schedule.Check(func(s *store.Schedule) error { return in.Matches(versionOf(s)) })
	if b.Reset {
		s, err = schedule.Reset(ctx, c.Client, in.Schedule, still)
		if err != nil {
			return nil, err
		}
		return tagged(c, &s), nil
	}
	opts, err := b.all(&s)
	if err != nil {
		return nil, err
	}
	s, err = schedule.Update(ctx, c.Client, in.Schedule, append([]schedule.Option{still}, opts...)...)
	if err != nil {
		return nil, problem.At("", err)
	}
	return tagged(c, &s), nil
}

// all are the options of a change of a schedule.
func (b *ScheduleUpdate) all(s *store.Schedule) ([]schedule.Option, error) {
	opts, err := b.options()
	if err != nil {
		return nil, err
	}
	whole := b.over(s)
	times, given, err := whole.times()
	if err != nil {
		return nil, err
	}
	if given {
		opts = append(opts, schedule.When(times))
	}
	if b.Job != nil {
		of, err := b.Job.options()
		if err != nil {
			return nil, err
		}
		opts = append(opts, schedule.EditJob(b.Job.Args, of...))
	}
	return opts, nil
}

type schedulePauseIn struct {
	OfSchedule

	Body *struct {
		Note string `json:"note,omitempty" doc:"For people: why"`
	}
}

func pause(ctx context.Context, c *api.Call, in *schedulePauseIn) (*api.Tagged[Schedule], error) {
	note := ""
	if in.Body != nil {
		note = in.Body.Note
	}
	s, err := schedule.Pause(ctx, c.Client, in.Schedule, note)
	if err != nil {
		return nil, problem.At("/note", err)
	}
	return tagged(c, &s), nil
}

func resume(ctx context.Context, c *api.Call, in *OfSchedule) (*api.Tagged[Schedule], error) {
	if err := mayFire(ctx, c, in.Schedule); err != nil {
		return nil, err
	}
	s, err := schedule.Resume(ctx, c.Client, in.Schedule)
	if err != nil {
		return nil, err
	}
	return tagged(c, &s), nil
}

// mayFire refuses those who may not enqueue the jobs of a schedule.
func mayFire(ctx context.Context, c *api.Call, name string) error {
	s, err := schedule.Get(ctx, c.Client, name)
	if err != nil {
		return err
	}
	return jobs.MayRun(c, s.Job.Kind)
}

func trigger(ctx context.Context, c *api.Call, in *OfSchedule) (*api.Body[views.ScheduleRun], error) {
	if err := mayFire(ctx, c, in.Schedule); err != nil {
		return nil, err
	}
	run, err := schedule.Trigger(ctx, c.Client, in.Schedule)
	if err != nil {
		return nil, err
	}
	return &api.Body[views.ScheduleRun]{Body: views.NewScheduleRun(&run)}, nil
}

const (
	// firstShown is how many times a dry run shows.
	firstShown = 10
	// backfillTimeout bounds a backfill. One that was cut off goes on with its number.
	backfillTimeout = 5 * time.Minute
)

type scheduleBackfillIn struct {
	OfSchedule

	Body struct {
		From   time.Time `json:"from" doc:"The times from this one on"`
		To     time.Time `json:"to" doc:"The times before this one, which has passed"`
		AtOnce bool      `json:"at_once,omitempty" doc:"Let the jobs run beside each other"`
		Number api.Big   `json:"number,omitzero" doc:"Of a backfill that is repeated"`
		DryRun bool      `json:"dry_run,omitempty"`
	}
}

func backfill(ctx context.Context, c *api.Call, in *scheduleBackfillIn) (*api.Body[views.Backfill], error) {
	b := &in.Body
	switch {
	case !b.From.Before(b.To):
		return nil, problem.Invalid("/to", "to is not later than from: the range is empty")
	case b.To.After(c.Now()):
		return nil, problem.Invalid("/to", "to is to come; a backfill is of times that have passed")
	case b.Number < 0:
		return nil, problem.Invalid("/number", "the number of a backfill is positive")
	}
	if err := mayFire(ctx, c, in.Schedule); err != nil {
		return nil, err
	}
	r := schedule.Range{From: b.From, To: b.To, AtOnce: b.AtOnce, Number: int64(b.Number)}
	if b.DryRun {
		n, first, more, err := schedule.Preview(ctx, c.Client, in.Schedule, r, firstShown)
		if err != nil {
			return nil, problem.At("", err)
		}
		return &api.Body[views.Backfill]{Body: views.PlannedBackfill(c.Client.Namespace(), in.Schedule, n, more, first)}, nil
	}
	if r.Number == 0 {
		r.Number = c.RequestNumber() // what was cut off goes on when it is repeated
	}
	done, err := schedule.Backfill(ctx, c.Client, in.Schedule, r)
	if err != nil {
		return nil, problem.At("", err)
	}
	return &api.Body[views.Backfill]{Body: views.NewBackfill(c.Client.Namespace(), in.Schedule, done)}, nil
}

func remove(ctx context.Context, c *api.Call, in *OfSchedule) (*struct{}, error) {
	return nil, schedule.Delete(ctx, c.Client, in.Schedule)
}

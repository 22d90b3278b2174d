package schedules

import (
	"context"
	"net/http"
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

func registerCreate(a *api.API) {
	api.RegisterFull(a, api.Op{
		ID: "schedule-create", Method: http.MethodPost, Path: "/schedules", Tag: tag, Scope: access.SchedulesWrite, Status: http.StatusCreated,
		MaxBody: maxBody, Summary: "Make a schedule",
		About: "What is new fires nothing that has passed. If there is one of that name it is a conflict. The kind exec needs the scope `exec`, too.",
	}, create)
}

type scheduleCreateIn struct {
	api.In

	Body ScheduleCreate
}

// ScheduleCreate is a schedule to make.
type ScheduleCreate struct {
	ScheduleTimes
	SchedulePolicies

	Name   string      `json:"name" minLength:"1" example:"nightly"`
	Job    jobs.NewJob `json:"job" doc:"What it enqueues; not what names a single job, such as id, key or run_at"`
	Paused bool        `json:"paused,omitempty" doc:"It begins paused"`
	Note   string      `json:"note,omitempty" doc:"With paused: why"`
}

func create(ctx context.Context, c *api.Call, in *scheduleCreateIn) (*api.Tagged[Schedule], error) {
	b := &in.Body
	times, given, err := b.times()
	if err != nil {
		return nil, err
	}
	opts, err := b.options()
	switch {
	case err != nil:
		return nil, err
	case !given:
		return nil, problem.Invalid("", "one of cron, every and at has to say when")
	case !b.At.IsZero() && !b.At.After(c.Now()):
		return nil, problem.Invalid("/at", "it has passed")
	case b.Note != "" && !b.Paused:
		return nil, problem.Invalid("/note", "note needs paused")
	case b.Paused:
		opts = append(opts, schedule.Paused(b.Note))
	}
	item, err := b.Job.Item(c, "/job")
	if err != nil {
		return nil, err
	}
	s, err := schedule.Create(ctx, c.Client, schedule.New(b.Name, times, item, opts...))
	if err != nil {
		return nil, problem.At("", err)
	}
	return tagged(c, &s), nil
}

func registerPreview(a *api.API) {
	api.Register(a, api.Op{
		ID: "schedule-preview", Method: http.MethodPost, Path: "/schedules/preview", Tag: tag, Scope: access.SchedulesRead,
		Summary: "Show what times mean, before there is a schedule", About: "It changes nothing.",
	}, preview)
}

type schedulePreviewIn struct {
	api.In

	Body struct {
		ScheduleTimes

		Name  string    `json:"name,omitempty" doc:"Of the schedule to be; only H in an expression depends on it"`
		Start time.Time `json:"start,omitzero"`
		End   time.Time `json:"end,omitzero"`
		Limit int       `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"How many times; 10 if it is left out"`
		After time.Time `json:"after,omitzero" doc:"The times after this one; now if it is left out"`
	}
}

// SchedulePreview is what times mean.
type SchedulePreview struct {
	Words       string             `json:"words" doc:"In English"`
	NextTimes   []views.NextTime   `json:"next_times" nullable:"false"`
	ClockChange *views.ClockChange `json:"clock_change" doc:"The next change of the clock that affects them, and what it does"`
}

func preview(_ context.Context, c *api.Call, in *schedulePreviewIn) (*api.Body[SchedulePreview], error) {
	b := &in.Body
	times, given, err := b.times()
	if err == nil && !given {
		err = problem.Invalid("", "one of cron, every and at has to say when")
	}
	if err != nil {
		return nil, err
	}
	name, n, after := b.Name, b.Limit, b.After
	if name == "" {
		name = "schedule"
	}
	if n == 0 {
		n = 10
	}
	if after.IsZero() {
		after = c.Now()
	}
	item := holdfast.NewKind[api.Payload, api.Payload]("kind").Item(rehearsed)
	s, err := schedule.Rehearse(c.Client, schedule.New(name, times, item, schedule.Start(b.Start), schedule.End(b.End)))
	if err != nil {
		return nil, problem.At("", err)
	}
	next, err := schedule.Next(&s, after, n)
	if err != nil {
		return nil, err
	}
	v := SchedulePreview{Words: schedule.Words(&s), NextTimes: make([]views.NextTime, len(next)), ClockChange: clockChange(&s, after)}
	for i, at := range next {
		v.NextTimes[i] = views.NewNextTime(at)
	}
	return &api.Body[SchedulePreview]{Body: v}, nil
}

func clockChange(s *store.Schedule, after time.Time) *views.ClockChange {
	at, effect := schedule.ClockChange(s, after)
	if effect == "" {
		return nil
	}
	return &views.ClockChange{At: views.Timestamp(at), Effect: effect}
}

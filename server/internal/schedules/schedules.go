// Package schedules has the operations of the API on schedules.
//
// # Imports
//
// Of ours, the root package, schedule, store, internal/cli/views, server/internal/jobs (what is
// enqueued), and server/internal/api with what that stands on.
package schedules

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const (
	tag     = "schedules"
	maxBody = 4 << 20 // of what has args
)

// Reads reports whether a request is one that reads although it is a POST: the preview of a
// schedule that is in its body.
func Reads(r *http.Request) bool { return r.URL.Path == "/api/v1/schedules/preview" }

// Register registers the operations.
func Register(a *api.API) {
	get := func(id, path, summary, about string) api.Op {
		return api.Op{ID: id, Method: http.MethodGet, Path: path, Tag: tag, Scope: access.SchedulesRead, Summary: summary, About: about}
	}
	api.Register(a, get("schedule-list", "/schedules", "List schedules", "By name."), list)
	api.RegisterFull(a, get("schedule-get", "/schedules/{schedule}", "Get a schedule",
		"With its next times, its last runs, the next change of the clock that affects it, and what differs from what code declares."), getSchedule)
	api.Register(a, get("schedule-runs", "/schedules/{schedule}/runs", "List what became of the times of a schedule",
		"The last one first. At least the last 200 are kept."), runs)
	registerPreview(a)
	registerCreate(a)
	registerChange(a)
}

// Schedule is a schedule.
type Schedule struct {
	views.Schedule

	FiresLeft *api.Int `json:"fires_left" nullable:"true" doc:"null: without a bound"`
	Fired     api.Int  `json:"fired"`
}

func view(c *api.Call, s *store.Schedule) Schedule {
	v := Schedule{Schedule: views.NewSchedule(s, c.Now()), Fired: api.Int(s.Fired)}
	if s.Left >= 0 {
		v.FiresLeft = new(api.Int(s.Left))
	}
	hide(c, &v.Job)
	return v
}

// hide hides the payloads of a job from those who have no scope for them.
func hide(c *api.Call, j *views.ScheduledJob) {
	j.Args, j.Metadata, j.Attributes = c.Visible(j.Args), c.Visible(j.Metadata), c.Visible(j.Attributes)
}

// WholeSchedule is a schedule with its next times, its last runs, and how it differs from code.
type WholeSchedule struct {
	Schedule

	NextTimes   []views.NextTime    `json:"next_times" nullable:"false"`
	ClockChange *views.ClockChange  `json:"clock_change" doc:"The next one that affects it"`
	Runs        []views.ScheduleRun `json:"runs" nullable:"false"`
	Differences []views.Difference  `json:"differences" nullable:"false" doc:"What code declares otherwise"`
}

// versionOf is the version of what people set of a schedule: not of its place in time.
func versionOf(s *store.Schedule) string {
	return api.ETag(s.CreatedAt.UnixMicro(), s.ScheduleSettings, s.PausedAt.UnixMicro(), s.Note)
}

// tagged is a schedule with its version.
func tagged(c *api.Call, s *store.Schedule) *api.Tagged[Schedule] {
	return &api.Tagged[Schedule]{ETag: versionOf(s), Body: view(c, s)}
}

type scheduleListIn struct {
	api.In
	api.Paged
}

func list(ctx context.Context, c *api.Call, in *scheduleListIn) (*api.Body[api.Page[Schedule]], error) {
	after, err := in.After()
	if err != nil {
		return nil, err
	}
	size := func(s *store.Schedule) int { return len(s.Job.Args) }
	all, more, err := api.Fill(in.Limit, size, func(n int) ([]store.Schedule, bool, error) {
		part, err := schedule.List(ctx, c.Client, after, n+1)
		more := len(part) > n
		if part = part[:min(n, len(part))]; len(part) > 0 {
			after = part[len(part)-1].Name
		}
		return part, more, err
	})
	if err != nil {
		return nil, err
	}
	items := make([]Schedule, len(all))
	for i := range all {
		items[i] = view(c, &all[i])
	}
	next := ""
	if more {
		next = api.Cursor(after)
	}
	return &api.Body[api.Page[Schedule]]{Body: api.NewPage(items, next)}, nil
}

// OfSchedule is what inputs about one schedule have.
type OfSchedule struct {
	api.In

	Schedule string `path:"schedule" example:"nightly"`
}

type scheduleGetIn struct {
	OfSchedule

	Next int `query:"next" minimum:"1" maximum:"1000" default:"5" doc:"How many times to come"`
}

// runsShown is how many runs come with a schedule.
const runsShown = 10

func getSchedule(ctx context.Context, c *api.Call, in *scheduleGetIn) (*api.Tagged[WholeSchedule], error) {
	s, err := schedule.Get(ctx, c.Client, in.Schedule)
	if err != nil {
		return nil, err
	}
	last, err := schedule.Runs(ctx, c.Client, in.Schedule, store.ScheduleRun{}, runsShown)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	of := views.NewWholeSchedule(&s, now, views.NextOf(&s, now, in.Next), last)
	for i := range of.Differences {
		if d := &of.Differences[i]; d.Setting == "job.args" || d.Setting == "job.metadata" || d.Setting == "job.attributes" {
			d.Is, d.Declared = c.Visible(d.Is), c.Visible(d.Declared)
		}
	}
	v := WholeSchedule{Schedule: view(c, &s), NextTimes: of.NextTimes, ClockChange: of.ClockChange, Runs: of.Runs, Differences: of.Differences}
	return &api.Tagged[WholeSchedule]{ETag: versionOf(&s), Body: v}, nil
}

type scheduleRunsIn struct {
	OfSchedule
	api.Paged
}

func runs(ctx context.Context, c *api.Call, in *scheduleRunsIn) (*api.Body[api.Page[views.ScheduleRun]], error) {
	if _, err := schedule.Get(ctx, c.Client, in.Schedule); err != nil {
		return nil, err
	}
	after, err := runBehind(&in.Paged)
	if err != nil {
		return nil, err
	}
	all, err := schedule.Runs(ctx, c.Client, in.Schedule, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(all) > in.Limit {
		all = all[:in.Limit]
		last := all[len(all)-1]
		next = api.Cursor(strconv.FormatInt(last.Nominal.UnixMicro(), 10) + " " + strconv.FormatInt(last.Manual, 10))
	}
	items := make([]views.ScheduleRun, len(all))
	for i := range all {
		items[i] = views.NewScheduleRun(&all[i])
	}
	return &api.Body[api.Page[views.ScheduleRun]]{Body: api.NewPage(items, next)}, nil
}

// runBehind is the run that a cursor is behind.
func runBehind(in *api.Paged) (run store.ScheduleRun, err error) {
	text, err := in.After()
	if err != nil || text == "" {
		return run, err
	}
	nominal, manual, _ := strings.Cut(text, " ")
	at, err := strconv.ParseInt(nominal, 10, 64)
	if err == nil {
		run.Nominal = time.UnixMicro(at)
		run.Manual, err = strconv.ParseInt(manual, 10, 64)
	}
	if err != nil {
		return run, problem.Invalid("query/cursor", "it is no cursor of this list; use next_cursor of the page before")
	}
	return run, nil
}

// rehearsed is the job of a schedule that is only made to see its times.
var rehearsed = json.RawMessage("{}")

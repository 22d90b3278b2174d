package schedules

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// ScheduleTimes are the fields that say when a schedule fires: by one of cron, every and at.
type ScheduleTimes struct { //nolint:recvcheck // only what checks it takes a pointer
	Cron     string       `json:"cron,omitempty" doc:"An expression of five fields, or six with seconds first, or such as @daily" example:"30 2 * * MON-FRI"`
	Zone     string       `json:"tz,omitempty" doc:"Of cron: the time zone; UTC if it is left out" example:"Europe/Berlin"`
	SkipGaps *bool        `json:"skip_gaps,omitempty" doc:"Of cron: leave out times that the clock goes over when it is set forward"`
	Every    api.Duration `json:"every,omitzero" doc:"An interval, whatever the clock shows"`
	From     time.Time    `json:"from,omitzero" doc:"Of every: counted from this time; from 1970 in UTC if it is left out"`
	At       time.Time    `json:"at,omitzero" doc:"Once, at this time"`
}

// over completes what is said of a cron expression by that which a schedule has.
func (t ScheduleTimes) over(s *store.Schedule) ScheduleTimes {
	expression, zone, skips, ok := schedule.CronOf(s)
	if !ok || t.Every != 0 || !t.At.IsZero() || t.Cron == "" && t.Zone == "" && t.SkipGaps == nil {
		return t
	}
	if t.Cron == "" {
		t.Cron = expression
	}
	if t.Zone == "" {
		t.Zone = zone
	}
	if t.SkipGaps == nil {
		t.SkipGaps = &skips
	}
	return t
}

// times are the nominal times; given is false if nothing is said of them.
func (t *ScheduleTimes) times() (times schedule.Times, given bool, err error) {
	n := 0
	for _, is := range []bool{t.Cron != "", t.Every != 0, !t.At.IsZero()} {
		if is {
			n++
		}
	}
	switch {
	case n > 1:
		return times, true, problem.Invalid("", "only one of cron, every and at says when")
	case t.Zone != "" && t.Cron == "":
		return times, true, problem.Invalid("/tz", "tz needs cron")
	case t.SkipGaps != nil && t.Cron == "":
		return times, true, problem.Invalid("/skip_gaps", "skip_gaps needs cron")
	case !t.From.IsZero() && t.Every == 0:
		return times, true, problem.Invalid("/from", "from needs every")
	case t.Cron != "":
		if times = schedule.Cron(strings.TrimSpace(t.Cron), t.Zone); t.SkipGaps != nil && *t.SkipGaps {
			times = times.SkipGaps()
		}
	case !t.From.IsZero():
		times = schedule.EveryFrom(time.Duration(t.Every), t.From)
	case t.Every != 0:
		times = schedule.Every(time.Duration(t.Every))
	case !t.At.IsZero():
		times = schedule.At(t.At)
	}
	return times, n == 1, nil
}

// SchedulePolicies are the fields that say what happens at a time.
type SchedulePolicies struct {
	Overlap string               `json:"overlap,omitempty" enum:"skip,allow,buffer-one,buffer-all,cancel-other,terminate-other" doc:"If the job before has not finished; skip if it is left out"`
	Missed  string               `json:"missed,omitempty" enum:"coalesce,catch-up,skip" doc:"What becomes of times that have passed; coalesce if it is left out"`
	Window  api.Duration         `json:"window,omitzero" doc:"With catch-up: how far back"`
	Jitter  *api.Duration        `json:"jitter,omitempty" doc:"Each job is enqueued up to this after its time"`
	Start   api.Patch[time.Time] `json:"start,omitzero" doc:"No time before this one; null: no start"`
	End     api.Patch[time.Time] `json:"end,omitzero" doc:"No time at this one or later; null: no end"`
	Fires   api.Patch[int64]     `json:"fires,omitzero" doc:"It fires so many times, skipped ones included, and then no more; null: without a bound"`
}

// options are what is said.
func (p *SchedulePolicies) options() (opts []schedule.Option, err error) {
	if p.Overlap != "" {
		policy, err := store.ParseOverlap(p.Overlap)
		if err != nil {
			return nil, problem.At("/overlap", err)
		}
		opts = append(opts, schedule.Overlap(policy))
	}
	catchUp := p.Missed == store.MissedCatchUp.String()
	switch {
	case p.Window != 0 && !catchUp:
		return nil, problem.Invalid("/window", "window needs missed to be catch-up")
	case catchUp && p.Window <= 0:
		return nil, problem.Invalid("/window", "catch-up needs a window, how far back, such as 24h")
	case catchUp:
		opts = append(opts, schedule.CatchUp(time.Duration(p.Window)))
	case p.Missed == store.MissedSkip.String():
		opts = append(opts, schedule.SkipMissed())
	case p.Missed != "":
		opts = append(opts, schedule.Coalesce())
	}
	if p.Jitter != nil {
		if *p.Jitter < 0 {
			return nil, problem.Invalid("/jitter", "the jitter is negative")
		}
		opts = append(opts, schedule.Jitter(time.Duration(*p.Jitter)))
	}
	if p.Start.Given {
		opts = append(opts, schedule.Start(p.Start.Value))
	}
	if p.End.Given {
		opts = append(opts, schedule.End(p.End.Value))
	}
	switch {
	case p.Fires.Null:
		opts = append(opts, schedule.Fires(-1))
	case p.Fires.Given && p.Fires.Value < 1:
		return nil, problem.Invalid("/fires", "it fires at least once; schedule-pause stops it")
	case p.Fires.Given:
		opts = append(opts, schedule.Fires(p.Fires.Value))
	}
	return opts, nil
}

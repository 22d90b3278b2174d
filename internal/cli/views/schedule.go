package views

import (
	"encoding/json"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// Schedule is a schedule.
type Schedule struct {
	Namespace string       `json:"namespace"`
	Name      string       `json:"name"`
	Times     string       `json:"times"` // as they are stored
	Words     string       `json:"words"` // the times, in English
	Job       ScheduledJob `json:"job"`
	Overlap   string       `json:"overlap"`
	Missed    string       `json:"missed"`
	Window    Span         `json:"window"`
	Jitter    Span         `json:"jitter"`
	Start     Timestamp    `json:"start"`
	End       Timestamp    `json:"end"`
	FiresLeft *int64       `json:"fires_left"` // null: without a bound
	Next      Timestamp    `json:"next"`       // its next nominal time
	LastJob   Text         `json:"last_job"`
	Fired     int64        `json:"fired"`
	Paused    bool         `json:"paused"`
	PausedAt  Timestamp    `json:"paused_at"`
	PausedBy  Text         `json:"paused_by"`
	Note      Text         `json:"note"`
	Declared  bool         `json:"declared"` // by code
	Drift     bool         `json:"drift"`    // it differs from what code declares
	CreatedAt Timestamp    `json:"created_at"`
	UpdatedAt Timestamp    `json:"updated_at"`
}

// ScheduledJob is what a schedule enqueues.
type ScheduledJob struct {
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	Priority    int             `json:"priority"`
	Args        json.RawMessage `json:"args"`
	Codec       int             `json:"codec"`
	MaxAttempts Number          `json:"max_attempts"`
	Timeout     Span            `json:"timeout"`
	Heartbeat   Span            `json:"heartbeat_timeout"`
	Backoff     *Backoff        `json:"backoff"`
	Tags        []string        `json:"tags"`
	Attributes  json.RawMessage `json:"attributes"`
	Metadata    json.RawMessage `json:"metadata"`
	OrderingKey Text            `json:"ordering_key"`
	Key         Text            `json:"key"`
	KeepKey     Text            `json:"keep_key"`
	Limit       Text            `json:"limit"`
	LimitKey    Text            `json:"limit_key"`
	FairKey     Text            `json:"fair_key"`
}

func newScheduledJob(j *store.ScheduledJob) ScheduledJob {
	v := ScheduledJob{
		Kind: j.Kind, Queue: j.Queue, Priority: j.Priority, Args: payload(j.Args, j.Codec), Codec: j.Codec, MaxAttempts: Number(j.MaxAttempts),
		Timeout: Span(j.Options.Timeout), Heartbeat: Span(j.Options.Heartbeat), Tags: append([]string{}, j.Tags...),
		Attributes:  attributeValues(j.Attributes),
		Metadata:    payload(j.Metadata, 0),
		OrderingKey: Text(j.OrderingKey), Key: Text(j.Options.Key), KeepKey: Text(KeepText(j.Options.KeepKey)),
		Limit: Text(j.Options.Limit), LimitKey: Text(j.Options.LimitKey), FairKey: Text(j.Options.FairKey),
	}
	if b := j.Options.Backoff; b != (store.Backoff{}) {
		v.Backoff = &Backoff{Base: Span(b.Base), Cap: Span(b.Cap), Jitter: b.Jitter}
	}
	return v
}

// NewSchedule returns the view of a schedule.
func NewSchedule(s *store.Schedule, now time.Time) Schedule {
	v := Schedule{
		Namespace: s.Namespace, Name: s.Name, Times: s.Times, Words: schedule.Words(s), Job: newScheduledJob(&s.Job),
		Overlap: s.Overlap.String(), Missed: s.Missed.String(), Window: Span(s.Window), Jitter: Span(s.Jitter),
		Start: Timestamp(s.Start), End: Timestamp(s.End), Next: Timestamp(nextOf(s, now)), LastJob: Text(IDText(s.Last)), Fired: s.Fired,
		Paused: !s.PausedAt.IsZero(), PausedAt: Timestamp(s.PausedAt), PausedBy: Text(s.PausedBy), Note: Text(s.Note),
		Declared: s.Declared != "", Drift: schedule.Drifts(s), CreatedAt: Timestamp(s.CreatedAt), UpdatedAt: Timestamp(s.UpdatedAt),
	}
	if s.Left >= 0 {
		v.FiresLeft = &s.Left
	}
	return v
}

// nextOf is the next nominal time of a schedule; zero if it fires no more.
func nextOf(s *store.Schedule, now time.Time) time.Time {
	if next := NextOf(s, now, 1); len(next) > 0 {
		return next[0]
	}
	return time.Time{}
}

// NextOf returns up to n nominal times at which a schedule will fire, if it is not paused, as the
// clock in its zone shows them. One that has come is among them if there is no later one.
func NextOf(s *store.Schedule, now time.Time, n int) []time.Time {
	if s.NextAt.IsZero() {
		return nil
	}
	if s.Left >= 0 {
		n = int(min(int64(n), s.Left))
	}
	next, err := schedule.Next(s, now, n)
	if err != nil {
		return nil
	}
	if at, ok := schedule.Due(s, now); ok && len(next) == 0 && n > 0 {
		next = append(next, at)
	}
	return next
}

// FiresText says when a schedule fires, and next, on one line.
func FiresText(now time.Time, s *store.Schedule) string {
	text := schedule.Words(s)
	switch at := nextOf(s, now); {
	case at.IsZero():
		text += "; " + over(s)
	case s.PausedAt.IsZero() && !at.After(now):
		text += "; due since " + localTime(at) + ": it fires when a node leads"
	case s.PausedAt.IsZero():
		text += "; next on " + localTime(at) + ", " + output.Ago(now, at)
	default:
		text += "; it is paused"
	}
	return text
}

// over says that a schedule will not fire again.
func over(s *store.Schedule) string {
	if s.Fired == 0 {
		return "it is over and has never fired: its times had passed when it was made, or were missed or skipped"
	}
	return "it is over: it fires no more"
}

// ScheduleHeader is the header of a table of schedules.
var ScheduleHeader = []string{"NAME", "TIMES", "NEXT", "KIND", "LAST", "PAUSED", "DRIFT"}

// ScheduleRow formats a schedule for a table.
func ScheduleRow(now time.Time, s *store.Schedule) []string {
	next, paused, drift := "over", "", ""
	at := nextOf(s, now)
	switch {
	case at.IsZero():
	case s.PausedAt.IsZero() && !at.After(now):
		next = "due"
	case s.PausedAt.IsZero():
		next = output.Ago(now, at)
	default:
		next = "paused"
	}
	if !s.PausedAt.IsZero() {
		paused = pausedText(now, s)
	}
	if schedule.Drifts(s) {
		drift = "yes"
	}
	return []string{
		output.Clip(s.Name, output.MaxName), output.Clip(schedule.Words(s), 60), next, output.Clip(s.Job.Kind, output.MaxName),
		IDText(s.Last), output.Clip(paused, 60), drift,
	}
}

// pausedText says since when a schedule is paused, by whom, and why.
func pausedText(now time.Time, s *store.Schedule) string {
	text := output.Ago(now, s.PausedAt)
	if s.PausedBy != "" {
		text += " by " + s.PausedBy
	}
	if s.Note != "" {
		text += ": " + s.Note
	}
	return text
}

// ScheduleRun is a nominal time of a schedule, and what became of it.
type ScheduleRun struct {
	Nominal Timestamp `json:"nominal"`
	State   string    `json:"state"`
	Job     Text      `json:"job"`    // if it was skipped: the one that was in the way
	At      Timestamp `json:"at"`     // when it was decided
	Number  Big       `json:"number"` // of the backfill, or of a trigger; null: the clock has fired
}

// NewScheduleRun returns the view of a run of a schedule.
func NewScheduleRun(r *store.ScheduleRun) ScheduleRun {
	return ScheduleRun{
		Nominal: Timestamp(r.Nominal), State: r.State.String(), Job: Text(IDText(r.Job)), At: Timestamp(r.At), Number: Big(r.Manual),
	}
}

// ScheduleRunHeader is the header of a table of runs of a schedule.
var ScheduleRunHeader = []string{"NOMINAL", "STATE", "JOB", "DECIDED", "NUMBER"}

// ScheduleRunRow formats a run of a schedule for a table.
func ScheduleRunRow(now time.Time, s *store.Schedule, r *store.ScheduleRun) []string {
	number, _ := Big(r.Manual).MarshalJSON()
	return []string{
		TimeOf(s, r.Nominal), r.State.String(), IDText(r.Job), output.Ago(now, r.At),
		output.CellOf(number),
	}
}

// NextTime is a nominal time of a schedule.
type NextTime struct {
	At    Timestamp `json:"at"`
	Local string    `json:"local"` // in the zone of the schedule, with its distance from UTC
}

// NewNextTime returns the view of a nominal time in the zone of its schedule.
func NewNextTime(at time.Time) NextTime {
	return NextTime{At: Timestamp(at), Local: at.Format(time.RFC3339Nano)}
}

// NextTimeHeader is the header of a table of nominal times.
var NextTimeHeader = []string{"TIME", "WHEN"}

// NextTimeRow formats a nominal time for a table.
func NextTimeRow(now, at time.Time) []string {
	return []string{localTime(at), output.Ago(now, at)}
}

// TimeOf formats a time as the clock in the zone of a schedule shows it: in UTC if it has none.
func TimeOf(s *store.Schedule, at time.Time) string {
	if _, name, _, ok := schedule.CronOf(s); ok {
		if zone, err := time.LoadLocation(name); err == nil { // else it is unknown on this machine
			return localTime(at.In(zone))
		}
	}
	return localTime(at.UTC())
}

// localTime formats a time as the clock in its zone shows it.
func localTime(at time.Time) string { return at.Format("Mon 2006-01-02 15:04:05 MST") }

// Backfill is what a backfill has done, or would do.
type Backfill struct {
	Namespace string      `json:"namespace"`
	Schedule  string      `json:"schedule"`
	Number    Big         `json:"number"` // with which it is repeated; null: nothing was done
	Times     int         `json:"times"`
	Exact     bool        `json:"exact"` // false: there are more times
	First     []Timestamp `json:"first"` // of the times, with --dry-run
	Enqueued  int         `json:"enqueued"`
	Skipped   int         `json:"skipped"`
}

// DeletedSchedule is a schedule that was to be deleted.
type DeletedSchedule struct {
	Namespace string `json:"namespace"`
	Schedule  string `json:"schedule"`
	Deleted   bool   `json:"deleted"`
	Error     Text   `json:"error"`
}

// NewBackfill returns the view of a backfill that was done.
func NewBackfill(namespace, name string, b schedule.Backfilled) Backfill {
	return Backfill{
		Namespace: namespace, Schedule: name, Number: Big(b.Number), Times: b.Times, Exact: true, First: []Timestamp{},
		Enqueued: b.Enqueued, Skipped: b.Skipped,
	}
}

// PlannedBackfill returns the view of a backfill that is only planned.
func PlannedBackfill(namespace, name string, times int, more bool, first []time.Time) Backfill {
	v := Backfill{Namespace: namespace, Schedule: name, Times: times, Exact: !more, First: []Timestamp{}}
	for _, at := range first {
		v.First = append(v.First, Timestamp(at))
	}
	return v
}

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Schedules keeps schedules, and enqueues what they say.
//
// A store does no arithmetic of time: which nominal times a schedule has, which of them were missed
// and what becomes of those is decided by the caller, from what the schedule says. The store sees
// to it that a decision is carried out once: a Fire, which is written by Apply, is a compare of the
// schedule's version, the rows of its nominal times, and the enqueues, in one transaction. Of two
// callers that decide at once one gets ErrConflict, and has left nothing.
type Schedules interface {
	// SaveSchedule makes a schedule, if expect is 0, or replaces the one that has this version, and
	// returns it as it is then. The errors are ErrInvalid, ErrNotFound, and ErrConflict if there is
	// one already, or if it has another version.
	SaveSchedule(ctx context.Context, s Schedule, expect int64, actor string) (Schedule, error)
	// DeleteSchedule removes a schedule and its runs; the jobs stay. The errors are ErrNotFound,
	// and ErrConflict if it has another version than expect, which is 0 for any.
	DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error
	// Schedules returns a page of schedules, by namespace and name.
	Schedules(ctx context.Context, filter ScheduleFilter) ([]Schedule, error)
	// DueSchedules returns up to limit schedules of all namespaces whose NextAt has come, by that
	// time, those of one time in any order, but not those that are paused, unless Cancels is set;
	// and the first NextAt behind those, zero: none. What is not due costs nothing.
	DueSchedules(ctx context.Context, limit int) (due []Schedule, next time.Time, err error)
	// ScheduleRuns returns what became of nominal times of a schedule, the last ones first. One
	// that is not there has none.
	ScheduleRuns(ctx context.Context, params ScheduleRunParams) ([]ScheduleRun, error)
}

// Schedule enqueues a job at nominal times.
type Schedule struct {
	Namespace string
	Name      string // within the namespace
	ScheduleSettings

	// Declared is what code has declared last, in a form that only the declaring package reads; ""
	// if no code has. It is compared with what a person has set, to show the difference.
	Declared string

	PausedAt time.Time // zero: it is not paused
	PausedBy string
	Note     string // of who paused it, or of what did

	// Cursor is the last nominal time about which it was decided whether it fires. None before it
	// is looked at again.
	Cursor time.Time
	// NextAt is when it is looked at next: the next nominal time, and its jitter. Zero: never.
	NextAt time.Time
	// Left is how often it may fire yet; negative: without a bound.
	Left int64

	// Cancels is a job that a fire has replaced, and that is to be asked to stop; zero: none. Who
	// has asked it clears the field. A schedule is looked at for that also if it is paused or over.
	Cancels ID

	// What the store sets.
	Version   int64     // grows with every change, from FirstVersion on
	Last      ID        // the job that it enqueued last, but for backfills; zero: none
	Fired     int64     // how many nominal times have led to a job
	CreatedAt time.Time // kept
	UpdatedAt time.Time // of the last SaveSchedule
}

// ScheduleSettings is what a schedule does, and when.
type ScheduleSettings struct {
	// Times is the rule of its nominal times, as the package that does the arithmetic writes it.
	Times string `json:"times"`
	// Job is what it enqueues.
	Job ScheduledJob `json:"job"`

	Overlap Overlap `json:"overlap,omitempty"`
	Missed  Missed  `json:"missed,omitempty"`
	// Window is how far back a missed time is made up for, with CatchUp.
	Window time.Duration `json:"window,omitempty"`
	// Jitter is the most by which a job is enqueued after its nominal time.
	Jitter time.Duration `json:"jitter,omitempty"`
	// No nominal time is before Start, and none at End or after. Zero: no bound.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
}

// ScheduledJob is the job that a schedule enqueues.
type ScheduledJob struct {
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	Priority    int             `json:"priority"`
	Args        []byte          `json:"args,omitempty"`
	Codec       int             `json:"codec,omitempty"`
	MaxAttempts int             `json:"max_attempts,omitempty"`
	Options     Options         `json:"options,omitzero"`
	Tags        []string        `json:"tags,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	OrderingKey string          `json:"ordering_key,omitempty"`
	Attributes  []Attribute     `json:"attributes,omitempty"`
}

// Overlap says what happens at a nominal time if the job of an earlier one has not finished. The
// numbers are stored in databases and never change their meaning.
type Overlap uint8

// The policies.
const (
	OverlapSkip      Overlap = 0 // the time is skipped
	OverlapAllow     Overlap = 1 // both run
	OverlapBufferOne Overlap = 2 // one job waits until the earlier one has finished, and further times are skipped
	OverlapBufferAll Overlap = 3 // all jobs wait for their turn
	OverlapCancel    Overlap = 4 // the earlier one is asked to stop, and the job waits until it has
	OverlapTerminate Overlap = 5 // the earlier one is terminated, and the job waits until it is gone
)

// Missed says what becomes of nominal times that have passed while no node could fire, or while the
// schedule was paused. The numbers are stored in databases and never change their meaning.
type Missed uint8

// The policies.
const (
	MissedCoalesce Missed = 0 // the last one of them fires
	MissedCatchUp  Missed = 1 // all of them fire that are not further back than the window
	MissedSkip     Missed = 2 // none fires
)

// Fire is a decision about a schedule. It is written with the enqueues of its jobs, which belong to
// its Unit, or not at all. If it is not known which, the version of the schedule tells.
type Fire struct {
	Namespace string
	Name      string
	// Version is that of the schedule from which it was decided. Another one is ErrConflict. 0:
	// any, of a fire that is Manual.
	Version int64

	// Cursor, NextAt, Left and Cancels are those of the schedule afterwards. A manual fire leaves
	// them alone; but if it has Cancels it sets that, and the schedule is due at once.
	Cursor  time.Time
	NextAt  time.Time
	Left    int64
	Cancels ID

	// Manual tells a fire apart that a person has asked for, by a number that the caller draws; 0:
	// the clock has. A nominal time may have a run of each number. One that has it already is
	// ErrConflict.
	Manual int64
	// Backfill is a manual fire of times that have passed: its jobs are not what the next one
	// replaces, so it leaves Last alone.
	Backfill bool
	Actor    string // who has asked for it, which is recorded; "": that is not recorded

	Runs []FireRun

	// Err is set by the store: ErrConflict, ErrNotFound, or the error of an enqueue.
	Err error
}

// FireRun is what is decided about one nominal time.
type FireRun struct {
	Nominal time.Time
	State   RunState
	// Enqueue is the job of a run that is RunFired, one of the enqueues of the unit. If it answers
	// with another job that exists, the run is RunSkipped.
	Enqueue *Enqueue
}

// RunState says what became of a nominal time. The numbers are stored in databases and never change
// their meaning.
type RunState uint8

// The states.
const (
	RunFired   RunState = 1 // its job was enqueued
	RunSkipped RunState = 2 // the job of an earlier time had not finished
	RunMissed  RunState = 3 // it had passed, and was not made up for
)

// ScheduleRun is a nominal time of a schedule, and what became of it.
type ScheduleRun struct {
	Nominal time.Time
	Manual  int64 // see Fire
	State   RunState
	Job     ID        // of RunFired: its job; of RunSkipped: the one that was in the way
	At      time.Time // when it was decided
}

// ScheduleFilter is a page of schedules.
type ScheduleFilter struct {
	Namespace string // "": all
	Name      string // "": all; else the one with this name
	// After is the last one of the page before; its names are compared.
	AfterNamespace, AfterName string
	Limit                     int // at least 1
}

// ScheduleRunParams is a page of the runs of a schedule.
type ScheduleRunParams struct {
	Namespace string
	Name      string
	// Before is the last one of the page before: runs with an earlier nominal time follow, and
	// those with the same one and a smaller number. Zero: from the last one on.
	Before       time.Time
	BeforeManual int64
	Limit        int // at least 1
}

// FirstVersion is that of a schedule, or a limit, that is made at a time. One that is made again
// has no version of the one before it: who has read that changes nothing about this.
func FirstVersion(at time.Time) int64 { return at.UnixMicro() }

// RunsKept is how many runs of a schedule are kept at the least, unless it is deleted.
const RunsKept = 200

// AskedRunsKept is how long runs are kept at the least that a person asked for: a Fire with the
// same Manual is refused for so long.
const AskedRunsKept = 24 * time.Hour

// NoSchedule is the ErrNotFound of a schedule that is not there.
func NoSchedule(namespace, name string) error {
	return fmt.Errorf("%w: there is no schedule %q in the namespace %q", ErrNotFound, name, namespace)
}

// ScheduleChanged is the ErrConflict of a schedule that has another version than was expected; now
// is 0 if there is none.
func ScheduleChanged(namespace, name string, expected, now int64) error {
	if expected == 0 {
		return fmt.Errorf("%w: there is a schedule %q in the namespace %q already", ErrConflict, name, namespace)
	}
	return fmt.Errorf("%w: the schedule %q in the namespace %q was changed meanwhile: it has the version %d, not %d",
		ErrConflict, name, namespace, now, expected)
}

// HasRunError is the ErrConflict of a fire one of whose nominal times has a run already.
type HasRunError struct {
	Namespace, Name string
	Nominal         time.Time
}

func (e *HasRunError) Error() string {
	return fmt.Sprintf("%v: the schedule %q in the namespace %q has a run for %s already",
		ErrConflict, e.Name, e.Namespace, e.Nominal.UTC().Format(time.RFC3339Nano))
}

// Unwrap makes the error an ErrConflict.
func (e *HasRunError) Unwrap() error { return ErrConflict }

// HasRun is the error of a fire whose nominal time has a run already.
func (f *Fire) HasRun(nominal time.Time) error {
	return &HasRunError{Namespace: f.Namespace, Name: f.Name, Nominal: nominal}
}

// Check reports why no store takes the schedule, an ErrInvalid.
func (s *Schedule) Check() error {
	switch {
	case s.Namespace == "" || s.Name == "":
		return fmt.Errorf("%w: a schedule lacks a namespace or a name", ErrInvalid)
	case s.Times == "":
		return s.invalid("it has no times")
	case s.Overlap > OverlapTerminate || s.Missed > MissedSkip:
		return s.invalid("its overlap policy %d or its policy for missed times %d is unknown", s.Overlap, s.Missed)
	case s.Jitter < 0 || s.Window < 0:
		return s.invalid("its jitter or its window is negative")
	}
	for _, t := range [...]time.Time{s.Start, s.End, s.Cursor, s.NextAt, s.PausedAt} {
		if !isTime(t) {
			return s.invalid("a time is not between the years 1 and 9999")
		}
	}
	for _, text := range [...]string{s.Namespace, s.Name, s.Times, s.Declared, s.PausedBy, s.Note} {
		if !isText(text) {
			return s.invalid("%.60q is not valid UTF-8 or contains NUL", text)
		}
	}
	job := s.Job.Job(s.Namespace, ID{15: 1}, time.Time{})
	if err := job.Check(); err != nil {
		return fmt.Errorf("%w (it is the one of schedule %q)", err, s.Name)
	}
	return nil
}

func (s *Schedule) invalid(format string, args ...any) error {
	return fmt.Errorf("%w: schedule %q: %s", ErrInvalid, s.Name, fmt.Sprintf(format, args...))
}

// Check reports why no store carries out the fire, an ErrInvalid.
func (f *Fire) Check() error {
	switch {
	case f.Version < 0 || f.Manual < 0 || f.Version == 0 && f.Manual == 0:
		return fmt.Errorf("%w: schedule %q: a fire needs the version of its schedule", ErrInvalid, f.Name)
	case !isTime(f.Cursor) || !isTime(f.NextAt):
		return fmt.Errorf("%w: schedule %q: a time is not between the years 1 and 9999", ErrInvalid, f.Name)
	}
	for _, r := range f.Runs {
		if !isTime(r.Nominal) || r.Nominal.IsZero() || (r.State == RunFired) != (r.Enqueue != nil) || r.State < RunFired || r.State > RunMissed {
			return fmt.Errorf("%w: schedule %q: a run has no time, or its state %d and its job do not fit", ErrInvalid, f.Name, r.State)
		}
	}
	return nil
}

// Job returns the job as a schedule enqueues it, with an id, and the run time at.
func (j *ScheduledJob) Job(namespace string, id ID, at time.Time) Job {
	return Job{
		ID: id, Namespace: namespace, Queue: j.Queue, Kind: j.Kind, Priority: j.Priority, Args: bytes.Clone(j.Args), Codec: j.Codec,
		RunAt: at, MaxAttempts: j.MaxAttempts, Options: j.Options, Tags: j.Tags, Metadata: j.Metadata, OrderingKey: j.OrderingKey,
		Attributes: j.Attributes,
	}
}

// Judge reports why the fire of a schedule that has a version, or 0 if there is none, does not
// happen.
func (f *Fire) Judge(version int64) error {
	switch {
	case version == 0:
		return NoSchedule(f.Namespace, f.Name)
	case f.Version != 0 && f.Version != version:
		return ScheduleChanged(f.Namespace, f.Name, f.Version, version)
	}
	return nil
}

// Settle is called when the enqueues of the fire have their results: it moves the schedule on, but
// for its version, and returns the runs that are to be stored, or sets Err if one of the jobs was
// not enqueued.
func (f *Fire) Settle(s *Schedule, at time.Time) (runs []ScheduleRun) {
	for i := range f.Runs {
		r := &f.Runs[i]
		run := ScheduleRun{Nominal: r.Nominal.Truncate(time.Microsecond), Manual: f.Manual, State: r.State, At: at}
		switch q := r.Enqueue; {
		case q == nil:
		case q.Err != nil:
			f.Err = fmt.Errorf("schedule %q: %w", f.Name, q.Err)
			return nil
		case q.Result.ID != q.Job.ID:
			run.Job, run.State = q.Result.ID, RunSkipped
		default:
			run.Job = q.Job.ID
			if s.Fired++; !f.Backfill {
				s.Last = run.Job
			}
		}
		runs = append(runs, run)
	}
	switch {
	case f.Manual == 0:
		s.Cursor, s.NextAt, s.Left, s.Cancels = f.Cursor.Truncate(time.Microsecond), f.NextAt.Truncate(time.Microsecond), f.Left, f.Cancels
	case f.Cancels != ID{}:
		s.NextAt, s.Cancels = at, f.Cancels
	}
	return runs
}

// Encode returns the settings as stores keep them: a JSON document, whose form never changes its
// meaning. It fails as Check does.
func (s *Schedule) Encode() (string, error) {
	if err := s.Check(); err != nil {
		return "", err
	}
	settings := s.ScheduleSettings
	settings.Start, settings.End = settings.Start.UTC().Truncate(time.Microsecond), settings.End.UTC().Truncate(time.Microsecond)
	text, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("%w: schedule %q: %w", ErrInvalid, s.Name, err)
	}
	return string(text), nil
}

// DecodeSettings reads what Encode has written.
func DecodeSettings(text string) (settings ScheduleSettings, err error) {
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return settings, fmt.Errorf("the settings of a schedule cannot be read: %w", err)
	}
	return settings, nil
}

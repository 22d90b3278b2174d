package audited

import (
	"bytes"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// schedule is what entries say of one. What is enqueued may be a secret: of the args there is the
// size.
type schedule struct {
	Times    string        `json:"times"`
	Kind     string        `json:"kind"`
	Queue    string        `json:"queue"`
	Priority int           `json:"priority"`
	Args     int           `json:"args_bytes"`
	Changed  string        `json:"args,omitempty"`
	Options  store.Options `json:"options,omitzero"`
	Metadata string        `json:"metadata,omitempty"`
	Found    string        `json:"attributes,omitempty"`
	Left     int64         `json:"left"`
	Tags     []string      `json:"tags,omitempty"`
	Ordering string        `json:"ordering_key,omitempty"`
	Attempts int           `json:"max_attempts,omitempty"`
	Overlap  string        `json:"overlap"`
	Missed   string        `json:"missed"`
	Window   string        `json:"window,omitempty"`
	Jitter   string        `json:"jitter,omitempty"`
	Start    time.Time     `json:"start,omitzero"`
	End      time.Time     `json:"end,omitzero"`
	Paused   bool          `json:"paused"`
	Note     string        `json:"note,omitempty"`
}

// changed is what is said of what may be a secret, if it is another than it was.
const changed = "changed"

// ScheduleSaved is of a schedule that was made, or was what it was before; ok is whether it is
// anything else now.
func ScheduleSaved(was, is *store.Schedule, actor string) (e store.AuditEntry, ok bool) {
	e = ofSetting(actor, "create", is.Namespace, store.AuditSchedule, is.Name)
	after := scheduleOf(is)
	if was == nil {
		e.After = text(after)
		return e, true
	}
	a, errA := was.Encode()
	b, errB := is.Encode()
	if errA == nil && errB == nil && a == b && was.PausedAt.IsZero() == is.PausedAt.IsZero() && was.Note == is.Note && was.Left == is.Left {
		return e, false
	}
	if !bytes.Equal(was.Job.Args, is.Job.Args) || was.Job.Codec != is.Job.Codec {
		after.Changed = changed
	}
	if !slices.Equal(was.Job.Attributes, is.Job.Attributes) {
		after.Found = changed
	}
	if !bytes.Equal(was.Job.Metadata, is.Job.Metadata) {
		after.Metadata = changed
	}
	switch {
	case was.PausedAt.IsZero() && !is.PausedAt.IsZero():
		e.Action = "pause"
	case !was.PausedAt.IsZero() && is.PausedAt.IsZero():
		e.Action = "resume"
	default:
		e.Action = "update"
	}
	e.Before, e.After = text(scheduleOf(was)), text(after)
	return e, true
}

// ScheduleFired is of a fire that a person has asked for.
func ScheduleFired(f *store.Fire) store.AuditEntry {
	e := ofSetting(f.Actor, "trigger", f.Namespace, store.AuditSchedule, f.Name)
	e.After = text(map[string]any{"runs": len(f.Runs)})
	return e
}

// ScheduleDeleted is of a schedule that was deleted.
func ScheduleDeleted(was *store.Schedule, actor string) store.AuditEntry {
	e := ofSetting(actor, "delete", was.Namespace, store.AuditSchedule, was.Name)
	e.Before = text(scheduleOf(was))
	return e
}

func scheduleOf(s *store.Schedule) *schedule {
	return &schedule{
		Options: s.Job.Options, Left: s.Left,
		Times: s.Times, Kind: s.Job.Kind, Queue: s.Job.Queue, Priority: s.Job.Priority, Args: len(s.Job.Args), Tags: s.Job.Tags,
		Ordering: s.Job.OrderingKey, Attempts: s.Job.MaxAttempts, Overlap: s.Overlap.String(), Missed: s.Missed.String(),
		Window: length(s.Window), Jitter: length(s.Jitter), Start: s.Start, End: s.End, Paused: !s.PausedAt.IsZero(), Note: s.Note,
	}
}

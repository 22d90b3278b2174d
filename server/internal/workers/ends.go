package workers

import (
	"time"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// RunCompletes completes a run.
type RunCompletes struct {
	Result api.Payload `json:"result,omitempty" doc:"JSON of your own"`
	Repeat bool        `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunFails fails a run.
type RunFails struct {
	Error      string        `json:"error" minLength:"1" doc:"What went wrong, for people"`
	Kind       string        `json:"kind,omitempty" maxLength:"200" doc:"What kind of error it is; it is put before the error" example:"ValueError"`
	Permanent  bool          `json:"permanent,omitempty" doc:"No other attempt helps"`
	RetryAfter *api.Duration `json:"retry_after,omitempty" doc:"After how long it is tried again; without it, after its backoff"`
	Stack      string        `json:"stack,omitempty" doc:"Where it happened"`
	Repeat     bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunSnoozes lets a job run again later.
type RunSnoozes struct {
	For    *api.Duration `json:"for,omitempty" doc:"After how long it runs again"`
	Until  *time.Time    `json:"until,omitempty" doc:"Or when"`
	Reason string        `json:"reason,omitempty" maxLength:"1000" doc:"Why, for people"`
	Repeat bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunReleases gives a job back.
type RunReleases struct {
	Repeat bool `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunCancels ends a job as cancelled.
type RunCancels struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"Why; without it, as who has asked for it says"`
	Repeat bool   `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// What an outcome does.
const (
	doComplete = "complete"
	doFail     = "fail"
	doSnooze   = "snooze"
	doRelease  = "release"
	doCancel   = "cancel"
)

// RunOutcome is how a run has ended.
type RunOutcome struct {
	Lease      string        `json:"lease"`
	Do         string        `json:"do" enum:"complete,fail,snooze,release,cancel" doc:"As the operations of these names; the other fields are theirs"`
	Result     api.Payload   `json:"result,omitempty"`
	Error      string        `json:"error,omitempty"`
	Kind       string        `json:"kind,omitempty" maxLength:"200"`
	Permanent  bool          `json:"permanent,omitempty"`
	RetryAfter *api.Duration `json:"retry_after,omitempty"`
	Stack      string        `json:"stack,omitempty"`
	For        *api.Duration `json:"for,omitempty"`
	Until      *time.Time    `json:"until,omitempty"`
	Reason     string        `json:"reason,omitempty" maxLength:"1000"`
	Repeat     bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunProgress is how far a run is.
type RunProgress struct {
	Percent float64     `json:"percent,omitempty" minimum:"0" maximum:"100"`
	Message string      `json:"message,omitempty" doc:"For people; what is longer than 1 KiB is cut"`
	Value   api.Payload `json:"value,omitempty" doc:"JSON of your own, for the next attempt"`
}

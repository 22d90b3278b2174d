package workers

import (
	"time"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// RunCompletes completes a run.
type RunCompletes struct {
	Result  api.Payload `json:"result,omitempty" doc:"JSON of your own"`
	Journal *RunWrites  `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat  bool        `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunFails fails a run.
type RunFails struct {
	Error      string        `json:"error" minLength:"1" doc:"What went wrong, for people"`
	Kind       string        `json:"kind,omitempty" maxLength:"200" doc:"What kind of error it is; it is put before the error" example:"ValueError"`
	Permanent  bool          `json:"permanent,omitempty" doc:"No other attempt helps"`
	RetryAfter *api.Duration `json:"retry_after,omitempty" doc:"After how long it is tried again; without it, after its backoff"`
	Stack      string        `json:"stack,omitempty" doc:"Where it happened"`
	Journal    *RunWrites    `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat     bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunSnoozes lets a job run again later.
type RunSnoozes struct {
	For     *api.Duration `json:"for,omitempty" doc:"After how long it runs again"`
	Until   *time.Time    `json:"until,omitempty" doc:"Or when"`
	Reason  string        `json:"reason,omitempty" maxLength:"1000" doc:"Why, for people"`
	Journal *RunWrites    `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat  bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunReleases gives a job back.
type RunReleases struct {
	Journal *RunWrites `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat  bool       `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunCancels ends a job as cancelled.
type RunCancels struct {
	Reason  string     `json:"reason,omitempty" maxLength:"1000" doc:"Why; without it, as who has asked for it says"`
	Journal *RunWrites `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat  bool       `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunParks parks a run: its job waits without a slot, and is woken by what comes first.
type RunParks struct {
	For      *api.Duration `json:"for,omitempty" doc:"Woken after this"`
	Until    *time.Time    `json:"until,omitempty" doc:"Or at this time"`
	Messages []string      `json:"messages,omitempty" nullable:"false" enum:"signal,callback,callback failed,heartbeat,child" doc:"Woken by the next message of one of these kinds"`
	Count    int64         `json:"count,omitempty" minimum:"1" maximum:"1000000" doc:"Woken by so many messages, of whatever kinds"`
	Failures bool          `json:"failures,omitempty" doc:"Woken by a child that has not completed"`
	Seen     int64         `json:"seen,omitempty" minimum:"0" doc:"The number of the last message that the run knows: a later one wakes it at once"`
	WaitsFor []string      `json:"waits_for,omitempty" maxItems:"100" nullable:"false" doc:"For people: what it waits for" example:"[\"signal approved\"]"`
	Journal  *RunWrites    `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat   bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunHolds holds a run whose code does not fit its journal.
type RunHolds struct {
	Reason string `json:"reason" minLength:"1" maxLength:"1000" doc:"What the code asks for, where, and what the journal has there"`
	Repeat bool   `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// What an outcome does.
const (
	doComplete = "complete"
	doFail     = "fail"
	doSnooze   = "snooze"
	doRelease  = "release"
	doCancel   = "cancel"
	doPark     = "park"
	doHold     = "hold"
)

// RunOutcome is how a run has ended.
type RunOutcome struct {
	Lease      string        `json:"lease"`
	Do         string        `json:"do" enum:"complete,fail,snooze,release,cancel,park,hold" doc:"As the operations of these names; the other fields are theirs"`
	Result     api.Payload   `json:"result,omitempty"`
	Error      string        `json:"error,omitempty"`
	Kind       string        `json:"kind,omitempty" maxLength:"200"`
	Permanent  bool          `json:"permanent,omitempty"`
	RetryAfter *api.Duration `json:"retry_after,omitempty"`
	Stack      string        `json:"stack,omitempty"`
	For        *api.Duration `json:"for,omitempty"`
	Until      *time.Time    `json:"until,omitempty"`
	Reason     string        `json:"reason,omitempty" maxLength:"1000"`
	Messages   []string      `json:"messages,omitempty" nullable:"false" enum:"signal,callback,callback failed,heartbeat,child"`
	Count      int64         `json:"count,omitempty" minimum:"1" maximum:"1000000"`
	Failures   bool          `json:"failures,omitempty"`
	Seen       int64         `json:"seen,omitempty" minimum:"0"`
	WaitsFor   []string      `json:"waits_for,omitempty" maxItems:"100" nullable:"false"`
	Journal    *RunWrites    `json:"journal,omitempty" doc:"What is appended to the journal together with it"`
	Repeat     bool          `json:"repeat,omitempty" doc:"It was sent before, and the answer was lost"`
}

// RunProgress is how far a run is.
type RunProgress struct {
	Percent float64     `json:"percent,omitempty" minimum:"0" maximum:"100"`
	Message string      `json:"message,omitempty" doc:"For people; what is longer than 1 KiB is cut"`
	Value   api.Payload `json:"value,omitempty" doc:"JSON of your own, for the next attempt"`
}

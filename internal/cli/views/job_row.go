package views

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// JobHeader is the header of a table of jobs.
var JobHeader = []string{"ID", "STATE", "KIND", "QUEUE", "ATTEMPT", "WHEN", "ERROR"}

// JobRow formats a job for a table.
func JobRow(now time.Time, r *store.Record) []string {
	state, why := r.State.String(), r.Error
	if r.State == store.Completed {
		why = "" // of an earlier attempt
	}
	if w := r.Wait; w != nil && w.Held {
		state += " (" + string(w.Reason) + ")"
		why = w.Error
	} else if text := waitsFor(r); text != "" {
		state += " (" + output.Clip(text, 40) + ")"
	}
	if r.Blocked {
		state += " (blocked)"
	}
	if r.CancelRequested {
		state += " (stopping)"
	}
	if r.PauseRequested {
		state += " (pausing)"
	}
	if r.Closing && !r.State.Finished() {
		state += " (compensating)"
	}
	return []string{
		r.ID.String(), state, output.Clip(r.Kind, output.MaxName), output.Clip(r.Queue, output.MaxName), attempts(r), when(now, r),
		output.Clip(why, 60),
	}
}

// attempts formats the number of attempts, and their limit if known.
func attempts(r *store.Record) string {
	if r.MaxAttempts == 0 {
		return strconv.Itoa(r.Attempt)
	}
	return fmt.Sprintf("%d/%d", r.Attempt, r.MaxAttempts)
}

// when is the time that matters in a job's state.
func when(now time.Time, r *store.Record) string {
	switch {
	case r.State.Finished():
		return output.Ago(now, r.FinishedAt)
	case r.State == store.Running:
		return "since " + output.Rough(max(now.Sub(r.ClaimedAt), 0))
	case r.Wait != nil && (r.Wait.Held || r.Wait.Until.IsZero()):
		return "since " + output.Rough(max(now.Sub(r.Wait.Since), 0))
	case r.Wait != nil:
		return "due " + output.Ago(now, r.Wait.Until)
	}
	return "due " + output.Ago(now, r.RunAt)
}

// waitsFor formats what a job waits for.
func waitsFor(r *store.Record) string {
	var says struct {
		WaitsFor []string `json:"waits_for"`
	}
	switch {
	case r.Wait == nil || r.Wait.For == nil:
		return ""
	case json.Unmarshal(r.Wait.For, &says) != nil || says.WaitsFor == nil:
		return OnOneLine(r.Wait.For, 0)
	}
	return strings.Join(says.WaitsFor, ", ")
}

package crashtest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// timers checks that nobody goes on from a sleep before it is over.
func (v *flowVerifier) timers(j *flowJob) {
	ends := map[string]time.Time{}
	for _, e := range j.journal.Entries {
		var timer struct {
			Until time.Time `json:"until"`
		}
		switch {
		case e.Kind == "timer":
			if err := json.Unmarshal(e.Data, &timer); err != nil {
				v.wrongf(everyDueThing, j.ID, "entry %d is no timer: %v", e.Seq, err)
			}
			ends[e.Path] = timer.Until
		case e.Kind == "step" && strings.HasPrefix(e.Name, string(opSleep)+" "):
			v.figures.sleeps++
			end, ok := ends[pathBefore(e.Path)]
			if early := end.Sub(e.At); !ok || early > v.rules.leeway {
				v.wrongf(everyDueThing, j.ID, "%s, at %s, was done %v before its time, which it had: %t", e.Name, e.Path, early, ok)
			}
		}
	}
	v.snoozes(j)
}

// snoozes checks that an errand that snoozes does not run before its time.
func (v *flowVerifier) snoozes(j *flowJob) {
	wanted := j.wasAsked(store.ActionRetry) // at once
	for _, a := range j.Attempts {
		if a.Reason != store.ReasonSnoozed || wanted || a.LeaseNumber == j.LeaseNumber {
			continue
		}
		claimed := j.ClaimedAt // by the last run, unless that of another one is on record
		if next, recorded := j.ended[a.LeaseNumber+1]; recorded {
			claimed = next.ClaimedAt
		}
		if early := a.EndedAt.Add(snoozed).Sub(claimed); early > v.rules.leeway {
			v.wrongf(everyDueThing, j.ID, "lease %d was given %v before its time", a.LeaseNumber+1, early)
		}
	}
}

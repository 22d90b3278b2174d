package outcome

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Released is the outcome of a run that gives its job back: it runs again at once, and the attempt
// does not count.
func Released() *store.Outcome {
	return &store.Outcome{State: store.Available, Reason: store.ReasonReleased}
}

// Contradiction is the outcome of a run whose code does not fit its journal: it is held for a
// person.
func Contradiction(what string) *store.Outcome {
	text := what + "; deploy code that fits and resume the job (job resume), or fork the run from an earlier step (job fork --from)"
	return &store.Outcome{
		State: store.Waiting, Reason: store.ReasonNondeterminism, Error: usercode.CutError(text), Wait: &store.Wait{Held: true},
	}
}

// Unreadable is the outcome of a run that cannot go on before the database answers. It is tried
// again, also if no attempt is left.
func Unreadable(err error) *store.Outcome {
	return &store.Outcome{State: store.Retryable, Reason: store.ReasonError, Error: usercode.CutError(err.Error()), Delay: 5 * time.Second}
}

// Replace makes an outcome another one of the same run.
func Replace(o, by *store.Outcome) {
	o.State, o.Reason, o.Error, o.Trace, o.Delay = by.State, by.Reason, by.Error, by.Trace, by.Delay
	o.Result, o.Wait, o.Continue, o.Rest = by.Result, by.Wait, by.Continue, by.Rest
}

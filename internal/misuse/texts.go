package misuse

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// Of is the misuse of the run of a job.
func Of(job store.ID, format string, args ...any) error {
	return &Error{Text: fmt.Sprintf("job %s: ", job) + fmt.Sprintf(format, args...)}
}

// TooLate is the misuse of a strand whose function has returned.
func TooLate(job store.ID, begins Operation) error {
	return Of(job, "%s was called on a run that is over: the function that it was passed to has returned or was parked; "+
		"do not keep a run, use the one passed to the function", begins)
}

// Beside is the misuse of a strand that has an operation under way.
func Beside(job store.ID, begins, doing Operation) error {
	if doing.IsStep() {
		return Of(job, "%s was called during %s, in its function or in another goroutine; call it before or after the step, "+
			"or in a function started with holdfast.Go, on the run passed to that function", begins, doing)
	}
	return Of(job, "%s was called while %s of the same run had not returned; use a run in one goroutine only: the run that "+
		"holdfast.Go, run.OnFailure or Update.Handle passes to the function", begins, doing)
}

// Foreign is the misuse of something that another run has made.
func Foreign(job store.ID, begins Operation, what string) error {
	return Of(job, "%s was given %s, which this run did not make; make it in each call of the handler, on the run "+
		"passed to it", begins, what)
}

package holdfasttest

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Worked is what has become of a job that WorkOne has worked.
type Worked[In, Out any] struct {
	// Record is the job after the run. Its State says how that has ended: Completed, Failed or
	// Cancelled for good; Waiting if it is parked, and Wait says for what; Retryable or Scheduled
	// if it runs again at RunAt; Available if it runs again at once, as after ContinueAsNew.
	store.Record
	Args   In    // zero if they do not decode
	Result Out   // of a completed job
	Err    error // of a failed or cancelled job: a *holdfast.JobError
}

// WorkOne works one job of a kind, in the namespace of the client, and returns when its run has
// ended or parked: of those that are due the one that a node would take first, of whatever queue.
// Nothing else is worked: what the run has enqueued, or made due, is for the next WorkOne. It needs
// no Start, and fails the test if the node runs, or if no job of the kind is due.
func WorkOne[In, Out any](env *Env, kind ofKind[In, Out]) Worked[In, Out] {
	env.T.Helper()
	id := env.workOne(kind.Name())
	record, err := env.Client.Get(env.T.Context(), id)
	if err != nil {
		env.T.Fatalf("holdfasttest: WorkOne: %v", err)
	}
	worked := Worked[In, Out]{Record: record}
	_ = json.Unmarshal(record.Args, &worked.Args)
	if record.State.Finished() {
		ended := holdfast.Ended{ID: id, State: record.State, Reason: record.Reason, Error: record.Error}
		worked.Err = ended.Err()
	}
	if record.Result != nil {
		if err := json.Unmarshal(record.Result, &worked.Result); err != nil {
			env.T.Fatalf("holdfasttest: WorkOne: the result of job %s does not decode into %T: %v", id, worked.Result, err)
		}
	}
	return worked
}

// workOne works one job of a kind.
func (e *Env) workOne(kind string) store.ID {
	e.T.Helper()
	runner := access.Runner(e.Client)
	if runner.Handler(kind) == nil {
		e.T.Fatalf("holdfasttest: WorkOne: kind %q has no handler in namespace %s; register it with Handle before", kind, e.Client.Namespace())
	}
	e.rest() // what the test has begun comes before
	id, err := runner.WorkOne(e.world.lasting, kind)
	e.rest()
	switch {
	case errors.Is(err, store.ErrConflict):
		e.T.Fatalf("holdfasttest: WorkOne: the node of this process works the jobs already; leave out Start, or wait for the job with "+
			"Job.Wait or WaitIdle instead (%v)", err)
	case err != nil:
		e.T.Fatalf("holdfasttest: WorkOne: %v", err)
	case id == store.ID{}:
		e.T.Fatalf("holdfasttest: WorkOne: no job of kind %q is due; %s", kind, e.notDue(kind))
	}
	return id
}

// notDue says why no job of a kind is due.
func (e *Env) notDue(kind string) string {
	jobs := slices.DeleteFunc(e.unfinished(), func(r store.Record) bool { return r.Kind != kind || r.Namespace != e.Client.Namespace() })
	if len(jobs) > 0 {
		return "those that have not finished, which Advance, a signal or a person may make due, are:" + e.describe(jobs)
	}
	enqueued, others := e.enqueued(kind)
	if len(enqueued) > 0 {
		return "all that were enqueued have finished"
	}
	return "none was enqueued; " + listed(enqueued, others)
}

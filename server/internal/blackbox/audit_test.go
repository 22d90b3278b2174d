package blackbox

// refused are the operations of which the examples show a refusal. What they record is looked at by
// the tests of stores.
var refused = []string{"job-continue-as-new", "job-skip", "job-complete", "job-fail", "queue-delete", "limit-reset", "kind-forget"}

const (
	enqueues = "it enqueues: a job is its own record"
	sends    = "what is sent to a job is in its journal"
	works    = "it is what runs and nodes do"
	each     = "each job that it changes is recorded"
	example  = "the example changes nothing"
)

package store

// Transition is one edge of a job's life. The table below is the only list of them: the conformance
// suite walks each edge on every store, and docs/jobs.md is checked against it.
type Transition struct {
	From State // 0: the job does not exist yet
	To   State
	When string
	// Counted tells whether the transition uses up one of the job's attempts.
	Counted bool
}

// Transitions is the state machine of a job.
var Transitions = []Transition{
	{0, Available, "enqueued, due now", false},
	{0, Scheduled, "enqueued with a run time in the future", false},
	{Scheduled, Available, "its run time came", false},
	{Retryable, Available, "its backoff is over", false},
	{Waiting, Available, "its timer is due, what it waited for arrived, or a person resumed it", false},
	{Waiting, Scheduled, "a person resumed it before its run time", false},
	{Waiting, Retryable, "a person resumed it before its backoff was over", false},
	{Available, Running, "claimed: lease number + 1", false},
	{Running, Completed, "the handler returned a result", true},
	{Running, Retryable, "the handler failed or its node died, and attempts are left", true},
	{Running, Scheduled, "the handler snoozed", false},
	{Running, Available, "its node stopped and gave it back", false},
	{Running, Waiting, "the handler parked, or a person paused the job", false},
	{Scheduled, Waiting, "a person paused it", false},
	{Available, Waiting, "a person paused it", false},
	{Retryable, Waiting, "a person paused it", false},
	{Waiting, Completed, "handed over by its handler, and completed from outside", false},
	{Waiting, Failed, "handed over by its handler, and failed from outside", false},
	{Running, Failed, "a terminal error, or no attempts left", true},
	{Running, Cancelled, "a person, a parent or the handler asked", true},
	{Scheduled, Cancelled, "a person or a parent asked", false},
	{Available, Cancelled, "a person or a parent asked", false},
	{Retryable, Cancelled, "a person or a parent asked", false},
	{Waiting, Cancelled, "a person or a parent asked", false},
	{Failed, Available, "a person's retry or resume, which is recorded", false},
	{Cancelled, Available, "a person's retry or resume, which is recorded", false},
	{Available, Scheduled, "replaced by a later enqueue with its unique key, or changed by a person", false},
	{Scheduled, Scheduled, "replaced by a later enqueue with its unique key, or changed by a person", false},
	{Available, Available, "replaced by a later enqueue with its unique key, or changed by a person", false},
	{Retryable, Retryable, "changed by a person", false},
}

// Allowed reports whether a job may go from one state to the other.
func Allowed(from, to State) bool {
	for _, t := range Transitions {
		if t.From == from && t.To == to {
			return true
		}
	}
	return false
}

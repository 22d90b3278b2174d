package metrics

// The labels.
const (
	Namespace = "namespace"
	Queue     = "queue"
	JobKind   = "kind"
	Outcome   = "outcome"
	Reason    = "reason"
	State     = "state"
	Duty      = "duty"
	Operation = "operation"
)

// Of jobs, counted by the process that made it happen.
var (
	JobsEnqueued = counter("holdfast.jobs.enqueued", "{job}",
		"Jobs that were stored; not those enqueued in a transaction of the caller, or by SQL.", Namespace, Queue, JobKind)
	JobsFinished = counter("holdfast.jobs.finished", "{job}",
		"Jobs that have finished: completed, failed or cancelled.", Namespace, Queue, JobKind, Outcome)
	QueueWait = histogram("holdfast.job.queue_wait", "s",
		"How long a job has waited for the start of a run, since it was due or enqueued.", seconds, Namespace, Queue, JobKind)
	JobRun = histogram("holdfast.job.run", "s",
		"How long a run took, by how it ended: completed, failed, cancelled, retryable, snoozed, released, continued (as new), parked or held.",
		seconds, Namespace, Queue, JobKind, Outcome)
	Retries = counter("holdfast.retries", "{attempt}",
		"Attempts that failed and are followed by another one, by the reason.", Namespace, Queue, JobKind, Reason)
	DeadLetters = counter("holdfast.dead_letters", "{job}",
		"Jobs that have failed for good.", Namespace, Queue, JobKind)
	JobsRescued = counter("holdfast.jobs.rescued", "{job}",
		"Jobs that were taken from nodes that have died, or that had lost track of them.", Namespace, Queue, JobKind, Reason)
	LeasesLost = counter("holdfast.lease.lost", "{lease}",
		"Runs whose end was dropped because they had lost their lease.", Namespace, Queue, JobKind)
	StepRun = histogram("holdfast.step.run", "s",
		"How long the function of a step took: completed, failed or interrupted. Replayed steps are not counted.", seconds, JobKind, Outcome)
	Nondeterminism = counter("holdfast.workflow.nondeterminism", "{run}",
		"Runs that are held because their code contradicts their journal.", Namespace, Queue, JobKind)
)

// Of what is in the queues, as the leader sees it.
var (
	JobsInState = gauge("holdfast.jobs.in_state", "{job}",
		"Jobs that are not finished, by state; of each at most 10,000 are counted. Only from the leader, every 15 s.", Namespace, Queue, State)
	OldestDue = gauge("holdfast.queue.oldest_due", "s",
		"For how long the oldest available job of a queue has been due; 0 if there is none. Only from the leader, every 15 s.", Namespace, Queue)
)

// Of schedules.
var (
	ScheduleLag = histogram("holdfast.schedule.lag", "s",
		"How late the job of a schedule was enqueued, after its nominal time.", seconds, Namespace, JobKind)
	ScheduleMissed = counter("holdfast.schedule.missed", "{time}",
		"Nominal times of schedules that were missed and did not fire.", Namespace)
)

// Of a node.
var (
	Leader       = gauge("holdfast.leader", "", "1 on the node that does the maintenance of the database, 0 on others.", Namespace)
	Slots        = gauge("holdfast.slots", "{slot}", "How many jobs the node runs at once.", Namespace)
	SlotsUsed    = gauge("holdfast.slots.used", "{slot}", "Jobs in its slots.", Namespace)
	Pending      = gauge("holdfast.outcomes.pending", "{outcome}", "Ends of runs that are not stored yet.", Namespace)
	StartLag     = gauge("holdfast.node.lag", "s", "About how late the first job is that waits for a slot, as the node knows.", Namespace)
	BeatAge      = gauge("holdfast.node.beat_age", "s", "Time since the last heartbeat of the node.", Namespace)
	DatabaseAway = gauge("holdfast.database.away", "s", "For how long the database has not answered; 0 if it does.")
	QueryTime    = histogram("holdfast.store.query", "s",
		"How long a call of the database took, by what it was for, such as commit, claim or beat, whatever it answered.", calls, Operation)
	ClaimTime = histogram("holdfast.claim", "s", "How long a claim took that the database has answered.", calls, Namespace)
	ClaimSize = histogram("holdfast.claim.batch_size", "{job}", "How many jobs a claim has brought.", sizes, Namespace)
	NodesDied = counter("holdfast.nodes.died", "{node}", "Nodes that the leader has declared dead.")
	DutyTime  = histogram("holdfast.duty", "s",
		"How long a duty of a node took, such as rescue: done, idle (there was nothing to do) or failed.", calls, Duty, Outcome)
	DutyJobs     = counter("holdfast.duty.jobs", "{job}", "Jobs for which a duty did something.", Duty)
	HooksDropped = counter("holdfast.hooks.dropped", "{event}",
		"Events that hooks were not told of, because they are too slow. The counts of jobs lack them.")
	Panics = counter("holdfast.panics", "{panic}", "Panics in Holdfast's own loops, which went on afterwards.")
)

package views

import (
	"strconv"

	"github.com/holdfastdev/holdfast/store"
)

// The kinds of things that have an id, as output.Identified tells them.
const (
	aJob   = "job"
	aQueue = "queue"
	aNode  = "node"
	aKind  = "kind"

	aSchedule   = "schedule"
	aBatch      = "batch"
	aLimit      = "limit"
	aClass      = "retention"
	anAttribute = "attribute"
)

// Identity implements output.Identified, and so do those below.
func (v Job) Identity() (kind, id string) { return aJob, v.ID }

// Identity is that of the job.
func (v Enqueued) Identity() (kind, id string) { return aJob, v.ID }

// Identity is that of the job, if it was changed.
func (v Changed) Identity() (kind, id string) {
	if v.Error != "" {
		return aJob, ""
	}
	return aJob, v.ID
}

// Identity is that of the new job.
func (v Forked) Identity() (kind, id string) { return aJob, v.ID }

// Identity is that of the job to which a signal was sent.
func (v Sent) Identity() (kind, id string) { return aJob, v.ID }

// Identity is that of the queue, its name.
func (v Queue) Identity() (kind, id string) { return aQueue, v.Name }

// Identity is that of the queue.
func (v Paused) Identity() (kind, id string) { return aQueue, v.Queue }

// Identity is that of the queue, if it was deleted.
func (v DeletedQueue) Identity() (kind, id string) {
	if v.Error != "" {
		return aQueue, ""
	}
	return aQueue, v.Queue
}

// Identity is that of the node, its number.
func (v Node) Identity() (kind, id string) { return aNode, strconv.FormatInt(int64(v.ID), 10) }

// Identity is that of the node, if it was asked.
func (v AskedNode) Identity() (kind, id string) {
	if v.Error != "" {
		return aNode, ""
	}
	return aNode, strconv.FormatInt(int64(v.Node), 10)
}

// Identity is that of the kind, its name.
func (v Kind) Identity() (kind, id string) { return aKind, v.Name }

// Identity is that of the batch.
func (v Batch) Identity() (kind, id string) { return aBatch, v.ID }

// Identity is that of the batch.
func (v CancelledBatch) Identity() (kind, id string) { return aBatch, v.Batch }

// Identity is that of the job.
func (v Member) Identity() (kind, id string) { return aJob, v.ID }

// Identity is that of the limit, its name.
func (v Limit) Identity() (kind, id string) { return aLimit, v.Name }

// Identity is that of the limit, if it was deleted.
func (v DeletedLimit) Identity() (kind, id string) {
	if v.Error != "" {
		return aLimit, ""
	}
	return aLimit, v.Limit
}

// Identity is that of the class of retention, its name.
func (v Retention) Identity() (kind, id string) { return aClass, v.Name }

// Identity is that of the search attribute.
func (v Attribute) Identity() (kind, id string) { return anAttribute, v.Name }

// Identity is that of the search attribute.
func (v DeletedAttribute) Identity() (kind, id string) { return anAttribute, v.Name }

// Identity is that of the class.
func (v DeletedRetention) Identity() (kind, id string) { return aClass, v.Name }

// Identity is that of the queue.
func (v Rested) Identity() (kind, id string) { return aQueue, v.Queue }

// Identity is that of the queue.
func (v SetQueue) Identity() (kind, id string) { return aQueue, v.Queue }

// Identity is that of the schedule, its name.
func (v Schedule) Identity() (kind, id string) { return aSchedule, v.Name }

// Identity is that of the schedule, if it was deleted.
func (v DeletedSchedule) Identity() (kind, id string) {
	if v.Error != "" {
		return aSchedule, ""
	}
	return aSchedule, v.Schedule
}

// Identity is that of the job, if there is one for this time.
func (v ScheduleRun) Identity() (kind, id string) {
	if v.State != store.RunFired.String() {
		return aJob, ""
	}
	return aJob, string(v.Job)
}

// Identity is that of an operation.
func (v Operation) Identity() (kind, id string) { return "operation", v.ID }

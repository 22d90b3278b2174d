package queues

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerChange(a *api.API) {
	op := func(method, id, path, summary, about string) api.Op {
		return api.Op{ID: id, Method: method, Path: path, Tag: tag, Scope: access.QueuesWrite, Summary: summary, About: about}
	}
	api.RegisterFull(a, op(http.MethodPatch, "queue-set", "/queues/{queue}", "Set how the jobs of a queue are attempted, and kept",
		`What is left out stays; null leaves it to the handler again. Attempts and backoff hold for attempts that fail from then on, also
of jobs that were enqueued before; timeouts for those that begin. How many jobs run at once is the limit queue:QUEUE.`), set)
	api.Register(a, op(http.MethodPost, "queue-pause", "/queues/{queue}/pause", "Pause a queue on all nodes",
		"No job starts; those that run go on. A queue that does not exist is made: new says so."), pause)
	api.Register(a, op(http.MethodPost, "queue-resume", "/queues/{queue}/resume", "Resume a queue",
		"Its jobs start again, also if it rests. One that is not paused stays as it is."), resume)
	api.Register(a, op(http.MethodPost, "queue-rest", "/queues/{queue}/rest", "Let a queue rest for a time",
		"No job starts before the time is over; those that run go on. If it rests already it does so for the longer of the two times."), rest)
	drain := op(http.MethodPost, "queue-drain", "/queues/{queue}/drain", "Cancel all jobs of a queue that do not run",
		`It starts an operation, which a node does: 202 with its id, or 200 with dry_run. Pause the queue before, so that no job starts
meanwhile. It needs the scope jobs:write as well.`)
	drain.Status, drain.Also = http.StatusAccepted, http.StatusOK
	api.RegisterFull(a, drain, drainQueue)
	api.RegisterFull(a, op(http.MethodDelete, "queue-delete", "/queues/{queue}", "Take a queue without unfinished jobs off the list",
		"With its pause, what is set of it, and what code tells of it. One that has unfinished jobs is a conflict."), remove)
}

// QueueSet is what is set of a queue.
type QueueSet struct {
	MaxAttempts api.Patch[int]          `json:"max_attempts,omitzero" minimum:"1" doc:"Unless the enqueue says how many"`
	Backoff     api.Patch[QueueBackoff] `json:"backoff,omitzero" doc:"The waits after failed attempts"`
	Timeout     api.Patch[api.Duration] `json:"timeout,omitzero" doc:"Of one attempt"`
	Heartbeat   api.Patch[api.Duration] `json:"heartbeat_timeout,omitzero" doc:"How long an attempt may go without progress"`
	Retention   api.Patch[string]       `json:"retention,omitzero" doc:"The class by which finished jobs are kept"`
}

// QueueBackoff is the policy of the delays between attempts.
type QueueBackoff struct {
	Base api.Duration `json:"base" doc:"The delay before the second attempt; it doubles with each"`
	Cap  api.Duration `json:"cap" doc:"The longest delay"`
}

// change returns what is to be set, and what not any more.
func (s *QueueSet) change() (is store.AttemptSettings, unset store.Setting, err error) {
	for _, f := range []struct {
		name        string
		given, null bool
		zero        bool
	}{
		{"max-attempts", s.MaxAttempts.Given, s.MaxAttempts.Null, s.MaxAttempts.Value == 0},
		{"backoff", s.Backoff.Given, s.Backoff.Null, s.Backoff.Value == QueueBackoff{}},
		{"timeout", s.Timeout.Given, s.Timeout.Null, s.Timeout.Value == 0},
		{"heartbeat-timeout", s.Heartbeat.Given, s.Heartbeat.Null, s.Heartbeat.Value == 0},
		{"retention", s.Retention.Given, s.Retention.Null, s.Retention.Value == ""},
	} {
		switch {
		case f.null:
			of, err := store.SettingNamed(f.name)
			if err != nil {
				return is, 0, err
			}
			unset |= of
		case f.given && f.zero:
			return is, 0, problem.Invalid("/"+fieldOf[f.name], "it is nothing; use null to leave it to the handler again")
		}
	}
	is = store.AttemptSettings{
		MaxAttempts: s.MaxAttempts.Value, Timeout: time.Duration(s.Timeout.Value), Heartbeat: time.Duration(s.Heartbeat.Value),
		Retention: s.Retention.Value,
	}
	if s.Backoff.Set() {
		is.Backoff = store.DefaultBackoff
		is.Backoff.Base, is.Backoff.Cap = time.Duration(s.Backoff.Value.Base), time.Duration(s.Backoff.Value.Cap)
	}
	return is, unset, nil
}

// fieldOf are the fields of the settings.
var fieldOf = map[string]string{
	"max-attempts": "max_attempts", "backoff": "backoff", "timeout": "timeout", "heartbeat-timeout": "heartbeat_timeout", "retention": "retention",
}

type queueSetIn struct {
	OfQueue
	api.IfMatch

	Body QueueSet
}

func set(ctx context.Context, c *api.Call, in *queueSetIn) (*api.Tagged[views.SetQueue], error) {
	if err := in.Given(); err != nil {
		return nil, err
	}
	is, unset, err := in.Body.change()
	if err != nil {
		return nil, err
	}
	if unset == 0 && is == (store.AttemptSettings{}) {
		return nil, problem.Invalid("", "the body says nothing that is to be set")
	}
	q, err := find(ctx, c.Client, in.Queue)
	if errors.Is(err, store.ErrNotFound) {
		q, err = store.Queue{}, nil // it is made
	}
	if err != nil {
		return nil, err
	}
	if err := in.Matches(versionOf(&q)); err != nil {
		return nil, err
	}
	var now store.QueueAttempts
	if in.Any() {
		now, err = c.Client.SetQueue(ctx, in.Queue, is, unset)
	} else {
		now, err = c.Client.SetQueueFrom(ctx, in.Queue, q.Attempts, is, unset)
	}
	if err != nil {
		if _, changed := errors.AsType[*store.ChangedError](err); changed {
			return nil, api.Changed()
		}
		if errors.Is(err, store.ErrNotFound) { // the class is not there
			return nil, problem.Invalid("/retention", problem.Of(err).Detail)
		}
		return nil, problem.At("", err)
	}
	q.Attempts = now
	return &api.Tagged[views.SetQueue]{ETag: versionOf(&q), Body: views.NewSetQueue(c.Client.Namespace(), in.Queue, now)}, nil
}

func pause(ctx context.Context, c *api.Call, in *OfQueue) (*api.Body[views.Paused], error) {
	_, err := find(ctx, c.Client, in.Queue)
	isNew := errors.Is(err, store.ErrNotFound)
	if err != nil && !isNew {
		return nil, err
	}
	if err := c.Client.PauseQueue(ctx, in.Queue); err != nil {
		return nil, problem.At("path/queue", err)
	}
	return &api.Body[views.Paused]{Body: views.Paused{Namespace: c.Client.Namespace(), Queue: in.Queue, Paused: true, New: isNew}}, nil
}

func resume(ctx context.Context, c *api.Call, in *OfQueue) (*api.Body[views.Paused], error) {
	if _, err := find(ctx, c.Client, in.Queue); err != nil {
		return nil, err
	}
	if err := c.Client.ResumeQueue(ctx, in.Queue); err != nil {
		return nil, problem.At("path/queue", err)
	}
	return &api.Body[views.Paused]{Body: views.Paused{Namespace: c.Client.Namespace(), Queue: in.Queue}}, nil
}

type queueRestIn struct {
	OfQueue

	Body struct {
		For api.Duration `json:"for" doc:"For how long, at most 720h"`
	}
}

func rest(ctx context.Context, c *api.Call, in *queueRestIn) (*api.Body[views.Rested], error) {
	until, err := limit.Rest(ctx, c.Client, in.Queue, time.Duration(in.Body.For))
	if err != nil {
		return nil, problem.At("/for", err)
	}
	return &api.Body[views.Rested]{Body: views.NewRested(c.Client.Namespace(), in.Queue, until)}, nil
}

type queueDrainIn struct {
	OfQueue

	Body *struct {
		Reason    string `json:"reason,omitempty" doc:"For people; it is recorded with the jobs"`
		Terminate bool   `json:"terminate,omitempty" doc:"End them at once: nothing is compensated"`
		DryRun    bool   `json:"dry_run,omitempty" doc:"Only count them"`
	}
}

type drainOut struct {
	Status int
	Body   QueueDrain
}

// QueueDrain is what a drain does.
type QueueDrain struct {
	Operation views.Text `json:"operation" doc:"The operation that cancels the jobs; null: it was only asked for the count"`
	Jobs      int        `json:"jobs" doc:"How many there were"`
	Exact     bool       `json:"exact" doc:"false: there were more"`
}

// waitingStates are those of jobs that have not ended and do not run.
var waitingStates = []store.State{store.Scheduled, store.Available, store.Retryable, store.Waiting}

func drainQueue(ctx context.Context, c *api.Call, in *queueDrainIn) (*drainOut, error) {
	if !c.Principal.May(access.JobsWrite) {
		return nil, problem.New(problem.Forbidden, "draining a queue cancels its jobs, which needs the scope jobs:write")
	}
	if _, err := find(ctx, c.Client, in.Queue); err != nil {
		return nil, err
	}
	filter := store.Filter{Queues: []string{in.Queue}, States: waitingStates}
	n, err := c.Client.Count(ctx, filter)
	if err != nil {
		return nil, err
	}
	out := &drainOut{Status: http.StatusOK, Body: QueueDrain{Jobs: n.N, Exact: !n.More}}
	op := operation.Operation{Filter: filter, Action: operation.Cancel()}
	if b := in.Body; b != nil {
		if b.DryRun {
			return out, nil
		}
		op.Note = b.Reason
		if b.Terminate {
			op.Action = operation.Terminate()
		}
	}
	id, err := operation.Start(ctx, c.Client, op)
	if err != nil {
		return nil, problem.At("", err)
	}
	out.Status, out.Body.Operation = http.StatusAccepted, views.Text(id.String())
	return out, nil
}

func remove(ctx context.Context, c *api.Call, in *OfQueue) (*struct{}, error) {
	switch err := c.Client.DeleteQueue(ctx, in.Queue); {
	case errors.Is(err, holdfast.ErrConflict):
		return nil, problem.New(problem.Conflict, "the queue "+in.Queue+" has unfinished jobs; queue-drain cancels them")
	case err != nil:
		return nil, problem.At("path/queue", err)
	}
	_, err := describe.Forget(ctx, c.Client, store.SubjectQueue, in.Queue)
	return nil, err
}

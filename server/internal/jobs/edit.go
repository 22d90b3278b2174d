package jobs

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerEdit(a *api.API) {
	edit := changing("job-edit", "/jobs/{id}", "Change a job",
		"What is left out stays. A job that has not started can be changed in all of this, others in less: the error says what.")
	edit.Method, edit.MaxBody = http.MethodPatch, maxJob
	api.Register(a, edit, editJob)
	api.Register(a, changing("job-tag", "/jobs/{id}/tags", "Add tags to a job, and remove some", "In any state."), tagJob)
	fork := changing("job-fork", "/jobs/{id}/fork", "Make a new job out of the beginning of another one's journal", "")
	fork.Status, fork.MaxBody = http.StatusCreated, maxJob
	api.Register(a, fork, forkJob)
	again := changing("job-continue-as-new", "/jobs/{id}/continue-as-new", "Let a durable job start over with other args", "")
	again.MaxBody = maxJob
	api.Register(a, again, startOver)
	complete := changing("job-complete", "/jobs/{id}/complete", "Complete a job that was handed over to an outside system", "")
	complete.MaxBody = maxJob
	api.RegisterFull(a, complete, completeJob)
	api.RegisterFull(a, changing("job-fail", "/jobs/{id}/fail", "Fail a job that was handed over to an outside system", ""), failJob)
}

type editIn struct {
	OfJob

	Body struct {
		JobEdit

		Reason string `json:"reason,omitempty" doc:"For people; it is recorded with the job"`
	}
}

func editJob(ctx context.Context, c *api.Call, in *editIn) (*api.Body[views.Job], error) {
	e := &in.Body.JobEdit
	opts, err := e.options()
	if err != nil {
		return nil, err
	}
	switch {
	case e.Args != nil:
		var record store.Record
		if record, err = c.Client.Get(ctx, in.id()); err == nil {
			err = mayEnqueue(c, "", &NewJob{Kind: record.Kind})
		}
		if err == nil {
			err = c.Client.EditArgs(ctx, in.Body.Reason, in.id(), e.Args, opts...)
		}
	case len(opts) == 0:
		err = problem.Invalid("", "the body says nothing that is to be changed")
	default:
		err = c.Client.Edit(ctx, in.Body.Reason, in.id(), opts...)
	}
	if err != nil {
		return nil, err
	}
	return getJob(ctx, c, &in.OfJob)
}

type tagIn struct {
	OfJob

	Body struct {
		Add    []string `json:"add,omitempty" nullable:"false"`
		Remove []string `json:"remove,omitempty" nullable:"false"`
		Reason string   `json:"reason,omitempty"`
	}
}

func tagJob(ctx context.Context, c *api.Call, in *tagIn) (*api.Body[views.Job], error) {
	if len(in.Body.Add)+len(in.Body.Remove) == 0 {
		return nil, problem.Invalid("", "the body needs tags to add or to remove")
	}
	if err := c.Client.EditTags(ctx, in.Body.Reason, in.id(), in.Body.Add, in.Body.Remove); err != nil {
		return nil, err
	}
	return getJob(ctx, c, &in.OfJob)
}

type forkIn struct {
	OfJob

	Body *struct {
		From   string      `json:"from,omitempty" doc:"The step at which the fork begins, by its name or its path; the beginning if it is left out"`
		Args   api.Payload `json:"args,omitempty" doc:"Other args"`
		ID     api.ID      `json:"id,omitzero" doc:"The id of the new job, which makes the request safe to repeat"`
		Reason string      `json:"reason,omitempty"`
	}
}

func forkJob(ctx context.Context, c *api.Call, in *forkIn) (*api.Body[views.Forked], error) {
	var f holdfast.Fork
	reason := ""
	if b := in.Body; b != nil {
		f, reason = holdfast.Fork{From: b.From, Args: b.Args, ID: store.ID(b.ID)}, b.Reason
	}
	record, err := c.Client.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	if err := mayEnqueue(c, "", &NewJob{Kind: record.Kind}); err != nil {
		return nil, err
	}
	id, err := c.Client.Fork(ctx, reason, in.id(), f)
	return &api.Body[views.Forked]{Body: views.Forked{ID: id.String(), ForkedFrom: in.id().String()}}, err
}

type startOverIn struct {
	OfJob

	Body struct {
		Args   api.Payload `json:"args"`
		Reason string      `json:"reason,omitempty"`
	}
}

func startOver(ctx context.Context, c *api.Call, in *startOverIn) (*api.Body[views.Job], error) {
	record, err := c.Client.Get(ctx, in.id())
	if err == nil {
		err = mayEnqueue(c, "", &NewJob{Kind: record.Kind})
	}
	if err == nil {
		err = c.Client.ContinueAsNew(ctx, in.Body.Reason, in.id(), in.Body.Args)
	}
	if err != nil {
		return nil, err
	}
	return getJob(ctx, c, &in.OfJob)
}

type completeIn struct {
	OfJob

	Body struct {
		Result api.Payload `json:"result,omitempty"`
	}
}

func completeJob(ctx context.Context, c *api.Call, in *completeIn) (*struct{}, error) {
	return nil, c.Client.Complete(ctx, in.id(), in.Body.Result)
}

type failIn struct {
	OfJob

	Body struct {
		Error string `json:"error" minLength:"1"`
	}
}

func failJob(ctx context.Context, c *api.Call, in *failIn) (*struct{}, error) {
	return nil, c.Client.Fail(ctx, in.id(), saidError(in.Body.Error))
}

// saidError is an error that a caller has said.
type saidError string

func (e saidError) Error() string { return string(e) }

// JobEdit is a change of a job that is there. What is left out stays.
type JobEdit struct {
	Args        api.Payload                `json:"args,omitempty" doc:"Of a job that has not started"`
	Queue       string                     `json:"queue,omitempty"`
	Priority    int                        `json:"priority,omitempty" minimum:"1" maximum:"4"`
	RunAt       time.Time                  `json:"run_at,omitzero"`
	Delay       *api.Duration              `json:"delay,omitempty" doc:"It runs after this, from now on; 0s: at once"`
	Deadline    time.Time                  `json:"deadline,omitzero"`
	MaxAttempts int                        `json:"max_attempts,omitempty" minimum:"1"`
	Timeout     api.PositiveDuration       `json:"timeout,omitzero"`
	Heartbeat   api.PositiveDuration       `json:"heartbeat_timeout,omitzero"`
	Backoff     *NewBackoff                `json:"backoff,omitempty"`
	Tags        []string                   `json:"tags,omitempty" nullable:"false" doc:"Instead of all its tags"`
	Metadata    map[string]json.RawMessage `json:"metadata,omitempty" doc:"Instead of its metadata"`
	Attributes  map[string]json.RawMessage `json:"attributes,omitempty" doc:"Search attributes, beside those with other names; null takes one away"`
}

func (e *JobEdit) options() ([]holdfast.EnqueueOption, error) {
	if e.Delay != nil && !e.RunAt.IsZero() {
		return nil, problem.Invalid("/delay", "delay and run_at cannot be given together")
	}
	s := NewJob{
		Queue: e.Queue, Priority: e.Priority, RunAt: e.RunAt, Deadline: e.Deadline, MaxAttempts: e.MaxAttempts,
		Timeout: e.Timeout, Heartbeat: e.Heartbeat, Backoff: e.Backoff, Tags: e.Tags, Metadata: e.Metadata,
	}
	var gone []holdfast.EnqueueOption
	for name, raw := range e.Attributes {
		if string(raw) == "null" {
			gone = append(gone, search.None(name))
			continue
		}
		if s.Attributes == nil {
			s.Attributes = map[string]json.RawMessage{}
		}
		s.Attributes[name] = raw
	}
	opts, err := s.options("", 0)
	opts = append(opts, gone...)
	if e.Tags != nil && len(e.Tags) == 0 {
		opts = append(opts, holdfast.Tags()) // none of them is left
	}
	if err == nil && e.Delay != nil {
		opts = append(opts, holdfast.Delay(time.Duration(*e.Delay)))
	}
	return opts, err
}

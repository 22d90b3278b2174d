package jobs

import (
	"context"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerChange(a *api.API) {
	post := func(id, path, summary, about string) api.Op {
		return api.Op{ID: id, Method: http.MethodPost, Path: path, Tag: tag, Scope: access.JobsWrite, Summary: summary, About: about}
	}
	each := func(id, path, summary, about string, change func(context.Context, *api.Call, string, store.ID) ([]store.Result, error)) {
		api.Register(a, post(id, path, summary, about), func(ctx context.Context, c *api.Call, in *changeIn) (*api.Body[views.Changed], error) {
			results, err := change(ctx, c, in.reason(), in.id())
			if err != nil {
				return nil, err
			}
			return &api.Body[views.Changed]{Body: changed(&results[0])}, results[0].Err
		})
	}
	each("job-cancel", "/jobs/{id}/cancel", "Cancel a job",
		"One that runs is cancelled when its handler returns: state is running then. One that has finished stays as it is.", cancel)
	each("job-terminate", "/jobs/{id}/terminate", "End a job at once",
		"Its handler loses its lease, and its compensations do not run.", terminate)
	each("job-retry", "/jobs/{id}/retry", "Let a job run again at once",
		"A failed or cancelled one begins with its first attempt; one that waits for a retry keeps its attempts.", retry)
	each("job-pause", "/jobs/{id}/pause", "Pause a job until it is resumed", "", pause)
	each("job-resume", "/jobs/{id}/resume", "Resume a job that is paused, held, failed or cancelled", "", resume)
	each("job-skip", "/jobs/{id}/skip", "Let those behind a failed job go on", "It gives up the turn of its ordering key, and stays failed.", skip)
	api.Register(a, api.Op{
		ID: "job-delete", Method: http.MethodDelete, Path: "/jobs/{id}", Tag: tag, Scope: access.JobsWrite, Summary: "Delete a finished job",
	}, remove)
	registerEdit(a, post)
}

// changeIn is a change of one job. Its body may be left out.
type changeIn struct {
	OfJob

	Body *struct {
		Reason string `json:"reason,omitempty" doc:"For people; it is recorded with the job"`
	}
}

func (in *changeIn) reason() string {
	if in.Body == nil {
		return ""
	}
	return in.Body.Reason
}

func cancel(ctx context.Context, c *api.Call, reason string, id store.ID) ([]store.Result, error) {
	return c.Client.Cancel(ctx, reason, id)
}

func terminate(ctx context.Context, c *api.Call, reason string, id store.ID) ([]store.Result, error) {
	return c.Client.Terminate(ctx, reason, id)
}

func retry(ctx context.Context, c *api.Call, reason string, id store.ID) ([]store.Result, error) {
	return c.Client.Retry(ctx, reason, id)
}

func pause(ctx context.Context, c *api.Call, reason string, id store.ID) ([]store.Result, error) {
	return c.Client.Pause(ctx, reason, id)
}

func resume(ctx context.Context, c *api.Call, reason string, id store.ID) ([]store.Result, error) {
	return c.Client.Resume(ctx, reason, id)
}

func skip(ctx context.Context, c *api.Call, reason string, id store.ID) ([]store.Result, error) {
	return after.Skip(ctx, c.Client, reason, id)
}

type deleteIn struct {
	OfJob

	Reason string `query:"reason" doc:"For people; it is recorded"`
}

func remove(ctx context.Context, c *api.Call, in *deleteIn) (*struct{}, error) {
	results, err := c.Client.Delete(ctx, in.Reason, in.id())
	if err == nil {
		err = results[0].Err
	}
	return nil, err
}

func registerEdit(a *api.API, post func(id, path, summary, about string) api.Op) {
	edit := post("job-edit", "/jobs/{id}", "Change a job", `What is left out stays. A job that has not started can be changed in all of this,
others in less: the error says what.`)
	edit.Method, edit.MaxBody = http.MethodPatch, maxJob
	api.Register(a, edit, editJob)
	api.Register(a, post("job-tag", "/jobs/{id}/tags", "Add tags to a job, and remove some", "In any state."), tagJob)
	fork := post("job-fork", "/jobs/{id}/fork", "Make a new job out of the beginning of another one's journal", "")
	fork.Status, fork.MaxBody = http.StatusCreated, maxJob
	api.Register(a, fork, forkJob)
	again := post("job-continue-as-new", "/jobs/{id}/continue-as-new", "Let a durable job start over with other args", "")
	again.MaxBody = maxJob
	api.Register(a, again, startOver)
	complete := post("job-complete", "/jobs/{id}/complete", "Complete a job that was handed over to an outside system", "")
	complete.MaxBody = maxJob
	api.Register(a, complete, completeJob)
	api.Register(a, post("job-fail", "/jobs/{id}/fail", "Fail a job that was handed over to an outside system", ""), failJob)
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

package jobs

import (
	"context"
	"net/http"

	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/store"
)

func registerChange(a *api.API) {
	each := func(id, path, summary, about string, change func(context.Context, *api.Call, string, store.ID) ([]store.Result, error)) {
		op := changing(id, path, summary, about)
		api.Register(a, op, func(ctx context.Context, c *api.Call, in *changeIn) (*api.Body[views.Changed], error) {
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
	each("job-skip", "/jobs/{id}/skip", "Let those behind a failed job go on",
		"It gives up the turn of its ordering key, and stays failed.", skip)
	api.RegisterFull(a, api.Op{
		ID: "job-delete", Method: http.MethodDelete, Path: "/jobs/{id}", Tag: tag, Scope: access.JobsWrite, Summary: "Delete a finished job",
	}, remove)
}

// changing is an operation that changes one job.
func changing(id, path, summary, about string) api.Op {
	return api.Op{ID: id, Method: http.MethodPost, Path: path, Tag: tag, Scope: access.JobsWrite, Summary: summary, About: about}
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

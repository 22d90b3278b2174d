package jobs

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// maxJob is how large a request to enqueue one job may be, and maxBatch one to enqueue many.
	maxJob   = 4 << 20
	maxBatch = 32 << 20
)

func registerEnqueue(a *api.API) {
	api.RegisterFull(a, api.Op{
		ID: "job-enqueue", Method: http.MethodPost, Path: "/jobs", Tag: tag, Scope: access.JobsWrite, Status: http.StatusCreated, Also: http.StatusOK,
		MaxBody: maxJob, Summary: "Enqueue a job",
		About: `It answers when the job is stored: 201, or 200 if it was there already, by its id or by a key. If the answer was lost,
repeat the request with the same id: it does nothing the second time. The kind exec needs the scope ` + "`exec`" + `, too.`,
	}, enqueue)
	api.Register(a, api.Op{
		ID: "job-enqueue-batch", Method: http.MethodPost, Path: "/jobs/batch", Tag: tag, Scope: access.JobsWrite, MaxBody: maxBatch,
		Summary: "Enqueue up to 1000 jobs",
		About: `The jobs are of any kinds and queues. Those that can be stored are, together; each of the others has its error, in the order
of the request.`,
	}, enqueueBatch)
}

type enqueueIn struct {
	api.In

	Body NewJob
}

type enqueued struct {
	Status int
	Body   Enqueued
}

// Enqueued is what became of an enqueue.
type Enqueued struct {
	ID       string `json:"id"`
	Existing bool   `json:"existing" doc:"The id existed already, or this job holds the key: nothing was enqueued"`
	Replaced bool   `json:"replaced" doc:"Existing, and its args, metadata and run time were replaced"`
	Differs  bool   `json:"differs" doc:"Existing, and it was enqueued with other args"`
}

func enqueue(ctx context.Context, c *api.Call, in *enqueueIn) (*enqueued, error) {
	if err := mayEnqueue(c, "", &in.Body); err != nil {
		return nil, err
	}
	item, err := in.Body.item("", 0)
	if err != nil {
		return nil, err
	}
	results, err := c.Client.EnqueueBatch(ctx, []holdfast.BatchItem{item})
	if err != nil {
		err = reasonOf(results, err)
		return nil, problem.At(in.Body.fieldOf(err), err)
	}
	out := &enqueued{Status: http.StatusCreated, Body: viewEnqueued(&results[0])}
	if results[0].Existing {
		out.Status = http.StatusOK
	}
	return out, nil
}

// reasonOf is why the only job of a batch was not stored.
func reasonOf(results []holdfast.EnqueueResult, err error) error {
	if len(results) == 1 && results[0].Err != nil {
		return results[0].Err
	}
	return err
}

// fields are the fields of a job by what is said to be wrong.
var fields = map[string]string{
	"args": "/args", "deadline": "/deadline", "fair key": "/fair_key", "id": "/id", "key": "/key", "kind": "/kind",
	"limit key": "/limit_key", "metadata": "/metadata", "ordering key": "/ordering_key", "queue": "/queue", "tag": "/tags", "tags": "/tags",
}

// fieldOf is the field that an error is about, or none where it may be about that of a follow-up.
func (n *NewJob) fieldOf(err error) string {
	if wrong, is := errors.AsType[*valid.FieldError](err); is && len(n.FollowUps) == 0 {
		return fields[wrong.What]
	}
	return ""
}

func viewEnqueued(r *holdfast.EnqueueResult) Enqueued {
	return Enqueued{ID: r.ID.String(), Existing: r.Existing, Replaced: r.Replaced, Differs: r.Differs}
}

// mayEnqueue refuses jobs of the kind exec to those who must not run commands, and to all those of
// Holdfast's own kinds: what makes these has looked at what they do, and a webhook's secret signs
// what its deliveries say.
func mayEnqueue(c *api.Call, at string, s *NewJob) error {
	if store.IsOwnKind(s.Kind) {
		return problem.New(problem.Forbidden, "jobs of the kind "+s.Kind+" are Holdfast's own")
	}
	if s.Kind == "exec" && !c.Principal.May(access.Exec) {
		return problem.New(problem.Forbidden, "enqueueing jobs of the kind exec needs the scope exec")
	}
	for i := range s.FollowUps {
		if err := mayEnqueue(c, fmt.Sprintf("%s/follow_ups/%d/job", at, i), &s.FollowUps[i].Job); err != nil {
			return err
		}
	}
	return nil
}

type enqueueBatchIn struct {
	api.In

	Body struct {
		Jobs []NewJob `json:"jobs" minItems:"1" maxItems:"1000" nullable:"false"`
	}
}

// EnqueuedBatch is what became of the jobs of a batch.
type EnqueuedBatch struct {
	Jobs []EnqueuedItem `json:"jobs" nullable:"false" doc:"In the order of the request"`
}

// EnqueuedItem is what became of a job of a batch.
type EnqueuedItem struct {
	Enqueued

	Code  views.Text `json:"code" doc:"Why it was not stored, as the code of a problem; null if it was"`
	Error views.Text `json:"error" doc:"The same for people"`
}

func enqueueBatch(ctx context.Context, c *api.Call, in *enqueueBatchIn) (*api.Body[EnqueuedBatch], error) {
	items := make([]holdfast.BatchItem, len(in.Body.Jobs))
	for i := range in.Body.Jobs {
		s, at := &in.Body.Jobs[i], fmt.Sprintf("/jobs/%d", i)
		if err := mayEnqueue(c, at, s); err != nil {
			return nil, err
		}
		var err error
		if items[i], err = s.item(at, 0); err != nil {
			return nil, err
		}
	}
	results, err := c.Client.EnqueueBatch(ctx, items)
	if _, ok := errors.AsType[*holdfast.BatchError](err); err != nil && (!ok || errors.Is(err, store.ErrUnavailable)) {
		return nil, err
	}
	out := EnqueuedBatch{Jobs: make([]EnqueuedItem, len(results))}
	for i := range results {
		out.Jobs[i].Enqueued = viewEnqueued(&results[i])
		if err := results[i].Err; err != nil {
			p := problem.Of(err)
			out.Jobs[i].Code, out.Jobs[i].Error = views.Text(p.Code), views.Text(p.Detail)
		}
	}
	return &api.Body[EnqueuedBatch]{Body: out}, nil
}

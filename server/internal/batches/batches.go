// Package batches has the operations of the API on batches of jobs.
//
// # Imports
//
// Of ours, the root package, batch, store, internal/cli/views, server/internal/jobs (what is
// enqueued), and server/internal/api with what that stands on.
package batches

import (
	"context"
	"fmt"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// maxBody is how large a batch to make may be.
const maxBody = 4 << 20

// Register registers the operations.
func Register(a *api.API) {
	op := func(method, id, path, summary, about string) api.Op {
		of := api.Op{
			ID: id, Method: method, Path: "/batches" + path, Tag: "batches", Scope: access.JobsWrite, MaxBody: maxBody, Summary: summary, About: about,
		}
		if method == http.MethodGet {
			of.Scope = access.JobsRead
		}
		return of
	}
	api.Register(a, op(http.MethodGet, "batch-list", "", "List batches", "The newest first."), list)
	api.Register(a, op(http.MethodGet, "batch-get", "/{id}", "Get a batch",
		"Members are counted once it is closed. job-list with batch lists them."), getBatch)
	made := op(http.MethodPost, "batch-create", "", "Make a batch, which is open",
		`Members are jobs that are enqueued with batch set to its id. When it is closed and all of them have ended, the jobs for its end are
enqueued. With an id the request is safe to repeat.`)
	made.Status = http.StatusCreated
	api.Register(a, made, create)
	api.Register(a, op(http.MethodPost, "batch-close", "/{id}/close", "Close a batch: it takes no further members", "One that is closed stays so."), closeBatch)
	api.Register(a, op(http.MethodPost, "batch-cancel", "/{id}/cancel", "Close a batch, and cancel its members",
		"Those that run are asked to stop. If it was cut off, repeat it."), cancel)
}

// Batch is a batch of jobs.
type Batch struct {
	views.Batch

	Counted   api.Int `json:"counted" doc:"Members that have ended, all together; from the close on"`
	Completed api.Int `json:"completed"`
	Failed    api.Int `json:"failed"`
	Cancelled api.Int `json:"cancelled"`
}

func view(b *store.JobBatch) Batch {
	return Batch{
		Batch: views.NewBatch(b), Counted: api.Int(b.Counts.Total()),
		Completed: api.Int(b.Counts.Completed), Failed: api.Int(b.Counts.Failed), Cancelled: api.Int(b.Counts.Cancelled),
	}
}

type batchListIn struct {
	api.In
	api.Paged

	Undone bool `query:"undone" doc:"Only those that are open, or closed with members that have not ended"`
}

func list(ctx context.Context, c *api.Call, in *batchListIn) (*api.Body[api.Page[Batch]], error) {
	after, err := in.After()
	if err != nil {
		return nil, err
	}
	filter := store.BatchFilter{Undone: in.Undone, Limit: in.Limit + 1}
	if after != "" {
		if err := filter.Before.UnmarshalText([]byte(after)); err != nil {
			return nil, problem.Invalid("query/cursor", "it is no cursor of this list; use next_cursor of the page before")
		}
	}
	all, err := batch.List(ctx, c.Client, filter)
	if err != nil {
		return nil, err
	}
	items := make([]Batch, len(all))
	for i := range all {
		items[i] = view(&all[i])
	}
	return &api.Body[api.Page[Batch]]{Body: api.PageOf(items, &in.Paged, func(b *Batch) string { return b.ID })}, nil
}

// OfBatch is what inputs about one batch have.
type OfBatch struct {
	api.In

	ID api.ID `path:"id"`
}

func getBatch(ctx context.Context, c *api.Call, in *OfBatch) (*api.Body[Batch], error) {
	b, err := batch.Get(ctx, c.Client, store.ID(in.ID))
	if err != nil {
		return nil, err
	}
	return &api.Body[Batch]{Body: view(&b)}, nil
}

// BatchCreate is a batch to make, and the jobs for its end.
type BatchCreate struct {
	ID        api.ID        `json:"id,omitzero" doc:"A UUIDv7; making the same one again does nothing"`
	Name      string        `json:"name,omitempty" maxLength:"200" doc:"For people"`
	OnEnd     []jobs.NewJob `json:"on_end,omitempty" nullable:"false" doc:"Enqueued when all members have ended"`
	OnSuccess []jobs.NewJob `json:"on_success,omitempty" nullable:"false" doc:"Enqueued if all have completed"`
	OnFailure []jobs.NewJob `json:"on_failure,omitempty" nullable:"false" doc:"Enqueued if not all have completed"`
}

type batchCreateIn struct {
	api.In

	Body BatchCreate
}

func create(ctx context.Context, c *api.Call, in *batchCreateIn) (*api.Body[Batch], error) {
	b := &in.Body
	opts := []batch.Option{batch.Name(b.Name)}
	if b.ID != (api.ID{}) {
		opts = append(opts, batch.ID(store.ID(b.ID)))
	}
	for _, of := range []struct {
		field  string
		jobs   []jobs.NewJob
		option func(holdfast.BatchItem) batch.Option
	}{{"on_end", b.OnEnd, batch.OnEnd}, {"on_success", b.OnSuccess, batch.OnSuccess}, {"on_failure", b.OnFailure, batch.OnFailure}} {
		for i := range of.jobs {
			item, err := of.jobs[i].Item(c, fmt.Sprintf("/%s/%d", of.field, i))
			if err != nil {
				return nil, err
			}
			opts = append(opts, of.option(item))
		}
	}
	made, err := batch.New(ctx, c.Client, opts...)
	if err != nil {
		return nil, problem.At("", err)
	}
	return getBatch(ctx, c, &OfBatch{ID: api.ID(made.ID)})
}

func closeBatch(ctx context.Context, c *api.Call, in *OfBatch) (*api.Body[Batch], error) {
	if err := batch.In(c.Client, store.ID(in.ID)).Close(ctx); err != nil {
		return nil, err
	}
	return getBatch(ctx, c, in)
}

type batchCancelIn struct {
	OfBatch

	Body *struct {
		Reason string `json:"reason,omitempty" doc:"For people; it is recorded with the jobs"`
	}
}

func cancel(ctx context.Context, c *api.Call, in *batchCancelIn) (*api.Body[views.CancelledBatch], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	n, err := batch.In(c.Client, store.ID(in.ID)).Cancel(ctx, reason)
	if err != nil {
		return nil, err
	}
	v := views.CancelledBatch{Namespace: c.Client.Namespace(), Batch: store.ID(in.ID).String(), Asked: n}
	return &api.Body[views.CancelledBatch]{Body: v}, nil
}

package operations

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// OperationFilter selects jobs. All that is given must fit; of what is a list one value must, but
// for tags, of which all must.
type OperationFilter struct {
	Query          string    `json:"q,omitempty" doc:"A query, instead of the others" example:"state:failed queue:mail since:24h"`
	State          []string  `json:"state,omitempty" nullable:"false"`
	Queue          []string  `json:"queue,omitempty" nullable:"false"`
	Kind           []string  `json:"kind,omitempty" nullable:"false"`
	Tag            []string  `json:"tag,omitempty" nullable:"false"`
	Reason         []string  `json:"reason,omitempty" nullable:"false"`
	Fingerprint    []string  `json:"fingerprint,omitempty" nullable:"false"`
	Parent         api.ID    `json:"parent,omitzero"`
	Root           api.ID    `json:"root,omitzero"`
	Batch          api.ID    `json:"batch,omitzero"`
	CreatedAfter   time.Time `json:"created_after,omitzero"`
	CreatedBefore  time.Time `json:"created_before,omitzero"`
	RunAfter       time.Time `json:"run_after,omitzero"`
	RunBefore      time.Time `json:"run_before,omitzero"`
	FinishedAfter  time.Time `json:"finished_after,omitzero"`
	FinishedBefore time.Time `json:"finished_before,omitzero"`
	Metadata       []string  `json:"metadata,omitempty" nullable:"false" doc:"PATH=VALUE"`
	Args           []string  `json:"args,omitempty" nullable:"false" doc:"PATH=VALUE"`
	Attribute      []string  `json:"attribute,omitempty" nullable:"false" doc:"NAME=VALUE, NAME<VALUE, <=, >, >=, or NAME"`
}

// filter is what it selects by, as the parameters of a list say it.
func (f *OperationFilter) filter(c *api.Call) (store.Filter, error) {
	in := jobs.FilterIn{
		Query: f.Query, State: f.State, Queue: f.Queue, Kind: f.Kind, Tag: f.Tag, Reason: f.Reason, Fingerprint: f.Fingerprint,
		Parent: f.Parent, Root: f.Root, Batch: f.Batch, CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore,
		RunAfter: f.RunAfter, RunBefore: f.RunBefore, FinishedAfter: f.FinishedAfter, FinishedBefore: f.FinishedBefore,
		Metadata: f.Metadata, Args: f.Args, Attribute: f.Attribute,
	}
	filter, err := in.Filter(c)
	if p, ok := errors.AsType[*problem.Problem](err); ok {
		for i := range p.Errors {
			p.Errors[i].Pointer = "/filter/" + strings.TrimPrefix(p.Errors[i].Pointer, "query/")
		}
	}
	return filter, err
}

// NewOperation is an operation to start.
type NewOperation struct {
	Action   string           `json:"action" enum:"cancel,terminate,retry,pause,resume,move,priority,tag,delete" doc:"What is done to each job"`
	Queue    string           `json:"queue,omitempty" doc:"Of move: the queue to which they go"`
	Priority int              `json:"priority,omitempty" minimum:"1" maximum:"4" doc:"Of priority"`
	Add      []string         `json:"add,omitempty" nullable:"false" doc:"Of tag: tags that they get"`
	Remove   []string         `json:"remove,omitempty" nullable:"false" doc:"Of tag: tags that they lose"`
	Filter   *OperationFilter `json:"filter,omitempty" doc:"Which jobs; without a state, those of all states"`
	IDs      []api.ID         `json:"ids,omitempty" nullable:"false" maxItems:"1000" doc:"Which jobs, instead of a filter"`
	All      bool             `json:"all,omitempty" doc:"All jobs of the namespace: without it neither filter nor ids may be empty"`
	Expected int              `json:"expected_count,omitempty" minimum:"1" doc:"How many there are as far as you know: if many more match, it fails rather than changing them"`
	DryRun   bool             `json:"dry_run,omitempty" doc:"Change nothing, and say how many there are"`
	Reason   string           `json:"reason,omitempty" doc:"For people; it is recorded with each change"`
	ID       api.ID           `json:"id,omitzero" doc:"Its id, a UUIDv7, which makes the request safe to repeat"`
}

// operation is what is to be done.
func (n *NewOperation) operation(c *api.Call) (op operation.Operation, err error) {
	op = operation.Operation{Note: n.Reason, Expected: n.Expected, ID: store.ID(n.ID)}
	if op.Filter, err = n.selects(c); err != nil {
		return op, err
	}
	op.Action, err = n.action()
	return op, err
}

// selects is the filter. What it selects must be said.
func (n *NewOperation) selects(c *api.Call) (f store.Filter, err error) {
	empty := n.Filter == nil || reflect.DeepEqual(*n.Filter, OperationFilter{})
	switch {
	case !empty && len(n.IDs) > 0:
		return f, problem.Invalid("/ids", "filter and ids cannot be given together")
	case n.All && (!empty || len(n.IDs) > 0):
		return f, problem.Invalid("/all", "all goes with neither a filter nor ids")
	case !n.All && empty && len(n.IDs) == 0:
		return f, problem.Invalid("/filter", "say which jobs: by a filter, by ids, or by all")
	case !empty:
		return n.Filter.filter(c)
	}
	for _, id := range n.IDs {
		f.IDs = append(f.IDs, store.ID(id))
	}
	return f, nil
}

// plain are the actions that need nothing else.
var plain = map[string]func() operation.Action{
	"cancel": operation.Cancel, "terminate": operation.Terminate, "retry": operation.Retry, "pause": operation.Pause,
	"resume": operation.Resume, "delete": operation.Delete,
}

func (n *NewOperation) action() (operation.Action, error) {
	for _, extra := range []struct {
		name, of string
		given    bool
	}{
		{"queue", "move", n.Queue != ""},
		{"priority", "priority", n.Priority != 0},
		{"add", "tag", len(n.Add) > 0},
		{"remove", "tag", len(n.Remove) > 0},
	} {
		if extra.given && extra.of != n.Action {
			return operation.Action{}, problem.Invalid("/"+extra.name, extra.name+" belongs to the action "+extra.of)
		}
	}
	switch {
	case n.Action == "move" && n.Queue == "":
		return operation.Action{}, problem.Invalid("/queue", "move needs the queue to which they go")
	case n.Action == "priority" && n.Priority == 0:
		return operation.Action{}, problem.Invalid("/priority", "priority needs the priority that they get")
	case n.Action == "tag" && len(n.Add)+len(n.Remove) == 0:
		return operation.Action{}, problem.Invalid("/add", "tag needs tags to add or to remove")
	case n.Action == "move":
		return operation.Move(n.Queue), nil
	case n.Action == "priority":
		return operation.SetPriority(n.Priority), nil
	case n.Action == "tag":
		return operation.Retag(n.Add, n.Remove), nil
	}
	return plain[n.Action](), nil
}

type startIn struct {
	api.In

	Body NewOperation
}

type startOut struct {
	Status   int
	Location string `header:"Location" doc:"Where the operation is"`
	Body     OperationStarted
}

// OperationStarted is an operation, or what it would come to.
type OperationStarted struct {
	Operation *views.Operation  `json:"operation" doc:"null of a dry run"`
	Found     *OperationPreview `json:"found" doc:"Of a dry run: what it would come to"`
}

// OperationPreview is what an operation would come to.
type OperationPreview struct {
	Count  int         `json:"count" doc:"For expected_count, if it is not more"`
	More   bool        `json:"more" doc:"There are more than that"`
	Sample []views.Job `json:"sample" nullable:"false" doc:"The newest of them, ten at most"`
}

func start(ctx context.Context, c *api.Call, in *startIn) (*startOut, error) {
	op, err := in.Body.operation(c)
	if err != nil {
		return nil, err
	}
	if in.Body.DryRun {
		return preview(ctx, c, op.Filter)
	}
	id, err := operation.Start(ctx, c.Client, op)
	if err != nil {
		return nil, problem.At("", err)
	}
	o, err := operation.Get(ctx, c.Client, id)
	if errors.Is(err, store.ErrConflict) {
		return nil, problem.New(problem.Conflict, "the id is that of a job that is no operation")
	}
	if err != nil {
		return nil, err
	}
	v := views.NewOperation(&o)
	return &startOut{Status: http.StatusAccepted, Location: api.Prefix + "/operations/" + v.ID, Body: OperationStarted{Operation: &v}}, nil
}

func preview(ctx context.Context, c *api.Call, filter store.Filter) (*startOut, error) {
	found, err := operation.Look(ctx, c.Client, filter)
	if err != nil {
		return nil, problem.At("/filter", err)
	}
	v := OperationPreview{Count: found.Count.N, More: found.Count.More, Sample: []views.Job{}}
	for i := range found.Sample {
		v.Sample = append(v.Sample, jobs.View(c, &found.Sample[i]))
	}
	return &startOut{Status: http.StatusOK, Body: OperationStarted{Found: &v}}, nil
}

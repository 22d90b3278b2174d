// Package retention has the operations of the API on classes of retention, and on what retention
// has removed.
//
// # Imports
//
// Of ours, retention, internal/cli/views, and server/internal/api with what that stands on.
package retention

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/retention"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "retention"

// Register registers the operations.
func Register(a *api.API) {
	op := func(id, method, path string, scope access.Scope, summary, about string) api.Op {
		return api.Op{ID: id, Method: method, Path: path, Tag: tag, Scope: scope, Summary: summary, About: about}
	}
	api.Register(a, op("retention-list", http.MethodGet, "/retention/classes", access.QueuesRead, "List the classes of retention",
		"All those of the database, by name."), list)
	api.RegisterFull(a, op("retention-get", http.MethodGet, "/retention/classes/{class}", access.QueuesRead, "Get a class of retention", ""), get)
	api.RegisterFull(a, op("retention-set", http.MethodPut, "/retention/classes/{class}", access.QueuesWrite, "Set a class of retention",
		`It is made, or replaced as a whole: what is left out is as in queues without a class. The key needs all namespaces, as
queues of all of them may name it. It needs If-Match with the ETag of the class, or with * whether it is there or not.`), set)
	api.RegisterFull(a, op("retention-delete", http.MethodDelete, "/retention/classes/{class}", access.QueuesWrite, "Delete a class of retention",
		"Not while a queue of any namespace names it. The key needs all namespaces."), remove)
	api.Register(a, op("retention-removed", http.MethodGet, "/retention/removed", access.QueuesRead, "How many jobs retention has removed",
		"By day (UTC), queue and state, the latest days first; it is kept for 90 days."), removed)
}

// RetentionList are classes of retention.
type RetentionList struct {
	Items []views.Retention `json:"items" nullable:"false"`
}

func list(ctx context.Context, c *api.Call, _ *api.In) (*api.Body[RetentionList], error) {
	classes, err := retention.List(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	v := RetentionList{Items: make([]views.Retention, len(classes))}
	for i := range classes {
		v.Items[i] = views.NewRetention(&classes[i])
	}
	return &api.Body[RetentionList]{Body: v}, nil
}

// OfClass is what inputs about one class have.
type OfClass struct {
	api.In

	Class string `path:"class" doc:"Its name"`
}

func get(ctx context.Context, c *api.Call, in *OfClass) (*api.Tagged[views.Retention], error) {
	class, err := retention.Get(ctx, c.Client, in.Class)
	if err != nil {
		return nil, problem.At("path/class", err)
	}
	return tagged(&class), nil
}

func tagged(class *store.RetentionClass) *api.Tagged[views.Retention] {
	v := views.NewRetention(class)
	return &api.Tagged[views.Retention]{ETag: api.ETag(v), Body: v}
}

// asRead is when the class that a change is to find was changed; zero: it may find any, or none.
// One of another version is refused. A class that is not there has none: it is made with *.
func asRead(ctx context.Context, c *api.Call, in *OfClass, m *api.IfMatch) (at time.Time, err error) {
	if err := c.NeedsAll("a class of retention"); err != nil {
		return at, err
	}
	if err := m.Given(); err != nil || m.Any() {
		return at, err
	}
	class, err := retention.Get(ctx, c.Client, in.Class)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return at, m.Matches("")
	case err != nil:
		return at, problem.At("path/class", err)
	}
	return class.SetAt, m.Matches(tagged(&class).ETag)
}

// refused is the problem of a change that failed.
func refused(err error) error {
	if _, changed := errors.AsType[*store.ChangedError](err); changed {
		return api.Changed()
	}
	return problem.At("path/class", err)
}

type setIn struct {
	OfClass
	api.IfMatch

	Body struct {
		Completed string `json:"completed,omitempty" doc:"How long jobs that completed are kept: a duration, or forever" example:"1h"`
		Failed    string `json:"failed,omitempty" doc:"The same of those that failed"`
		Cancelled string `json:"cancelled,omitempty" doc:"The same of those that were cancelled"`
	}
}

func set(ctx context.Context, c *api.Call, in *setIn) (*api.Tagged[views.Retention], error) {
	class := store.RetentionClass{Name: in.Class}
	b := &in.Body
	for _, keep := range []struct {
		name, text string
		to         *time.Duration
	}{{"completed", b.Completed, &class.Completed}, {"failed", b.Failed, &class.Failed}, {"cancelled", b.Cancelled, &class.Cancelled}} {
		d, err := keepFor(keep.text)
		if err != nil {
			return nil, problem.Invalid("/"+keep.name, err.Error())
		}
		*keep.to = d
	}
	if class.Completed == 0 && class.Failed == 0 && class.Cancelled == 0 {
		return nil, problem.Invalid("", "say for how long the class keeps jobs: completed, failed or cancelled")
	}
	at, err := asRead(ctx, c, &in.OfClass, &in.IfMatch)
	if err != nil {
		return nil, err
	}
	class.SetAt = at
	is, err := retention.Set(ctx, c.Client, class)
	if err != nil {
		return nil, refused(err)
	}
	return tagged(&is), nil
}

// keepFor reads for how long jobs are kept.
func keepFor(text string) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case views.Forever:
		return store.KeepForever, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < store.ShortestRetention || d%time.Microsecond != 0 {
		return 0, fmt.Errorf("%.60q is neither a duration of %v or more, such as 24h, nor forever", text, store.ShortestRetention)
	}
	return d, nil
}

type removeIn struct {
	OfClass
	api.IfMatch
}

func remove(ctx context.Context, c *api.Call, in *removeIn) (*struct{}, error) {
	at, err := asRead(ctx, c, &in.OfClass, &in.IfMatch)
	if err != nil {
		return nil, err
	}
	return nil, refused(retention.DeleteFrom(ctx, c.Client, store.RetentionClass{Name: in.Class, SetAt: at}))
}

type removedIn struct {
	api.In

	Queue string `query:"queue" doc:"Only of this queue"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// RemovedList is what retention has removed.
type RemovedList struct {
	Items []RemovedJobs `json:"items" nullable:"false"`
}

// RemovedJobs is how many jobs retention has removed on a day.
type RemovedJobs struct {
	Day   string  `json:"day" format:"date" doc:"In UTC"`
	Queue string  `json:"queue"`
	State string  `json:"state"`
	Jobs  api.Int `json:"jobs"`
	Stubs api.Int `json:"stubs" doc:"How many of these were archived before"`
}

func removed(ctx context.Context, c *api.Call, in *removedIn) (*api.Body[RemovedList], error) {
	all, err := retention.Removed(ctx, c.Client, in.Queue, in.Limit)
	if err != nil {
		return nil, problem.At("query/queue", err)
	}
	v := RemovedList{Items: make([]RemovedJobs, len(all))}
	for i := range all {
		r := views.NewRemoved(&all[i])
		v.Items[i] = RemovedJobs{r.Day, r.Queue, r.State, api.Int(r.Jobs), api.Int(r.Stubs)}
	}
	return &api.Body[RemovedList]{Body: v}, nil
}

// Package dead has the operations of the API on dead letters: jobs that failed for good.
//
// What goes over many jobs does as much as it can in the time of a request, and says whether it has
// come to the end; the same request goes on.
//
// # Imports
//
// Of ours, dead, internal/query, internal/cli/views, and server/internal/api and
// server/internal/jobs with what these stand on.
package dead

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/query"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "dead"

// Register registers the operations.
func Register(a *api.API) {
	op := func(id, method, path string, scope access.Scope, summary, about string) api.Op {
		return api.Op{ID: id, Method: method, Path: path, Tag: tag, Scope: scope, Summary: summary, About: about}
	}
	api.Register(a, op("dead-list", http.MethodGet, "/dead", access.DeadRead, "List groups of jobs that failed alike",
		"The one that failed last first. The fingerprint none is that of jobs that have none."), groups)
	api.Register(a, op("dead-get", http.MethodGet, "/dead/{fingerprint}", access.DeadRead, "List the jobs of a group",
		"The last failure first."), members)
	again := ` Each is changed only if it has still failed then. It works for 20 s at most: if complete is false the same request
goes on. Those that fail again meanwhile are selected again then, unless failed_before says otherwise.`
	for id, of := range map[string]struct{ summary, about string }{
		"redrive": {"Let jobs that failed run again", "As they are, or with other args, in another queue, and at a rate." + again},
		"move":    {"Let jobs that failed run again in another queue", "It is redrive that requires a queue." + again},
	} {
		api.Register(a, op("dead-"+id, http.MethodPost, "/dead/"+id, access.DeadWrite, of.summary, of.about),
			func(ctx context.Context, c *api.Call, in *redriveIn) (*api.Body[DeadChanged], error) {
				if id == "move" && in.Body.Queue == "" {
					return nil, problem.Invalid("/to_queue", "move needs the queue in which the jobs run")
				}
				return redrive(ctx, c, in)
			})
	}
	api.Register(a, op("dead-purge", http.MethodPost, "/dead/purge", access.DeadWrite, "Remove jobs that failed",
		"With all that belongs to them."+again), purge)
	registerExport(a, op("dead-export", http.MethodGet, "/dead/export", access.DeadRead, "Write jobs that failed as lines of JSON",
		`With their args and errors, the last failure first. It needs the scope payloads:read, too. If it fails after it has begun, the
connection ends before the end of the answer.`))
}

// fingerprint is the text of one; none is that of jobs that have none.
func fingerprint(n int64) string {
	if n == 0 {
		return "none"
	}
	return store.FingerprintText(n)
}

// GroupsIn are the parameters that select dead letters by groups.
type GroupsIn struct {
	Fingerprint []string `query:"fingerprint,explode" maxItems:"100" doc:"With one of these fingerprints"`
	Queue       []string `query:"queue,explode" maxItems:"100" doc:"In one of these queues"`
	Kind        []string `query:"kind,explode" maxItems:"100" doc:"Of one of these kinds"`
}

func (in *GroupsIn) filter(namespace string) (store.Filter, error) {
	f := store.Filter{Namespace: namespace, Queues: in.Queue, Kinds: in.Kind}
	all, err := fingerprints("query/fingerprint", in.Fingerprint)
	f.Fingerprints = all
	return f, err
}

func fingerprints(at string, texts []string) (all []int64, err error) {
	for _, text := range texts {
		n, err := query.ParseFingerprint(text)
		if err != nil {
			return nil, problem.At(at, err)
		}
		all = append(all, n)
	}
	return all, nil
}

type groupsIn struct {
	api.In
	api.Paged
	GroupsIn
}

// DeadGroups are groups of dead letters.
type DeadGroups struct {
	api.Page[views.DeadGroup]

	More bool `json:"more" doc:"There are more groups than were looked at: select some by queue or kind"`
}

func groups(ctx context.Context, c *api.Call, in *groupsIn) (*api.Body[DeadGroups], error) {
	filter, err := in.filter(c.Client.Namespace())
	if err != nil {
		return nil, err
	}
	page, err := dead.Groups(ctx, c.Client, store.DeadParams{Filter: filter, After: in.Cursor, Limit: in.Limit})
	if err != nil {
		return nil, problem.At("query/cursor", err)
	}
	items := make([]views.DeadGroup, len(page.Groups))
	for i := range page.Groups {
		items[i] = views.NewDeadGroup(&page.Groups[i], fingerprint(page.Groups[i].Fingerprint))
	}
	return &api.Body[DeadGroups]{Body: DeadGroups{Page: api.NewPage(items, page.Next), More: page.More}}, nil
}

type membersIn struct {
	api.In
	api.Paged

	Fingerprint string `path:"fingerprint" doc:"That of the group, 16 hexadecimal digits, or none" example:"5b3453c731669487"`
}

func members(ctx context.Context, c *api.Call, in *membersIn) (*api.Body[api.Page[views.Job]], error) {
	all, err := fingerprints("path/fingerprint", []string{in.Fingerprint})
	if err != nil {
		return nil, err
	}
	filter := store.Filter{States: []store.State{store.Failed}, Fingerprints: all}
	page, err := c.Client.ListBy(ctx, store.SortFinished, filter, in.Cursor, in.Limit)
	if err != nil {
		return nil, problem.At("query/cursor", err)
	}
	items := make([]views.Job, len(page.Jobs))
	for i := range page.Jobs {
		items[i] = jobs.View(c, &page.Jobs[i])
	}
	return &api.Body[api.Page[views.Job]]{Body: api.NewPage(items, page.Next)}, nil
}

// DeadFilter selects dead letters. All that is given must fit.
type DeadFilter struct {
	Fingerprint  []string  `json:"fingerprint,omitempty" nullable:"false" maxItems:"100" doc:"With one of these fingerprints"`
	Queue        []string  `json:"queue,omitempty" nullable:"false" maxItems:"100" doc:"In one of these queues"`
	Kind         []string  `json:"kind,omitempty" nullable:"false" maxItems:"100"`
	Tag          []string  `json:"tag,omitempty" nullable:"false" maxItems:"100" doc:"With all of these tags"`
	FailedAfter  time.Time `json:"failed_after,omitzero" doc:"That failed then or later"`
	FailedBefore time.Time `json:"failed_before,omitzero" doc:"That failed before"`
	All          bool      `json:"all,omitempty" doc:"All dead letters of the namespace: without it something else has to be given"`
}

func (d *DeadFilter) filter() (f store.Filter, err error) {
	f = store.Filter{Queues: d.Queue, Kinds: d.Kind, Tags: d.Tag, FinishedAfter: d.FailedAfter, FinishedBefore: d.FailedBefore}
	if f.Fingerprints, err = fingerprints("/fingerprint", d.Fingerprint); err != nil {
		return f, err
	}
	narrowed := len(d.Fingerprint)+len(d.Queue)+len(d.Kind)+len(d.Tag) > 0 || !d.FailedAfter.IsZero() || !d.FailedBefore.IsZero()
	switch {
	case narrowed && d.All:
		return f, problem.Invalid("/all", "all goes without anything else that selects")
	case !narrowed && !d.All:
		return f, problem.Invalid("", "say which: by fingerprints, such as /dead lists them, by other conditions, or by all")
	}
	return f, nil
}

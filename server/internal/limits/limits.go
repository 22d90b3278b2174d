// Package limits has the operations of the API on limits.
//
// # Imports
//
// Of ours, the root package, limit, store, internal/cli/views, and server/internal/api with what
// that stands on.
package limits

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// Register registers the operations.
func Register(a *api.API) {
	op := func(method, id, path, summary, about string) api.Op {
		of := api.Op{ID: id, Method: method, Path: "/limits" + path, Tag: "limits", Scope: access.LimitsWrite, Summary: summary, About: about}
		if method == http.MethodGet {
			of.Scope = access.LimitsRead
		}
		return of
	}
	api.Register(a, op(http.MethodGet, "limit-list", "", "List limits", "By name."), list)
	api.RegisterFull(a, op(http.MethodGet, "limit-get", "/{limit}", "Get a limit",
		"How much it lets, which jobs count, and which nodes hold its slots. The limit of a queue is called queue:QUEUE."), getLimit)
	making := op(http.MethodPut, "limit-set", "/{limit}", "Make or replace a limit",
		`The limit is as the body says: what is left out is not bounded. Without If-Match it is only made: 201. One that is there is
replaced by those who name its ETag, or *.`)
	making.Also = http.StatusCreated
	api.RegisterFull(a, making, set)
	api.RegisterFull(a, op(http.MethodPost, "limit-drain", "/{limit}/drain", "Let no job start by a rate before a time",
		"And empty what was saved up. An earlier drain until a later time stays."), drain)
	api.RegisterFull(a, op(http.MethodPost, "limit-resume", "/{limit}/resume", "Take a drain of a limit back", "One that is not drained is left alone."), resume)
	api.RegisterFull(a, op(http.MethodPost, "limit-reset", "/{limit}/reset", "Set a limit to what code declares", ""), reset)
	api.RegisterFull(a, op(http.MethodDelete, "limit-delete", "/{limit}", "Delete a limit",
		"While jobs run under it, it is a conflict after two seconds, unless force is given. One that code declares comes back when the program starts."), remove)
}

// versionOf is the version of a limit, which grows with every change of it.
func versionOf(l *store.Limit) string { return api.ETag(l.ID, l.Version) }

func tagged(l *store.Limit) *api.Tagged[views.Limit] {
	return &api.Tagged[views.Limit]{ETag: versionOf(l), Body: views.NewLimit(l)}
}

type limitListIn struct {
	api.In
	api.Paged
}

func list(ctx context.Context, c *api.Call, in *limitListIn) (*api.Body[api.Page[views.Limit]], error) {
	all, err := limit.List(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	items := make([]views.Limit, len(all))
	for i := range all {
		items[i] = views.NewLimit(&all[i])
	}
	page, err := api.PageByName(items, &in.Paged, func(l *views.Limit) string { return l.Name })
	return &api.Body[api.Page[views.Limit]]{Body: page}, err
}

// OfLimit is what inputs about one limit have.
type OfLimit struct {
	api.In

	Limit string `path:"limit" example:"slack"`
}

func getLimit(ctx context.Context, c *api.Call, in *OfLimit) (*api.Tagged[views.Limit], error) {
	l, err := limit.Get(ctx, c.Client, in.Limit)
	if err != nil {
		return nil, err
	}
	return tagged(&l), nil
}

// LimitSet is how much a limit lets, and of what.
type LimitSet struct {
	Capacity  *int           `json:"capacity,omitempty" minimum:"0" doc:"So many jobs run at once; any number if it is left out"`
	Rate      string         `json:"rate,omitempty" doc:"So many start in a time, such as 50/s, 100/min or 5/10s; any number if it is left out" example:"50/s"`
	Burst     int            `json:"burst,omitempty" minimum:"1" doc:"So many of these start at once; those of a tenth of a second if it is left out"`
	PerKey    bool           `json:"per_key,omitempty" doc:"The capacity and the rate are those of each key"`
	FairShare bool           `json:"fair_share,omitempty" doc:"Nodes share the slots evenly"`
	Queues    []string       `json:"queues,omitempty" nullable:"false" doc:"The queues whose jobs count; all if it is left out"`
	Kinds     map[string]int `json:"kinds,omitempty" doc:"The kinds whose jobs count, with the slots that a job takes; all, one each, if it is left out"`
	NoJobs    bool           `json:"no_jobs,omitempty" doc:"No job counts, but what code acquires"`
}

// settings are what is said.
func (s *LimitSet) settings() (of store.LimitSettings, err error) {
	of = store.LimitSettings{Uncapped: s.Capacity == nil, PerKey: s.PerKey, Fair: s.FairShare, NoJobs: s.NoJobs, Queues: s.Queues, Kinds: s.Kinds}
	if len(of.Kinds) == 0 {
		of.Kinds = nil
	}
	if s.Capacity != nil {
		of.Capacity = *s.Capacity
	}
	switch {
	case s.Rate != "":
		if of.Rate, err = parseRate(s.Rate); err == nil {
			of.Rate.Burst = s.Burst
		}
	case s.Burst != 0:
		err = problem.Invalid("/burst", "a burst needs a rate")
	case of.Uncapped:
		err = problem.Invalid("", "a limit needs a capacity or a rate")
	}
	return of, err
}

var units = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "m": time.Minute, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

// parseRate reads a rate, as store.Rate writes it.
func parseRate(text string) (*store.Rate, error) {
	count, per, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(count)
	unit, known := units[per]
	if err == nil && !known {
		unit, err = time.ParseDuration(per)
	}
	if err != nil || n < 0 || unit <= 0 {
		return nil, problem.Invalid("/rate", fmt.Sprintf("%q is not a number of jobs and a time, such as 50/s, 100/min or 5/10s", text))
	}
	return &store.Rate{Count: n, Per: unit}, nil
}

type limitSetIn struct {
	OfLimit
	api.IfMatch

	Body LimitSet
}

type limitSetOut struct {
	Status int
	ETag   string `header:"ETag"`
	Body   views.Limit
}

func set(ctx context.Context, c *api.Call, in *limitSetIn) (*limitSetOut, error) {
	settings, err := in.Body.settings()
	if err != nil {
		return nil, err
	}
	// Set looks again if the limit was changed meanwhile, and asks again.
	made := false
	replace := func(l *store.Limit) error {
		if made = l.Version == 0; !made {
			if err := in.Matches(versionOf(l)); err != nil {
				return err
			}
		} else if in.Versions != "" && in.Versions != "*" {
			return problem.New(problem.Changed, "there is no such limit any more")
		}
		l.LimitSettings = settings
		return nil
	}
	l, err := limit.Set(ctx, c.Client, in.Limit, replace)
	if err != nil {
		return nil, problem.At("", err)
	}
	out := &limitSetOut{Status: http.StatusOK, ETag: versionOf(&l), Body: views.NewLimit(&l)}
	if made {
		out.Status = http.StatusCreated
	}
	return out, nil
}

type limitDrainIn struct {
	OfLimit

	Body struct {
		For   api.Duration `json:"for,omitzero" doc:"For how long"`
		Until time.Time    `json:"until,omitzero" doc:"Until when, instead"`
	}
}

func drain(ctx context.Context, c *api.Call, in *limitDrainIn) (*api.Tagged[views.Limit], error) {
	b := &in.Body
	now := c.Now()
	until := b.Until
	switch {
	case (b.For != 0) == !b.Until.IsZero():
		return nil, problem.Invalid("", "say either for how long or until when")
	case b.For < 0:
		return nil, problem.Invalid("/for", "it is negative")
	case b.For > 0:
		until = now.Add(time.Duration(b.For))
	case !until.After(now):
		return nil, problem.Invalid("/until", "it has passed")
	}
	if err := limit.Drain(ctx, c.Client, in.Limit, until); err != nil {
		return nil, problem.At("path/limit", err)
	}
	return getLimit(ctx, c, &in.OfLimit)
}

type limitResumeIn struct {
	OfLimit

	Body *struct {
		Reason string `json:"reason,omitempty" doc:"For people; it is recorded"`
	}
}

func resume(ctx context.Context, c *api.Call, in *limitResumeIn) (*api.Tagged[views.Limit], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	if err := limit.Resume(ctx, c.Client, in.Limit, reason); err != nil {
		return nil, problem.At("path/limit", err)
	}
	return getLimit(ctx, c, &in.OfLimit)
}

func reset(ctx context.Context, c *api.Call, in *OfLimit) (*api.Tagged[views.Limit], error) {
	l, err := limit.Reset(ctx, c.Client, in.Limit)
	if err != nil {
		return nil, err
	}
	return tagged(&l), nil
}

type limitDeleteIn struct {
	OfLimit

	Force bool `query:"force" doc:"Also while jobs run under it"`
}

func remove(ctx context.Context, c *api.Call, in *limitDeleteIn) (*struct{}, error) {
	err := limit.Delete(ctx, c.Client, in.Limit, in.Force)
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return nil, problem.New(problem.Conflict,
			fmt.Sprintf("limit %s was not deleted: %s; wait until their jobs have ended, or use force", in.Limit, views.HoldersText(held.Holders)))
	}
	return nil, err
}

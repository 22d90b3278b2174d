package jobs

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerRead(a *api.API) {
	get := func(id, path, summary, about string) api.Op {
		return api.Op{ID: id, Method: http.MethodGet, Path: path, Tag: tag, Scope: access.JobsRead, Summary: summary, About: about}
	}
	api.Register(a, get("job-list", "/jobs", "List jobs",
		"Newest first, or as sort says. What only a whole job has is null in a list: result, why, attempts, actions, predecessors."), list)
	api.Register(a, get("job-count", "/jobs/count", "Count jobs", "Exactly up to 10000, above which more is true."), count)
	api.Register(a, get("job-get", "/jobs/{id}", "Get a job", "All that is known of it, and why it does not run."), getJob)
	api.Register(a, get("job-why", "/jobs/{id}/why", "Why a job does not start, continue or end", ""), why)
	api.Register(a, get("job-attempts", "/jobs/{id}/attempts", "The attempts of a job that did not complete it", ""), attempts)
	api.Register(a, get("job-journal", "/jobs/{id}/journal", "What a durable job remembers",
		"Its entries after a number, oldest first."), journal)
	api.Register(a, get("job-messages", "/jobs/{id}/messages", "What was sent to a job",
		"Signals, answers of children, after a number."), messages)
	api.Register(a, get("job-logs", "/jobs/{id}/logs", "What a job's handler has logged", ""), logs)
	wait := get("job-result", "/jobs/{id}/result", "Wait for a job, and get its result",
		`200 if it has ended, however it has: look at state. 202 if it has not within wait, with Retry-After: ask again.`)
	wait.Timeout, wait.Also = maxWait+api.CallTimeout, http.StatusAccepted
	api.RegisterFull(a, wait, result)
}

type listIn struct {
	api.In
	api.Paged
	FilterIn

	Sort string `query:"sort" enum:"newest,oldest,run_at,finished" default:"newest"`
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.Job]], error) {
	filter, err := in.filter(c)
	if err != nil {
		return nil, err
	}
	sort, err := store.ParseSort(in.Sort)
	if err != nil {
		return nil, problem.At("query/sort", err)
	}
	next := in.Cursor
	jobs, _, err := api.Fill(in.Limit, sizeOf, func(n int) ([]store.Record, bool, error) {
		page, err := c.Client.ListBy(ctx, sort, filter, next, n)
		next = page.Next
		return page.Jobs, page.Next != "", err
	})
	switch {
	case err != nil && in.Cursor != "": // what is said of the rest was refused with the first page
		return nil, problem.At("query/cursor", err)
	case err != nil:
		return nil, err
	}
	items := make([]views.Job, len(jobs))
	for i := range jobs {
		items[i] = visible(c, views.NewJob(&jobs[i]))
	}
	return &api.Body[api.Page[views.Job]]{Body: api.NewPage(items, next)}, nil
}

// sizeOf is how many bytes the payloads of a job in a list have.
func sizeOf(r *store.Record) int {
	n := len(r.Args) + len(r.Result) + len(r.Metadata) + len(r.Error)
	if r.Checkpoint != nil {
		n += len(r.Checkpoint.Value)
	}
	return n
}

// hidden stands for a payload that the caller must not see.
const hidden = `{"hidden":"payloads:read"}`

// visible hides the payloads of a job from those who have no scope for them.
func visible(c *api.Call, v views.Job) views.Job {
	if c.Principal.May(access.PayloadsRead) {
		return v
	}
	hide := func(raw *api.Payload) {
		if len(*raw) > 0 && string(*raw) != "null" {
			*raw = api.Payload(hidden)
		}
	}
	hide(&v.Args)
	hide(&v.Result)
	hide(&v.Metadata)
	hide(&v.Attributes)
	if v.Checkpoint != nil {
		hide(&v.Checkpoint.Value)
	}
	return v
}

type countIn struct {
	api.In
	FilterIn
}

// JobCount is how many jobs there are.
type JobCount struct {
	N    int  `json:"count"`
	More bool `json:"more" doc:"There are more than that"`
}

func count(ctx context.Context, c *api.Call, in *countIn) (*api.Body[JobCount], error) {
	filter, err := in.filter(c)
	if err != nil {
		return nil, err
	}
	n, err := c.Client.Count(ctx, filter)
	return &api.Body[JobCount]{Body: JobCount{n.N, n.More}}, err
}

// OfJob is what inputs about one job have.
type OfJob struct {
	api.In

	ID api.ID `path:"id"`
}

func (in *OfJob) id() store.ID { return store.ID(in.ID) }

func getJob(ctx context.Context, c *api.Call, in *OfJob) (*api.Body[views.Job], error) {
	record, err := c.Client.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	e, err := c.Client.Why(ctx, in.id())
	if err != nil {
		return nil, err
	}
	return &api.Body[views.Job]{Body: visible(c, views.NewWholeJob(&record, e.Causes))}, nil
}

func why(ctx context.Context, c *api.Call, in *OfJob) (*api.Body[views.Why], error) {
	e, err := c.Client.Why(ctx, in.id())
	if err != nil {
		return nil, err
	}
	return &api.Body[views.Why]{Body: views.NewWhy(&e)}, nil
}

// AttemptList are the attempts of a job.
type AttemptList struct {
	Items []views.Attempt `json:"items" nullable:"false"`
}

func attempts(ctx context.Context, c *api.Call, in *OfJob) (*api.Body[AttemptList], error) {
	record, err := c.Client.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	return &api.Body[AttemptList]{Body: AttemptList{views.NewWholeJob(&record, nil).Attempts}}, nil
}

// PageOf are the parameters of a page of what has numbers.
type PageOf struct {
	OfJob

	Cursor int64 `query:"cursor" minimum:"0" doc:"Only what comes after this number, such as the next_cursor of the page before"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

func journal(ctx context.Context, c *api.Call, in *PageOf) (*api.Body[api.Page[JournalEntry]], error) {
	if _, err := c.Client.Get(ctx, in.id()); err != nil {
		return nil, err
	}
	after := in.Cursor
	size := func(e *holdfast.JournalEntry) int { return len(e.Data) }
	entries, more, err := api.Fill(in.Limit, size, func(n int) ([]holdfast.JournalEntry, bool, error) {
		part, err := c.Client.JournalEntries(ctx, in.id(), after, n)
		if len(part) > 0 {
			after = part[len(part)-1].Seq
		}
		return part, len(part) == n, err
	})
	if err != nil {
		return nil, err
	}
	items := make([]JournalEntry, len(entries))
	for i := range entries {
		items[i] = ViewEntry(c, &entries[i])
	}
	return &api.Body[api.Page[JournalEntry]]{Body: api.NewPage(items, behind(after, more))}, nil
}

func messages(ctx context.Context, c *api.Call, in *PageOf) (*api.Body[api.Page[JournalMessage]], error) {
	if _, err := c.Client.Get(ctx, in.id()); err != nil {
		return nil, err
	}
	after := in.Cursor
	size := func(m *holdfast.JournalMessage) int { return len(m.Data) + len(m.Error) }
	all, more, err := api.Fill(in.Limit, size, func(n int) ([]holdfast.JournalMessage, bool, error) {
		part, err := c.Client.JournalMessages(ctx, in.id(), after, n)
		if len(part) > 0 {
			after = part[len(part)-1].Seq
		}
		return part, len(part) == n, err
	})
	if err != nil {
		return nil, err
	}
	items := make([]JournalMessage, len(all))
	for i := range all {
		items[i] = ViewMessage(c, &all[i])
	}
	return &api.Body[api.Page[JournalMessage]]{Body: api.NewPage(items, behind(after, more))}, nil
}

// behind is the cursor behind a number, "" if there is nothing.
func behind(number int64, more bool) string {
	if !more {
		return ""
	}
	return strconv.FormatInt(number, 10)
}

type logsIn struct {
	OfJob

	Attempt int    `query:"attempt" minimum:"1" doc:"Only lines of this attempt"`
	Level   string `query:"level" enum:"debug,info,warn,error" doc:"Only lines from this level on"`
}

// LogList is what a job has logged.
type LogList struct {
	Items []LogLine `json:"items" nullable:"false"`
}

func logs(ctx context.Context, c *api.Call, in *logsIn) (*api.Body[LogList], error) {
	if _, err := c.Client.Get(ctx, in.id()); err != nil {
		return nil, err
	}
	q := joblog.Query{Attempt: in.Attempt}
	if in.Level != "" {
		if err := q.Level.UnmarshalText([]byte(in.Level)); err != nil {
			return nil, problem.Invalid("query/level", err.Error())
		}
	}
	page, err := joblog.Read(ctx, c.Client, in.id(), q)
	if err != nil {
		return nil, err
	}
	out := LogList{Items: make([]LogLine, len(page.Lines))}
	for i := range page.Lines {
		out.Items[i] = viewLine(&page.Lines[i])
		if !c.Principal.May(access.PayloadsRead) && out.Items[i].Attrs != nil {
			out.Items[i].Attrs = api.Payload(hidden)
		}
	}
	return &api.Body[LogList]{Body: out}, nil
}

// maxWait is how long a request waits for a job at most.
const maxWait = time.Minute

type resultIn struct {
	OfJob

	Wait string `query:"wait" doc:"How long to wait for its end, at most 1m; 0 if it is left out"`
}

type resultOut struct {
	Status     int
	RetryAfter int `header:"Retry-After"`
	Body       JobResult
}

// JobResult is how a job has ended, or that it has not.
type JobResult struct {
	ID     string      `json:"id"`
	State  string      `json:"state"`
	Reason views.Text  `json:"reason"`
	Error  views.Text  `json:"error"`
	Result api.Payload `json:"result" doc:"Of a completed job"`
}

func result(ctx context.Context, c *api.Call, in *resultIn) (*resultOut, error) {
	wait, err := api.ParseWait("wait", in.Wait, maxWait)
	if err != nil {
		return nil, err
	}
	record, err := c.Client.Get(ctx, in.id())
	if err != nil {
		return nil, err
	}
	if !record.State.Finished() && wait > 0 {
		waiting, cancel := c.Waiting(ctx, 0, wait)
		err = c.Client.Wait(waiting, in.id())
		cancel()
		if err != nil && waiting.Err() == nil {
			return nil, err
		}
		if record, err = c.Client.Get(ctx, in.id()); err != nil {
			return nil, err
		}
	}
	v := visible(c, views.NewJob(&record))
	out := &resultOut{Status: http.StatusOK, Body: JobResult{ID: v.ID, State: v.State, Reason: v.Reason, Error: v.Error, Result: v.Result}}
	if !record.State.Finished() {
		out.Status, out.RetryAfter = http.StatusAccepted, 1
	}
	return out, nil
}

package workers

import (
	"context"
	"fmt"
	"net/http"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// maxRun is how large a request about one run may be, and maxRuns one about many.
const (
	maxRun  = 4 << 20
	maxRuns = 32 << 20
)

func (s *service) registerRuns(a *api.API) {
	op := func(id, summary, about string) api.Op {
		return api.Op{
			ID: "run-" + id, Method: http.MethodPost, Path: "/runs/{lease}/" + id, Tag: tag, Scope: access.Workers, MaxBody: maxRun,
			Summary: summary,
			About: about + ` A run whose lease is not the job's any more is refused with lease_lost. If the answer was lost send it again, with
repeat: then what has happened is answered.`,
		}
	}
	api.Register(a, op("complete", "Complete a run", "Its job has completed, with a result."), one(s, func(b *RunCompletes) *RunOutcome {
		return &RunOutcome{Do: doComplete, Result: b.Result, Journal: b.Journal, Repeat: b.Repeat}
	}))
	api.Register(a, op("fail", "Fail a run",
		"The job is tried again after its backoff, or after retry_after, or has failed if no attempt is left or permanent is set."),
		one(s, func(b *RunFails) *RunOutcome {
			return &RunOutcome{
				Do: doFail, Error: b.Error, Kind: b.Kind, Permanent: b.Permanent, RetryAfter: b.RetryAfter, Stack: b.Stack, Journal: b.Journal, Repeat: b.Repeat,
			}
		}))
	api.Register(a, op("snooze", "Let a run's job run again later", "The attempt does not count."), one(s, func(b *RunSnoozes) *RunOutcome {
		return &RunOutcome{Do: doSnooze, For: b.For, Until: b.Until, Reason: b.Reason, Journal: b.Journal, Repeat: b.Repeat}
	}))
	api.Register(a, op("release", "Give a run's job back", "It runs again at once, here or elsewhere. The attempt does not count."),
		one(s, func(b *RunReleases) *RunOutcome {
			return &RunOutcome{Do: doRelease, Journal: b.Journal, Repeat: b.Repeat}
		}))
	api.Register(a, op("cancel", "End a run's job as cancelled", "As who has asked for that wants it, or the run itself."),
		one(s, func(b *RunCancels) *RunOutcome {
			return &RunOutcome{Do: doCancel, Reason: b.Reason, Journal: b.Journal, Repeat: b.Repeat}
		}))
	api.Register(a, op("park", "Park a run",
		`Its job waits without a slot. It is woken by the time, or by what is sent to it, whichever comes first; a message that the run does
not know yet (seen) wakes it at once. The attempt does not count.`), one(s, func(b *RunParks) *RunOutcome {
		return &RunOutcome{
			Do: doPark, For: b.For, Until: b.Until, Messages: b.Messages, Count: b.Count, Failures: b.Failures, Seen: b.Seen,
			WaitsFor: b.WaitsFor, Journal: b.Journal, Repeat: b.Repeat,
		}
	}))
	api.Register(a, op("hold", "Hold a run whose code does not fit its journal",
		"Its job waits until people resume or fork it, as that of a Go function does whose code asks for something else than its journal has."),
		one(s, func(b *RunHolds) *RunOutcome { return &RunOutcome{Do: doHold, Reason: b.Reason, Repeat: b.Repeat} }))
	s.registerJournal(a)
	progress := op("progress", "Say how far a run is", "It replaces what was said before. The next attempt finds it as its checkpoint.")
	progress.About = "It replaces what was said before, all of it. The next attempt finds it as its checkpoint. Saying it again does no harm."
	api.Register(a, progress, s.progress)
	many := op("end-batch", "End up to 1000 runs",
		"Each by itself, together in few transactions. Each has its answer, or its error, in the order of the request.")
	many.Path, many.MaxBody = "/runs", maxRuns
	api.Register(a, many, s.runs)
}

// registerJournal registers what a run does with its journal.
func (s *service) registerJournal(a *api.API) {
	at := api.Op{ID: "run-journal", Method: http.MethodGet, Path: "/runs/{lease}/journal", Tag: tag, Scope: access.Workers}
	at.Summary, at.About = "Read the journal of a run", `What the job remembers, and what was sent to it, in pages of about 2 MiB. The worker that runs a job sees both.`
	api.Register(a, at, s.readJournal)
	at.ID, at.Method, at.MaxBody = "run-append", http.MethodPost, maxRun
	at.Summary, at.About = "Append to the journal of a run", `All of it is stored, together with the children and signals in it, or nothing. The worker numbers the entries: after is the
last that it knows. If the answer was lost send it again, with repeat: what was stored before is answered then, and nothing
happens twice.`
	api.Register(a, at, s.append)
}

// OfRun is what inputs about one run have.
type OfRun struct {
	api.In

	Lease string `path:"lease" doc:"The token of the run"`
}

type oneIn[B any] struct {
	OfRun

	Body B
}

// RunEnded is what became of the job of a run.
type RunEnded struct {
	Job   string          `json:"job"`
	State string          `json:"state" doc:"In which the job is now"`
	Due   views.Timestamp `json:"due" doc:"When it runs again, if that is known"`
}

// one ends one run.
func one[B any](s *service, as func(*B) *RunOutcome) func(context.Context, *api.Call, *oneIn[B]) (*api.Body[RunEnded], error) {
	return func(ctx context.Context, c *api.Call, in *oneIn[B]) (*api.Body[RunEnded], error) {
		s := s.on(c.Client)
		r, err := s.run(ctx, c, &in.In, in.Lease)
		if err != nil {
			return nil, err
		}
		said := as(&in.Body)
		said.Repeat = said.Repeat || c.MayRepeat()
		if err := said.fits(""); err != nil {
			return nil, err
		}
		if err := s.lookDurable(ctx, r, said.Journal); err != nil {
			return nil, err
		}
		var jobs records
		if said.needsRecord() {
			if jobs, err = s.records(ctx, []*run{r}); err != nil {
				return nil, err
			}
		}
		o, err := s.outcome(ctx, "", r, said, jobs.of(r.Lease))
		if err != nil {
			return nil, err
		}
		var w *writes
		if said.Journal != nil {
			if w, err = s.writes(ctx, c, "/journal", r, said.Journal, said.Repeat); err != nil {
				return nil, err
			}
		}
		ended, err := s.settle(ctx, []*run{r}, []*store.Outcome{o}, []*writes{w})
		if err != nil {
			return nil, err
		}
		if ended[0] != nil {
			return nil, ended[0]
		}
		return &api.Body[RunEnded]{Body: viewEnded(o)}, nil
	}
}

func viewEnded(o *store.Outcome) RunEnded {
	return RunEnded{Job: o.Lease.Job.String(), State: o.Final.String(), Due: views.Timestamp(o.Due)}
}

// settle commits outcomes. The errors are those of each, or why it is not known what became of
// them.
func (s *service) settle(ctx context.Context, runs []*run, outcomes []*store.Outcome, appends []*writes) ([]error, error) {
	units := make([]*store.Unit, len(outcomes))
	repeats := make([]bool, len(outcomes)) // as the worker says: the committer repeats, too
	for i, o := range outcomes {
		units[i], repeats[i] = unit(appends[i], o), o.Repeat
	}
	before, err := s.repeated(ctx, runs, repeats)
	if err != nil {
		return nil, err
	}
	errs, err := s.engine.Settle(ctx, units)
	if err != nil {
		return nil, err
	}
	nodes := map[int64]bool{}
	for i, o := range outcomes {
		if errs[i] == nil {
			errs[i] = appends[i].refused()
		}
		if errs[i] == nil {
			errs[i] = o.Err
		}
		if errs[i] == nil && (!repeats[i] || before.runs(o.Lease)) {
			s.engine.EndedElsewhere(o, runs[i].Kind, runs[i].Attempt)
		}
		if errs[i] == nil && o.Due.IsZero() {
			o.Due = before.due(o)
		}
		nodes[o.Lease.Node] = true
		if errs[i] == nil {
			s.sizes.forget(o.Lease)
		}
	}
	s.hub.ended(nodes)
	return errs, nil
}

// repeated are the jobs of those runs whose outcomes were sent before, as they are now. Those that
// run have outcomes which have not arrived, and are to be counted.
func (s *service) repeated(ctx context.Context, runs []*run, repeats []bool) (records, error) {
	var asked []*run
	for i, r := range runs {
		if repeats[i] {
			asked = append(asked, r)
		}
	}
	return s.records(ctx, asked)
}

type runsIn struct {
	api.In

	Body struct {
		Outcomes []RunOutcome `json:"outcomes" minItems:"1" maxItems:"1000" nullable:"false"`
	}
}

// RunSettled is what became of one of several runs.
type RunSettled struct {
	Ended *RunEnded        `json:"ended" doc:"null if it has an error"`
	Error *problem.Problem `json:"error"`
}

// RunsSettled is what became of runs.
type RunsSettled struct {
	Runs []RunSettled `json:"runs" nullable:"false" doc:"In the order of the request"`
}

func (s *service) runs(ctx context.Context, c *api.Call, in *runsIn) (*api.Body[RunsSettled], error) {
	s = s.on(c.Client)
	answer := RunsSettled{Runs: make([]RunSettled, len(in.Body.Outcomes))}
	refuse := func(at int, err error) {
		answer.Runs[at].Error = problem.Of(err)
		answer.Runs[at].Error.Request = problem.RequestID(ctx)
	}
	runs := make([]*run, len(in.Body.Outcomes))
	seen := map[store.Lease]bool{}
	var asked []*run
	for i := range in.Body.Outcomes {
		said := &in.Body.Outcomes[i]
		said.Repeat = said.Repeat || c.MayRepeat()
		r, err := s.run(ctx, c, &in.In, said.Lease)
		if err == nil && seen[r.Lease] {
			err = problem.Invalid(fmt.Sprintf("/outcomes/%d/lease", i), "the run is there twice")
		}
		if err == nil {
			err = said.fits(fmt.Sprintf("/outcomes/%d", i))
		}
		if err == nil {
			err = s.lookDurable(ctx, r, said.Journal)
		}
		if err != nil {
			refuse(i, err)
			continue
		}
		if runs[i], seen[r.Lease] = r, true; said.needsRecord() {
			asked = append(asked, r)
		}
	}
	jobs, err := s.records(ctx, asked)
	if err != nil {
		return nil, err
	}
	e := endings{jobs: jobs}
	for i, r := range runs {
		if r == nil {
			continue
		}
		if err := s.ending(ctx, c, i, r, &in.Body.Outcomes[i], &e); err != nil {
			refuse(i, err)
		}
	}
	errs, err := s.settle(ctx, e.runs, e.outcomes, e.appends)
	if err != nil {
		return nil, err
	}
	for i, at := range e.places {
		if errs[i] != nil {
			refuse(at, errs[i])
			continue
		}
		ended := viewEnded(e.outcomes[i])
		answer.Runs[at].Ended = &ended
	}
	return &api.Body[RunsSettled]{Body: answer}, nil
}

// endings are runs that end together, and what each appends.
type endings struct {
	jobs     records
	runs     []*run
	outcomes []*store.Outcome
	appends  []*writes
	places   []int // in the request
}

// ending adds how a run ends, which is number i of a request.
func (s *service) ending(ctx context.Context, c *api.Call, i int, r *run, said *RunOutcome, to *endings) error {
	at := fmt.Sprintf("/outcomes/%d", i)
	o, err := s.outcome(ctx, at, r, said, to.jobs.of(r.Lease))
	if err != nil {
		return err
	}
	var w *writes
	if said.Journal != nil {
		if w, err = s.writes(ctx, c, at+"/journal", r, said.Journal, said.Repeat); err != nil {
			return err
		}
	}
	to.runs, to.outcomes, to.appends, to.places = append(to.runs, r), append(to.outcomes, o), append(to.appends, w), append(to.places, i)
	return nil
}

// RunProgressed is a run whose progress was noted.
type RunProgressed struct {
	Job string `json:"job"`
}

func (s *service) progress(ctx context.Context, c *api.Call, in *oneIn[RunProgress]) (*api.Body[RunProgressed], error) {
	s = s.on(c.Client)
	r, err := s.run(ctx, c, &in.In, in.Lease)
	if err != nil {
		return nil, err
	}
	w, err := in.Body.checkpoint(r)
	if err != nil {
		return nil, err
	}
	errs, err := s.engine.Settle(ctx, []*store.Unit{{Checkpoint: w}})
	switch {
	case err != nil:
		return nil, err
	case errs[0] != nil:
		return nil, errs[0]
	case w.Err != nil:
		return nil, problem.At("/value", w.Err)
	}
	return &api.Body[RunProgressed]{Body: RunProgressed{Job: r.Job.String()}}, nil
}

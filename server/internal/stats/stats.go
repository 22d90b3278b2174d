// Package stats has the operations of the API on what happened to runs and what was measured.
//
// # Imports
//
// Of ours, the root package, stats, internal/cli/views, and server/internal/api with what that
// stands on.
package stats

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/stats"
)

const tag = "stats"

// Register registers the operations.
func Register(a *api.API) {
	get := func(id, path, summary, about string) api.Op {
		return api.Op{ID: id, Method: http.MethodGet, Path: path, Tag: tag, Scope: access.StatsRead, Summary: summary, About: about}
	}
	api.Register(a, get("stats-jobs", "/stats/jobs", "What happened to runs",
		"By time, queue and kind. Counts are exact, percentiles within 3 %. Where nothing happened there is no point."), jobs)
	for id, of := range map[string]struct {
		path, summary string
		read          func(context.Context, *holdfast.Client, stats.Window) ([]stats.Sample, error)
	}{
		"stats-nodes":    {"/stats/nodes", "What nodes have measured of themselves", stats.Nodes},
		"stats-database": {"/stats/database", "What was measured of the database", stats.Database},
	} {
		api.Register(a, get(id, of.path, of.summary, "The last measurements in each step."),
			func(ctx context.Context, c *api.Call, in *WindowIn) (*api.Body[StatsSamples], error) {
				return samples(ctx, c, in, of.read)
			})
	}
}

// WindowIn are the parameters of a time.
type WindowIn struct {
	api.In

	Since  time.Time `query:"since" doc:"When it begins; an hour before its end, if it is left out"`
	Before time.Time `query:"before" doc:"When it ends; now, if it is left out"`
	Step   string    `query:"step" doc:"How long a point is, in whole minutes, or hours of more than three days ago; all together, if it is left out"`
}

func (in *WindowIn) window() (stats.Window, error) {
	w := stats.Window{From: in.Since, To: in.Before}
	if in.Step == "" {
		return w, nil
	}
	var step api.Duration
	if err := step.UnmarshalText([]byte(in.Step)); err != nil {
		return w, problem.Invalid("query/step", err.Error())
	}
	w.Step = time.Duration(step)
	return w, nil
}

type jobsIn struct {
	WindowIn

	By    string `query:"by" enum:"queue,kind,both,none" default:"both" doc:"What is told apart"`
	Queue string `query:"queue" doc:"Only of this queue"`
	Kind  string `query:"kind" doc:"Only of this kind"`
}

// StatsPoint is what happened to runs in a step of time.
type StatsPoint struct {
	At        views.Timestamp `json:"at" doc:"When it begins"`
	Seconds   float64         `json:"seconds" doc:"How long it is"`
	Queue     views.Text      `json:"queue"`
	Kind      views.Text      `json:"kind"`
	Other     bool            `json:"other" doc:"Those of all queues and kinds that were too many to be told apart"`
	Started   api.Int         `json:"started"`
	Completed api.Int         `json:"completed"`
	Failed    api.Int         `json:"failed"`
	Retried   api.Int         `json:"retried"`
	Cancelled api.Int         `json:"cancelled"`
	Parked    api.Int         `json:"parked"`
	Released  api.Int         `json:"released"`
	Lost      api.Int         `json:"lost"`
	PerSecond float64         `json:"per_second" doc:"How many runs have ended"`
	Wait      *StatsLatency   `json:"wait" doc:"How long jobs had been due when they started; null: that is known of none"`
	Run       *StatsLatency   `json:"run" doc:"How long runs took"`
}

// StatsLatency is how long something took.
type StatsLatency struct {
	Count api.Int `json:"count" doc:"Of how many runs it is known"`
	Mean  float64 `json:"mean_seconds"`
	P50   float64 `json:"p50_seconds"`
	P90   float64 `json:"p90_seconds"`
	P99   float64 `json:"p99_seconds"`
	Max   float64 `json:"max_seconds"`
}

// StatsPoints are points of time.
type StatsPoints struct {
	Items []StatsPoint `json:"items" nullable:"false"`
}

func viewPoint(p *stats.Point) StatsPoint {
	return StatsPoint{
		At: views.Timestamp(p.At), Seconds: p.Length.Seconds(), Queue: views.Text(p.Queue), Kind: views.Text(p.Kind), Other: p.Other,
		Started: api.Int(p.Started), Completed: api.Int(p.Completed), Failed: api.Int(p.Failed), Retried: api.Int(p.Retried),
		Cancelled: api.Int(p.Cancelled), Parked: api.Int(p.Parked), Released: api.Int(p.Released), Lost: api.Int(p.Lost),
		PerSecond: p.PerSecond, Wait: viewLatency(&p.Wait), Run: viewLatency(&p.Run),
	}
}

func viewLatency(l *stats.Latency) *StatsLatency {
	if l.Count == 0 {
		return nil
	}
	return &StatsLatency{
		Count: api.Int(l.Count), Mean: l.Mean.Seconds(), P50: l.P50.Seconds(), P90: l.P90.Seconds(), P99: l.P99.Seconds(), Max: l.Max.Seconds(),
	}
}

var apart = map[string]stats.By{"queue": stats.ByQueue, "kind": stats.ByKind, "both": stats.ByBoth, "none": stats.All}

func jobs(ctx context.Context, c *api.Call, in *jobsIn) (*api.Body[StatsPoints], error) {
	w, err := in.window()
	if err != nil {
		return nil, err
	}
	points, err := stats.Jobs(ctx, c.Client, stats.Query{From: w.From, To: w.To, Step: w.Step, By: apart[in.By], Queue: in.Queue, Kind: in.Kind})
	if err != nil {
		return nil, problem.At("query", err)
	}
	v := StatsPoints{Items: make([]StatsPoint, len(points))}
	for i := range points {
		v.Items[i] = viewPoint(&points[i])
	}
	return &api.Body[StatsPoints]{Body: v}, nil
}

// StatsSamples are measurements.
type StatsSamples struct {
	Items []views.Sample `json:"items" nullable:"false"`
}

func samples(
	ctx context.Context, c *api.Call, in *WindowIn, read func(context.Context, *holdfast.Client, stats.Window) ([]stats.Sample, error),
) (*api.Body[StatsSamples], error) {
	w, err := in.window()
	if err != nil {
		return nil, err
	}
	all, err := read(ctx, c.Client, w)
	if err != nil {
		return nil, problem.At("query", err)
	}
	v := StatsSamples{Items: make([]views.Sample, len(all))}
	for i := range all {
		v.Items[i] = views.NewSample(&all[i])
	}
	return &api.Body[StatsSamples]{Body: v}, nil
}

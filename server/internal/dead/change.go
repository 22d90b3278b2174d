package dead

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// atMost is how long a request goes over jobs.
const atMost = 20 * time.Second

// mostRefused is how many of the jobs that were not changed are told.
const mostRefused = 20

// DeadChanged is what became of dead letters.
type DeadChanged struct {
	Done     int           `json:"done" doc:"How many were changed; of a dry run: how many would be"`
	More     bool          `json:"more" doc:"Of a dry run: there are more than that"`
	Failed   int           `json:"failed" doc:"How many could not be changed"`
	Refused  []DeadRefused `json:"refused" nullable:"false" doc:"The first 20 of these"`
	Complete bool          `json:"complete" doc:"It has come to the end; if not, the same request goes on"`
}

// DeadRefused is a job that was left as it was.
type DeadRefused struct {
	Job   string       `json:"job"`
	Code  problem.Code `json:"code" doc:"Why, as the code of a problem"`
	Error string       `json:"error"`
}

// DeadChange is what changes of dead letters have in common.
type DeadChange struct {
	DeadFilter

	DryRun bool   `json:"dry_run,omitempty" doc:"Change nothing, and say how many there are"`
	Reason string `json:"reason,omitempty" doc:"For people; it is recorded with each change"`
}

// run changes dead letters for as long as a request may take.
func (d *DeadChange) run(
	ctx context.Context, c *api.Call, change func(ctx context.Context, filter store.Filter, told func(dead.Result)) (dead.Report, error),
) (*api.Body[DeadChanged], error) {
	filter, err := d.filter()
	if err != nil {
		return nil, err
	}
	v := DeadChanged{Refused: []DeadRefused{}}
	if d.DryRun {
		filter.States = []store.State{store.Failed}
		count, err := c.Client.Count(ctx, filter)
		v.Done, v.More, v.Complete = count.N, count.More, true
		return &api.Body[DeadChanged]{Body: v}, err
	}
	working, stop := context.WithTimeout(ctx, atMost)
	defer stop()
	report, err := change(working, filter, func(r dead.Result) {
		if r.Err == nil || len(v.Refused) == mostRefused {
			return
		}
		p := problem.Of(r.Err)
		v.Refused = append(v.Refused, DeadRefused{Job: r.Job.String(), Code: p.Code, Error: p.Detail})
	})
	v.Done, v.Failed, v.Complete = report.Done, report.Failed, err == nil
	if err != nil && (working.Err() == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return nil, problem.At("", err)
	}
	return &api.Body[DeadChanged]{Body: v}, nil
}

type redriveIn struct {
	api.In

	Body struct {
		DeadChange

		Queue    string       `json:"to_queue,omitempty" doc:"The queue in which they run; their own, if it is left out"`
		Priority int          `json:"priority,omitempty" minimum:"1" maximum:"4" doc:"Their priority; their own, if it is left out"`
		Args     api.Payload  `json:"args,omitempty" doc:"The args with which they run; their own, if they are left out"`
		Delay    api.Duration `json:"delay,omitzero" doc:"They run after this; at once, if it is left out"`
		Rate     float64      `json:"rate,omitempty" exclusiveMinimum:"0" maximum:"1000000" doc:"How many a second run again; as fast as it goes, if it is left out"`
	}
}

func redrive(ctx context.Context, c *api.Call, in *redriveIn) (*api.Body[DeadChanged], error) {
	b := &in.Body
	if b.Delay < 0 {
		return nil, problem.Invalid("/delay", "the delay is negative")
	}
	o := dead.Options{Queue: b.Queue, Priority: b.Priority, Rate: b.Rate, Reason: b.Reason}
	if b.Delay > 0 {
		o.RunAt = c.Now().Add(time.Duration(b.Delay))
	}
	if len(b.Args) > 0 {
		o.Args = func(r *store.Record) (json.RawMessage, error) {
			if err := jobs.MayRun(c, r.Kind); err != nil {
				return nil, err
			}
			return b.Args, nil
		}
	}
	return b.run(ctx, c, func(ctx context.Context, filter store.Filter, told func(dead.Result)) (dead.Report, error) {
		o.Told = told
		return dead.Redrive(ctx, c.Client, filter, o)
	})
}

type purgeIn struct {
	api.In

	Body DeadChange
}

func purge(ctx context.Context, c *api.Call, in *purgeIn) (*api.Body[DeadChanged], error) {
	return in.Body.run(ctx, c, func(ctx context.Context, filter store.Filter, told func(dead.Result)) (dead.Report, error) {
		return dead.Purge(ctx, c.Client, filter, in.Body.Reason, told)
	})
}

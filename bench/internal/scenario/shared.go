package scenario

import (
	"context"
	"strconv"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// measured is a part of a scenario, with options of the system.
type measured func(ctx context.Context, e *Env, part int, opts system.Options) (figures.Sample, error)

// Jobs count in a limit from their claim on, and a node claims up to 2,000 short ones ahead: a
// limit does not bind if it is of more than these.
const (
	farLimit  = 10_000
	halfLimit = 1_000
)

// Keys take turns by one of 64 shards.
const (
	fewKeys  = 3
	manyKeys = 200
)

// tenants are the keys of a limit per key.
const tenants = 10_000

// boundJobs are those of boundKeys.
const (
	boundJobs = 2000
	boundKeys = 10
)

// mostRate is the highest rate that a limit can have.
const mostRate = 100_000

// besideIt runs a part without options and with some, and compares a figure.
func besideIt(figure string, run measured, opts system.Options) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		without, err := run(ctx, e, 0, system.Options{})
		if err != nil {
			return without, err
		}
		with, err := run(ctx, e, 1, opts)
		if err != nil {
			return with, err
		}
		if figure == figures.Rate {
			compare(with, without)
			return with, nil
		}
		with.Figures["with_over_without"] = with.Figures[figure] / without.Figures[figure]
		return with, nil
	}
}

// sharedScenarios compare what a limit over all nodes costs: one that does not bind, one of half of
// what a node claims ahead, and one of as many slots as a node has.
func sharedScenarios() []Scenario {
	shared := func(name, title, figure string, limit int, less bool, run measured) Scenario {
		return Scenario{
			Name: "shared-" + name, Title: title + ", with a limit of " + strconv.Itoa(limit) + " over all nodes ÷ without", Parts: 2,
			measure: map[string]figures.Measure{"": {Figure: "with_over_without", Unit: "with ÷ without", Less: less}},
			run:     besideIt(figure, run, system.Options{Limit: limit}),
		}
	}
	// rated compares what the rate of a limit costs that does not bind.
	rated := func(name, title, figure string, rate int, less bool, run measured) Scenario {
		return Scenario{
			Name: "rate-" + name, Title: title + ", with a limit of " + strconv.Itoa(rate) + " a second over all nodes ÷ without", Parts: 2,
			measure: map[string]figures.Measure{"": {Figure: "with_over_without", Unit: "with ÷ without", Less: less}},
			run:     besideIt(figure, run, system.Options{Rate: rate}),
		}
	}
	// fairly compares what it costs that the jobs of so many keys are claimed in turn.
	fairly := func(name string, keys int) Scenario {
		return Scenario{
			Name: name, Title: "drain, with jobs of " + strconv.Itoa(keys) + " fair keys in turn ÷ without keys", Parts: 2,
			measure: map[string]figures.Measure{"": {Figure: "with_over_without", Unit: "with ÷ without"}},
			run:     besideIt(figures.Rate, drainWith, system.Options{FairKeys: keys}),
		}
	}
	return []Scenario{
		{
			Name: "key-limit-drain", Parts: 2,
			Title:   "drain, with a limit per key that does not bind, of " + strconv.Itoa(tenants) + " keys ÷ without",
			measure: map[string]figures.Measure{"": {Figure: "with_over_without", Unit: "with ÷ without"}},
			run:     besideIt(figures.Rate, drainWith, system.Options{LimitKeys: tenants}),
		},
		{
			Name: "key-limit-bind", Title: "drain of " + strconv.Itoa(boundKeys) + " keys of which one job runs at once",
			measure: jobsPerSecond(), run: bound,
		},
		fairly("fair-drain", manyKeys),
		fairly("fair-drain-few", fewKeys),
		rated("steady", "insert and drain at once", figures.Rate, mostRate, false, steadyWith),
		rated("pickup", "from the enqueue to the handler, 500 jobs a second", figures.P50, 5000, true, pickupWith(500)),
		shared("drain", "drain", figures.Rate, farLimit, false, drainWith),
		shared("drain-half", "drain", figures.Rate, halfLimit, false, drainWith),
		shared("drain-slots", "drain", figures.Rate, defaultSlots, false, drainWith),
		shared("steady", "insert and drain at once", figures.Rate, farLimit, false, steadyWith),
		shared("pickup", "from the enqueue to the handler, 500 jobs a second", figures.P50, farLimit, true, pickupWith(500)),
	}
}

// bound drains jobs of few keys of which one runs at once.
func bound(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{LimitKeys: boundKeys, KeyCapacity: 1}, func(t *trial) (int64, error) {
		jobs := min(boundJobs, e.Sizes.Jobs)
		if err := t.fill(ctx, jobs); err != nil {
			return 0, err
		}
		return t.drain(ctx, jobs)
	})
}

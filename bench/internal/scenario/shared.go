package scenario

import (
	"context"
	"strconv"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// measured is a part of a scenario, with options of the system.
type measured func(ctx context.Context, e *Env, part int, opts system.Options) (figures.Sample, error)

// sharedScenarios compare what a limit over all nodes costs: one that does not bind, and one of
// half the slots that a node has.
func sharedScenarios() []Scenario {
	shared := func(name, title, figure string, limit int, less bool, run measured) Scenario {
		return Scenario{
			Name: "shared-" + name, Title: title + ", with a limit of " + strconv.Itoa(limit) + " over all nodes ÷ without", Parts: 2,
			measure: map[string]figures.Measure{"": {Figure: "with_over_without", Unit: "with ÷ without", Less: less}},
			run: func(ctx context.Context, e *Env) (figures.Sample, error) {
				without, err := run(ctx, e, 0, system.Options{})
				if err != nil {
					return without, err
				}
				with, err := run(ctx, e, 1, system.Options{Limit: limit})
				if err != nil {
					return with, err
				}
				if figure == figures.Rate {
					compare(with, without)
					return with, nil
				}
				with.Figures["with_over_without"] = with.Figures[figure] / without.Figures[figure]
				return with, nil
			},
		}
	}
	return []Scenario{
		shared("drain", "drain", figures.Rate, defaultSlots, false, drainWith),
		shared("drain-half", "drain", figures.Rate, defaultSlots/2, false, drainWith),
		shared("steady", "insert and drain at once", figures.Rate, defaultSlots, false, steadyWith),
		shared("pickup", "from the enqueue to the handler, 500 jobs a second", figures.P50, defaultSlots, true, pickupWith(500)),
	}
}

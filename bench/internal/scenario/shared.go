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

// sharedScenarios compare what a limit over all nodes costs: one that does not bind, one of half of
// what a node claims ahead, and one of as many slots as a node has.
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
		shared("drain", "drain", figures.Rate, farLimit, false, drainWith),
		shared("drain-half", "drain", figures.Rate, halfLimit, false, drainWith),
		shared("drain-slots", "drain", figures.Rate, defaultSlots, false, drainWith),
		shared("steady", "insert and drain at once", figures.Rate, farLimit, false, steadyWith),
		shared("pickup", "from the enqueue to the handler, 500 jobs a second", figures.P50, farLimit, true, pickupWith(500)),
	}
}

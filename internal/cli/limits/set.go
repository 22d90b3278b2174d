package limits

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
)

// setFlags are the flags of "limit set".
type setFlags struct {
	capacity            string
	rate                rateFlags
	queues, kinds       []string
	allQueues, allKinds bool
	perKey              bool
	fair                fairShare
	noJobs              bool
}

func (a verbs) setCommand() *cobra.Command {
	var f setFlags
	cmd := &cobra.Command{
		Use:   "set NAME",
		Short: "Make or change a limit",
		Long: `Make a limit, or change one: what a flag says is set, the rest stays. A new limit needs --capacity
or --rate; without --queue and --kind all jobs of the namespace count in it, each as one.

The capacity is how many jobs run at once, the rate how many start in a time, and the burst how many
of these start at once after a time in which few did. A capacity or a rate of 0 stops the jobs. Jobs
that run go on when the capacity is lowered; none starts until they are few enough. What is set here
is not overwritten by what code declares.

With --per-key the capacity and the rate are those of each key: of the jobs that name the limit with
the same key ("job enqueue --limit-key NAME=KEY") so many run at once, and so many start in a time.

With --fair-share a node that uses more than an even part of the slots gives some back, as its jobs
end, while other nodes want some. It does not go with --per-key: nodes hold no slots of a limit per
key, so there is nothing to divide.`,
		Example: `  holdfast limit set slack --capacity 5 --kind notify --kind report
  holdfast limit set gpu --capacity 8 --kind train=4 --kind infer=1 --queue gpu
  holdfast limit set slack --rate 50/s --burst 10
  holdfast limit set gpu --fair-share
  holdfast limit set customer --per-key --capacity 3
  holdfast limit set customer --per-key --rate 50/min --burst 5
  holdfast limit set slack --capacity none --rate 100/min
  holdfast limit set slack --capacity 0`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			opts, err := f.options(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return a.set(ctx, args[0], opts, f.isWhole())
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.capacity, "capacity", "", "let at most `N` jobs run at once; none: any number")
	f.rate.add(flags)
	f.fair.add(flags)
	arg.TextsVar(flags, &f.queues, "queue", nil, "count the jobs of `QUEUE`; may be repeated")
	arg.TextsVar(flags, &f.kinds, "kind", nil, "count the jobs of `KIND[=SLOTS]`, each as so many; may be repeated")
	flags.BoolVar(&f.allQueues, "all-queues", false, "count the jobs of all queues")
	flags.BoolVar(&f.allKinds, "all-kinds", false, "count the jobs of all kinds, each as one")
	flags.BoolVar(&f.noJobs, "no-jobs", false, "count no jobs, but what code acquires")
	flags.BoolVar(&f.perKey, "per-key", false, "make the capacity and the rate those of each key: count the jobs that name the limit")
	for _, other := range []string{"queue", "all-queues", "kind", "all-kinds", "no-jobs", "fair-share"} {
		cmd.MarkFlagsMutuallyExclusive("per-key", other)
	}
	cmd.MarkFlagsMutuallyExclusive("queue", "all-queues", "no-jobs")
	cmd.MarkFlagsMutuallyExclusive("kind", "all-kinds", "no-jobs")
	return cmd
}

// options are what the flags say.
func (f *setFlags) options(given func(string) bool) (opts []limit.Option, err error) {
	if err := f.checkNoJobs(given); err != nil {
		return nil, err
	}
	if given("capacity") {
		opt, err := capacity("--capacity", f.capacity)
		if err != nil {
			return nil, err
		}
		opts = append(opts, opt)
	}
	ofRate, err := f.rate.options(given)
	if err != nil {
		return nil, err
	}
	opts = append(opts, ofRate...)
	opts = append(opts, f.fair.option(given)...)
	if f.noJobs {
		opts = append(opts, limit.NoJobs())
	}
	if f.perKey {
		opts = append(opts, limit.PerKey())
	}
	if given("queue") || f.allQueues {
		opts = append(opts, limit.Queues(f.queues...))
	}
	if given("kind") || f.allKinds {
		opts = append(opts, limit.Kinds())
	}
	weights, err := f.weights()
	if err != nil {
		return nil, err
	}
	opts = append(opts, weights...)
	if len(opts) == 0 {
		return nil, arg.Usagef("nothing to set; use --capacity, --rate, --burst, --fair-share, --per-key, --no-jobs, " +
			"--queue, --all-queues, --kind or --all-kinds")
	}
	return opts, nil
}

// weights are the options of the kinds that are named.
func (f *setFlags) weights() (opts []limit.Option, err error) {
	seen := map[string]bool{}
	for _, kind := range f.kinds {
		name, text, weighted := strings.Cut(kind, "=")
		weight := 1
		if weighted {
			if weight, err = strconv.Atoi(text); err != nil || weight < 1 {
				return nil, arg.Usagef("--kind %s: %s is not a number of slots, which is at least 1", output.OneLine(kind), output.OneLine(text))
			}
		}
		if seen[name] {
			return nil, arg.Usagef("--kind %s is given twice", output.OneLine(name))
		}
		seen[name] = true
		opts = append(opts, limit.Weight(name, weight))
	}
	return opts, nil
}

// checkNoJobs refuses what does not go with --no-jobs.
func (f *setFlags) checkNoJobs(given func(string) bool) error {
	switch {
	case !given("no-jobs"):
		return nil
	case !f.noJobs:
		return arg.Usagef("--no-jobs=false says not which jobs count; use --all-queues, --all-kinds, --queue or --kind")
	case given("capacity") && f.capacity != none:
		return arg.Usagef("--no-jobs needs a rate and goes with no capacity: use --rate instead of --capacity")
	case f.rate.rate == none:
		return arg.Usagef("--no-jobs needs a rate, and --rate is none")
	}
	return nil
}

// isWhole reports whether the flags may make a limit.
func (f *setFlags) isWhole() bool {
	return f.capacity != "" && f.capacity != none || f.rate.rate != "" && f.rate.rate != none
}

func (a verbs) resetCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "reset LIMIT",
		Short:       "Set a limit to what code declares",
		Long:        "Set a limit to what code has declared last.",
		Example:     "  holdfast limit reset slack",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				l, err := limit.Reset(ctx, client, args[0])
				if err != nil {
					return explain(client, args[0], err)
				}
				return a.Object(views.NewLimit(&l), func() { a.Printf("%s", views.LimitText(&l)) })
			})
		}),
	}
}

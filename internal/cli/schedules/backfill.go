package schedules

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
)

// backfillFlags are the flags of "schedule backfill".
type backfillFlags struct {
	from, to string
	atOnce   bool
	number   int64
	dryRun   bool
	confirm  app.Confirmation
}

const (
	// mostUnasked is how many jobs are enqueued without the user being asked.
	mostUnasked = 100
	// firstShown is how many times a rehearsal shows.
	firstShown = 10
)

func (a verbs) backfillCommand() *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill SCHEDULE",
		Short: "Enqueue jobs for times of a schedule that have passed",
		Long: `Enqueue a job for each nominal time of a schedule in a range that has passed, in their order, as if
it had fired then, whether it has or not. What the clock does is not changed. The jobs run one after
the other, unless the schedule allows overlaps, or with --at-once.

A backfill has a number. Repeating it with --number leaves alone the times that have their job. If
there are more than 100 times, you are asked to type their number; scripts use --yes.`,
		Example: `  holdfast schedule backfill nightly --from 2026-01-01 --to 2026-02-01 --dry-run
  holdfast schedule backfill hourly --from 7d --to 1h --at-once --yes`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			r, err := f.parse(cmd, a.Env.Now())
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if f.dryRun {
					return a.planBackfill(ctx, client, args[0], r)
				}
				if err := a.confirmBackfill(ctx, client, args[0], r, &f.confirm); err != nil {
					return err
				}
				return a.backfill(ctx, client, args[0], r)
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the times from `TIME` on; a duration, such as 7d, is how long ago")
	flags.StringVar(&f.to, "to", "", "the times before `TIME`; a duration, such as 1h, is how long ago")
	flags.BoolVar(&f.atOnce, "at-once", false, "let the jobs run beside each other")
	flags.Int64Var(&f.number, "number", 0, "repeat the backfill with the number `N`")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show how many times there are, and the first of them")
	f.confirm.Add(cmd, fmt.Sprintf("before more than %d jobs are enqueued", mostUnasked))
	return cmd
}

// parse checks the flags.
func (f *backfillFlags) parse(cmd *cobra.Command, now time.Time) (r schedule.Range, err error) {
	given := cmd.Flags().Changed
	switch {
	case !given("from"), !given("to"):
		return r, arg.Usagef("%s needs --from and --to, such as --from 2026-01-01 --to 2026-02-01", arg.Verb(cmd))
	case given("number") && f.number < 1:
		return r, arg.Usagef("--number %d: must be the number of a backfill, as it was printed", f.number)
	}
	r = schedule.Range{AtOnce: f.atOnce, Number: f.number}
	if r.From, err = arg.ParseAgo(f.from, now); err != nil {
		return r, fmt.Errorf("--from: %w", err)
	}
	if r.To, err = arg.ParseAgo(f.to, now); err != nil {
		return r, fmt.Errorf("--to: %w", err)
	}
	switch {
	case !r.From.Before(r.To):
		return r, arg.Usagef("--to is not later than --from: the range is empty")
	case r.To.After(now):
		return r, arg.Usagef("--to %s is %s; a backfill is of times that have passed", f.to, output.Ago(now, r.To))
	}
	return r, nil
}

// planBackfill prints what a backfill would do.
func (a verbs) planBackfill(ctx context.Context, client *holdfast.Client, name string, r schedule.Range) error {
	n, first, more, err := schedule.Preview(ctx, client, name, r, firstShown)
	if err != nil {
		return explain(client, name, err)
	}
	s, err := schedule.Get(ctx, client, name)
	if err != nil {
		return explain(client, name, err)
	}
	return a.Object(views.PlannedBackfill(client.Namespace(), name, n, more, first), func() {
		for _, at := range first {
			a.Printf("%s", views.TimeOf(&s, at))
		}
		switch {
		case more:
			a.Printf("there are more than %d times; backfill them in parts", n)
		default:
			a.Printf("%s would be enqueued", output.Plural(n, "job"))
		}
	})
}

// confirmBackfill asks if there are many times.
func (a verbs) confirmBackfill(
	ctx context.Context, client *holdfast.Client, name string, r schedule.Range, confirm *app.Confirmation,
) error {
	if confirm.Given() {
		return nil
	}
	n, _, more, err := schedule.Preview(ctx, client, name, r, 0)
	if err != nil || more || n <= mostUnasked { // that there are more than may be is told by the backfill
		return explain(client, name, err)
	}
	source, err := a.Source()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("this enqueues up to %d jobs of schedule %s of namespace %s in %s",
		n, output.OneLine(name), output.OneLine(client.Namespace()), source)
	return a.Confirm(ctx, confirm, what, strconv.Itoa(n))
}

func (a verbs) backfill(ctx context.Context, client *holdfast.Client, name string, r schedule.Range) error {
	done, err := schedule.Backfill(ctx, client, name, r)
	if err != nil && done.Number == 0 {
		return explain(client, name, err)
	}
	printed := a.Object(views.NewBackfill(client.Namespace(), name, done), func() {
		text := fmt.Sprintf("enqueued %s for %s of schedule %s", output.Plural(done.Enqueued, "job"), output.Plural(done.Times, "time"),
			output.OneLine(name))
		if done.Skipped > 0 {
			text += fmt.Sprintf("; %d skipped, because another job has their key", done.Skipped)
		}
		if had := done.Times - done.Enqueued - done.Skipped; had > 0 && err == nil {
			text += fmt.Sprintf("; %d had their job", had)
		}
		a.Printf("%s; the number of the backfill is %d", text, done.Number)
	})
	if err != nil {
		return fmt.Errorf("%w; to go on, repeat it with --number %d", explain(client, name, err), done.Number)
	}
	return printed
}

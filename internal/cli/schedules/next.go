package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// nextFlags are the flags of "schedule next".
type nextFlags struct {
	timesFlags

	limit int
	after string
}

// mostNext is how many times are shown at once.
const mostNext = 10_000

func (a verbs) nextCommand() *cobra.Command {
	var f nextFlags
	cmd := &cobra.Command{
		Use:   "next [SCHEDULE]",
		Short: "Show the next times of a schedule, or of a cron expression",
		Long: `Show the next nominal times of a schedule, in its zone, between its start and its end. Whether it is
paused, and how often it may fire yet, does not matter; nor does its jitter.

With --cron, --every or --at, show what these flags mean, and open no database. Only H in an
expression depends on the name of the schedule, which may be given.`,
		Example: `  holdfast schedule next nightly --limit 3
  holdfast schedule next --cron '30 2 * * SUN' --tz Europe/Berlin --after 2026-03-01
  holdfast schedule next nightly --cron 'H H * * *'`,
		Args:        arg.Takes(0, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.next(ctx, cmd, args, &f)
		}),
	}
	f.add(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 10, "show at most `N` times")
	cmd.Flags().StringVar(&f.after, "after", "", "the times after `TIME`, or a duration from now (default: now)")
	return cmd
}

func (a verbs) next(ctx context.Context, cmd *cobra.Command, args []string, f *nextFlags) error {
	given, after := cmd.Flags().Changed, a.Env.Now()
	times, err := f.times(given, after)
	if err != nil {
		return err
	}
	if given("after") {
		if after, err = arg.ParseFromNow(f.after, after); err != nil {
			return fmt.Errorf("--after: %w", err)
		}
	}
	switch {
	case f.limit < 1 || f.limit > mostNext:
		return arg.Usagef("--limit %d: must be 1 to %d", f.limit, mostNext)
	case times != nil:
		return a.preview(ctx, args, *times, after, f.limit)
	case len(args) == 0:
		return arg.Usagef("%s needs the name of a schedule, or %s", arg.Verb(cmd), exampleTimes)
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		s, err := schedule.Get(ctx, client, args[0])
		if err != nil {
			return explain(client, args[0], err)
		}
		return a.printNext(&s, after, f.limit)
	})
}

// preview prints the times of a schedule that is not there, and may have a name.
func (a verbs) preview(ctx context.Context, args []string, times schedule.Times, after time.Time, n int) error {
	var s store.Schedule
	name := append(args, "schedule")[0]
	err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) (err error) {
		s, err = schedule.Create(ctx, client, schedule.New(name, times, item("kind", json.RawMessage("{}"), nil)))
		return err
	})
	switch {
	case err != nil && len(args) == 0:
		return arg.Usage(errors.New(strings.Replace(err.Error(), fmt.Sprintf("schedule %q: ", name), "", 1)))
	case err != nil:
		return err
	}
	return a.printNext(&s, after, n)
}

func (a verbs) printNext(s *store.Schedule, after time.Time, n int) error {
	next, err := schedule.Next(s, after, n)
	if err != nil {
		return err
	}
	out, now := a.NewList(views.NextTimeHeader...), a.Env.Now()
	if out.Format == output.FormatTable {
		a.Notef("%s.", output.OneLine(schedule.Words(s)))
	}
	for _, at := range next {
		if err := out.Add(views.NewNextTime(at), func() []string { return views.NextTimeRow(now, at) }); err != nil {
			return err
		}
	}
	if len(next) == 0 {
		a.Notef("It has no time after %s.", after.UTC().Format(time.RFC3339))
	}
	if _, effect := schedule.ClockChange(s, after); effect != "" && out.Format == output.FormatTable {
		a.Notef("The next change of the clock: %s.", output.OneLine(effect))
	}
	return out.End()
}

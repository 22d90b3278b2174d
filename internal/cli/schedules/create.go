package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// createFlags are the flags of "schedule create".
type createFlags struct {
	settingsFlags

	argsFrom    string // where the args come from
	paused      bool
	note        string
	ifNotExists bool
}

func (a verbs) createCommand() *cobra.Command {
	f := createFlags{argsFrom: "--args"}
	cmd := &cobra.Command{
		Use:   "create NAME KIND [ARGS]",
		Short: "Make a schedule",
		Long: `Make a schedule, which enqueues a job of a kind at times. ARGS is JSON, @FILE, or - for standard
input; the default is {}. One of these says when:

  --cron EXPRESSION  minute, hour, day of the month, month and weekday, in the zone of --tz; with
                     six fields, seconds first. Days may be L, 15W, LW, FRIL or MON#2. H is a value
                     spread by the name, as in 'H 3 * * *'. @hourly, @daily, @weekly and so on
  --every DURATION   at an interval
  --at TIME          once

Where the clock is set forward over a time, the schedule fires after the gap, or with --skip-gaps
not at all; where the clock is set back, it fires once. "schedule next" shows the times of flags
before there is a schedule.

--overlap says what happens at a time if the job before has not finished: the time is skipped
(skip), both run (allow), one waits and further times are skipped (buffer-one), all wait for their
turn (buffer-all), the job before is asked to stop (cancel-other), or is ended (terminate-other).

--missed says what becomes of times that have passed: the last one fires for all (coalesce), all of
the --window fire (catch-up), or none (skip). What is new fires nothing that has passed.`,
		Example: `  holdfast schedule create nightly report '{"to":"ada"}' --cron '30 2 * * *' --tz Europe/Berlin
  holdfast schedule create cleanup exec '{"command":["./cleanup"]}' --every 90s --overlap buffer-one --jitter 10s
  holdfast schedule create sync http @sync.json --cron 'H/15 * * * *' --missed catch-up --window 24h --overlap buffer-all --paused`,
		Args:        arg.Takes(2, 3),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.create(ctx, cmd, args, &f)
		}),
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.paused, "paused", false, "make it paused; \"schedule resume\" lets it fire")
	flags.StringVar(&f.note, "note", "", "with --paused: `TEXT` that says why")
	flags.BoolVar(&f.ifNotExists, "if-not-exists", false, "if there is one of that name leave it as it is, with exit code 0")
	return cmd
}

// create checks what needs no database, and then makes the schedule.
func (a verbs) create(ctx context.Context, cmd *cobra.Command, args []string, f *createFlags) error {
	given := cmd.Flags().Changed
	if len(args) > 2 {
		if given("args") {
			return arg.Usagef("ARGS and --args cannot be used together")
		}
		f.args, f.argsFrom = args[2], "ARGS"
	}
	times, err := f.times(given, a.Env.Now())
	if err != nil {
		return err
	}
	opts, err := f.options(given, a.Env.Now())
	switch {
	case err != nil:
		return err
	case times == nil:
		return arg.Usagef("%s needs the times: %s", arg.Verb(cmd), exampleTimes)
	case given("note") && !f.paused:
		return arg.Usagef("--note requires --paused")
	case f.paused:
		opts = append(opts, schedule.Paused(f.note))
	}
	jobOpts, err := f.jobOptions(given)
	if err != nil {
		return err
	}
	made := func(data json.RawMessage) schedule.Schedule {
		return schedule.New(args[0], *times, item(args[1], data, jobOpts), opts...)
	}
	err = a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		_, err := schedule.Create(ctx, client, made(json.RawMessage("{}")))
		return err
	})
	if err != nil {
		return err
	}
	data, err := arg.ReadJSON(ctx, a.Env.Stdin, f.argsFrom, f.args)
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error { return a.save(ctx, client, made(data), f.ifNotExists) })
}

func (a verbs) save(ctx context.Context, client *holdfast.Client, wanted schedule.Schedule, ifNotExists bool) error {
	name := wanted.Name()
	s, err := schedule.Create(ctx, client, wanted)
	switch {
	case errors.Is(err, holdfast.ErrConflict) && ifNotExists:
		if s, err = schedule.Get(ctx, client, name); err != nil {
			return explain(client, name, err)
		}
		if a.Format() != output.FormatTable {
			a.Notef("There is a schedule %s already; it was left as it is.", output.OneLine(name))
		}
		return a.printSchedule(&s, "left as it is:")
	case errors.Is(err, holdfast.ErrConflict):
		return fmt.Errorf("there is a schedule %s in namespace %q already; \"holdfast schedule update %s\" changes it, "+
			"and --if-not-exists leaves it as it is", output.OneLine(name), client.Namespace(), output.Quote(name))
	case err != nil:
		return arg.InvalidIsUsage(err)
	}
	a.noteArgs(&s)
	return a.printSchedule(&s, "created")
}

// noteArgs says that a built-in kind will not take the args. A user's program may have a kind of
// that name.
func (a verbs) noteArgs(s *store.Schedule) {
	if err := builtin.CheckArgs(s.Job.Kind, s.Job.Args); err != nil {
		a.Notef("The built-in kind %s will reject these args: %s", s.Job.Kind, output.OneLine(err.Error()))
	}
}

// printSchedule prints a schedule after a change: in a table what was done, and when it fires.
func (a verbs) printSchedule(s *store.Schedule, done string) error {
	now := a.Env.Now()
	return a.Object(views.NewSchedule(s, now), func() {
		a.Printf("%s schedule %s: %s", done, output.OneLine(s.Name), output.OneLine(views.FiresText(now, s)))
	})
}

package schedules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/schedule"
)

func (a verbs) updateCommand() *cobra.Command {
	var f settingsFlags
	var reset bool
	cmd := &cobra.Command{
		Use:   "update SCHEDULE",
		Short: "Change a schedule",
		Long: `Change a schedule. What no flag names stays as it is, also whether it is paused; and if there is an
error, all of it does. With other times it goes on from now, and with another job it misses none. Of
a cron expression, the zone can be changed alone, and so can --skip-gaps.

A schedule that code declares then differs from what it declares, and keeps what was set here when
the program starts again. --reset sets it to what code has declared last.`,
		Example: `  holdfast schedule update nightly --cron '0 4 * * *'
  holdfast schedule update nightly --queue slow --args '{"to":"bob"}' --end none
  holdfast schedule update nightly --reset`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if reset {
				return a.reset(ctx, cmd, args[0])
			}
			return a.update(ctx, cmd, args[0], &f)
		}),
	}
	f.add(cmd)
	flags := cmd.Flags()
	for name, usage := range updateUsage {
		flags.Lookup(name).Usage = usage
	}
	flags.Lookup("args").DefValue = ""
	flags.BoolVar(&reset, "reset", false, "set it to what code has declared last; without other flags")
	return cmd
}

// updateUsage says what flags mean for a schedule that is there: nothing has a default.
var updateUsage = map[string]string{
	"args":              "replace the args of its jobs by `JSON`, @FILE, or - for standard input",
	"queue":             "put its jobs into `QUEUE`",
	"priority":          "give its jobs the priority `N`, from 1 (highest) to 4",
	"max-attempts":      "let its jobs fail after `N` attempts",
	"timeout":           "limit each attempt of its jobs to `DURATION`",
	"heartbeat-timeout": "fail an attempt that makes no progress for `DURATION`",
	"tag":               "replace the tags of its jobs by `TAG`; repeatable",
	"metadata":          "replace the metadata of its jobs by a JSON `OBJECT`",
	"attr":              "give its jobs a search attribute, as `NAME=VALUE`, beside or in place of those that they have; repeatable",
	"overlap":           overlapUsage,
	"missed":            missedUsage,
	"cron":              "fire by a cron `EXPRESSION`, such as '30 2 * * MON-FRI' or @daily, in the zone that it has",
	"tz":                "of a cron expression: fire in this time `ZONE`, such as Europe/Berlin",
	"skip-gaps":         "of a cron expression: leave out times that the clock goes over when it is set forward",
	"jitter":            "enqueue each job up to `DURATION` after its time, such as 30s; 0s: at its time",
}

// update checks what needs no database, and then changes the schedule.
func (a verbs) update(ctx context.Context, cmd *cobra.Command, name string, f *settingsFlags) error {
	given := cmd.Flags().Changed
	opts, err := f.options(given, a.Env.Now())
	if err != nil {
		return err
	}
	jobOpts, err := f.jobOptions(given)
	if err != nil {
		return err
	}
	timed := slices.ContainsFunc([]string{"cron", "tz", "skip-gaps", "every", "from", "at"}, given)
	if !timed && len(opts) == 0 && len(jobOpts) == 0 && !given("args") {
		return arg.Usagef("%s needs a flag that says what to change, such as --jitter 30s", arg.Verb(cmd))
	}
	change := func(ctx context.Context, client *holdfast.Client, data json.RawMessage) error {
		all := slices.Clone(opts)
		if timed {
			times, err := a.newTimes(ctx, client, name, &f.timesFlags, given)
			if err != nil {
				return err
			}
			all = append(all, schedule.When(*times))
		}
		if data != nil || len(jobOpts) > 0 {
			all = append(all, schedule.EditJob(data, jobOpts...))
		}
		s, err := schedule.Update(ctx, client, name, all...)
		if err != nil || s.CreatedAt.IsZero() { // of a rehearsal
			return explain(client, name, err)
		}
		if data != nil {
			a.noteArgs(&s)
		}
		return a.printSchedule(&s, "changed")
	}
	err = a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error { return change(ctx, client, nil) })
	if err != nil {
		return err
	}
	var data json.RawMessage
	if given("args") {
		if data, err = arg.ReadJSON(ctx, a.Env.Stdin, "--args", f.args); err != nil {
			return err
		}
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error { return change(ctx, client, data) })
}

// newTimes are the times of the flags for a schedule that is there.
func (a verbs) newTimes(
	ctx context.Context, client *holdfast.Client, name string, f *timesFlags, given func(string) bool,
) (*schedule.Times, error) {
	s, err := schedule.Get(ctx, client, name)
	if err != nil {
		return nil, explain(client, name, err)
	}
	whole, given := f.over(given, &s)
	return whole.times(given, a.Env.Now())
}

// reset sets a schedule to what code has declared last.
func (a verbs) reset(ctx context.Context, cmd *cobra.Command, name string) error {
	var err error
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "reset" && err == nil {
			err = arg.Usagef("--reset and --%s cannot be used together", f.Name)
		}
	})
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		s, err := schedule.Reset(ctx, client, name)
		switch {
		case errors.Is(err, holdfast.ErrConflict):
			return fmt.Errorf("schedule %s was not changed: %s", output.OneLine(name), app.Explain(err))
		case err != nil:
			return explain(client, name, err)
		}
		return a.printSchedule(&s, "reset")
	})
}

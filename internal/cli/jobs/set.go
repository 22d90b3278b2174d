package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

func (a verbs) jobSetCommand() *cobra.Command {
	var f enqueueFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change a job that has not started",
		Long: `Change a job that is not running and has not finished: its next run sees the change. --tag and
--metadata replace what the job has, in any state. Either all of it happens or nothing.

A job that waits for a signal or a child keeps its time. A durable job that has begun keeps its
args, and so does a job with a unique key.`,
		Example: `  holdfast job set ` + arg.ExampleID + ` --priority 1 --in 0s
  holdfast job set ` + arg.ExampleID + ` --queue slow --at "2026-01-31 17:30" --reason "the printer is busy"`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if _, err := arg.ParseID(args[0]); err != nil {
				return err
			}
			given := func(flag string) bool { return flag != "key" && cmd.Flags().Changed(flag) } // that names the job
			opts, err := f.options(given, a.Env.Now())
			switch {
			case err != nil:
				return err
			case len(opts) == 0 && !given("args"):
				return arg.Usagef("%s needs a flag that says what to change, such as --priority 1", cmd.CommandPath())
			case !given("args"):
				return a.edit(ctx, args, func(client *holdfast.Client, id holdfast.ID) error { return client.Edit(ctx, reason, id, opts...) })
			}
			data, err := arg.ReadJSON(ctx, a.Env.Stdin, "--args", f.args)
			if err != nil {
				return err
			}
			return a.edit(ctx, args, func(client *holdfast.Client, id holdfast.ID) error {
				return client.EditArgs(ctx, reason, id, data, opts...)
			})
		}),
	}
	f.addChanges(cmd)
	cmd.Flags().StringVar(&f.args, "args", "", "replace the args by `JSON`, @FILE, or - for standard input")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the job as the reason")
	return arg.ByKey(cmd)
}

func (a verbs) jobTagCommand() *cobra.Command {
	var drop []string
	var reason string
	cmd := &cobra.Command{
		Use:   "tag ID [TAG...]",
		Short: "Add tags to a job, or remove some",
		Long:  `Add tags to a job, in any state, and remove those of --remove.`,
		Example: `  holdfast job tag ` + arg.ExampleID + ` urgent
  holdfast job tag ` + arg.ExampleID + ` seen --remove new --reason "looked at"`,
		Args:        arg.Takes(1, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if _, err := arg.ParseID(args[0]); err != nil {
				return err
			}
			if len(args) == 1 && len(drop) == 0 {
				return arg.Usagef("%s needs tags to add, or --remove", cmd.CommandPath())
			}
			return a.edit(ctx, args[:1], func(client *holdfast.Client, id holdfast.ID) error {
				return client.EditTags(ctx, reason, id, args[1:], drop)
			})
		}),
	}
	cmd.Flags().StringArrayVar(&drop, "remove", nil, "remove `TAG`; repeatable")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the job as the reason")
	return arg.ByKey(cmd)
}

// edit changes one job, and prints its state.
func (a verbs) edit(ctx context.Context, args []string, change func(*holdfast.Client, holdfast.ID) error) error {
	return a.change(ctx, args, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
		err := change(client, ids[0])
		if err != nil {
			return nil, arg.InvalidIsUsage(err)
		}
		record, err := client.Get(ctx, ids[0])
		if err != nil {
			return nil, err
		}
		return []changed{{state: record.State, words: "is changed; it is " + record.State.String()}}, nil
	})
}

package jobs

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/operation"
)

func (a verbs) jobSetCommand() *cobra.Command {
	var f enqueueFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change a job before its next run",
		Long: `Change a job that is not running and has not finished: its next run sees the change. What no flag
names stays as it is, and if there is an error, all of it does. --tag and --metadata work in any
state, also while the job runs and after its end; --attr and --remove-attr until its end.

Some things cannot be changed:
- the time (--in, --at) of a job that waits for a signal, a child or a time of its own
- the args of a durable job, once its function has made its first step: they are what the steps in
  its journal began with. "job fork" makes a new job with other args, "job continue-as-new" lets
  this one start over with them
- the args of a job with a unique key, which may depend on them`,
		Example: `  holdfast job set ` + arg.ExampleID + ` --priority 1 --in 0s
  holdfast job set ` + arg.ExampleID + ` --queue slow --at "2026-01-31 17:30" --reason "the printer is busy"
  holdfast job set ` + arg.ExampleID + ` --attr customer=acme --remove-attr amount`,
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
				return arg.Usagef("%s needs a flag that says what to change, such as --priority 1", arg.Verb(cmd))
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
	f.AddAttributes(cmd)
	f.AddRemovedAttributes(cmd)
	for name, usage := range setUsage {
		cmd.Flags().Lookup(name).Usage = usage
	}
	cmd.Flags().StringVar(&f.args, "args", "", "replace the args by `JSON`, @FILE, or - for standard input")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the job as the reason")
	return arg.ByKey(cmd)
}

// setUsage says what flags of an enqueue mean for a job that is there: nothing has a default.
var setUsage = map[string]string{
	"queue":             "move the job to `QUEUE`",
	"priority":          "set its priority to `N`, from 1 (highest) to 4",
	"in":                "run it after `DURATION` from now, such as 90s or 24h; 0s: at once",
	"at":                "run it at `TIME`, such as 2026-01-31T17:30:00Z or \"2026-01-31 17:30\"",
	"max-attempts":      "let it fail after `N` attempts, those that it has had among them",
	"timeout":           "limit each of its attempts to `DURATION`",
	"heartbeat-timeout": "fail an attempt that makes no progress for `DURATION`",
	"deadline":          "fail it if it has not finished by `TIME`, or a duration from now, even if attempts are left",
	"tag":               "replace all its tags by `TAG`; repeatable (\"job tag\" adds and removes some)",
	"metadata":          "replace its metadata by a JSON `OBJECT`",
	"attr":              "set its search attribute, as `NAME=VALUE`; repeatable, and others stay",
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
				return arg.Usagef("%s needs tags to add, or --remove", arg.Verb(cmd))
			}
			return a.edit(ctx, args[:1], func(client *holdfast.Client, id holdfast.ID) error {
				return client.EditTags(ctx, reason, id, args[1:], drop)
			})
		}),
	}
	arg.TextsVar(cmd.Flags(), &drop, "remove", nil, "remove `TAG`; repeatable")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the job as the reason")
	return arg.ByKey(cmd)
}

// editHints say what can be done about a job that is as the key says.
var editHints = map[string]string{
	"it is running":   "until its run has ended, only --tag, --metadata, --attr and --remove-attr change it",
	"it is waiting":   "its time is that of what it waits for, and with an ordering key it stays in its queue",
	"it is completed": afterItsEnd,
	"it is failed":    afterItsEnd,
	"it is cancelled": afterItsEnd,
	"it has a journal, which began with its args": "\"holdfast job fork\" makes a new job with other args, " +
		"and \"holdfast job continue-as-new\" lets this one start over with them",
	"it has a unique key, which may depend on its args": "cancel it, and enqueue another one",
}

const afterItsEnd = "of a finished job, only --tag and --metadata change something"

// whyNotEdited is the result for a job that was not changed: why, and what can be done about it.
func whyNotEdited(ctx context.Context, client *holdfast.Client, id holdfast.ID, err error) changed {
	record, lookErr := client.Get(ctx, id)
	if lookErr != nil {
		return changed{err: err}
	}
	why := whyNot(id.String(), err)
	if hint := editHints[why.Error()]; hint != "" {
		why = &withoutIDError{err, why.Error() + "; " + hint}
	}
	return changed{state: record.State, err: why}
}

// edit changes one job, and prints its state.
func (a verbs) edit(ctx context.Context, args []string, change func(*holdfast.Client, holdfast.ID) error) error {
	return a.change(ctx, args, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
		err := change(client, ids[0])
		switch {
		case errors.Is(err, holdfast.ErrConflict), errors.Is(err, holdfast.ErrNotFound):
			return []changed{whyNotEdited(ctx, client, ids[0], err)}, nil
		case err != nil:
			return nil, arg.InvalidIsUsage(err)
		}
		record, err := client.Get(ctx, ids[0])
		if err != nil {
			return nil, err
		}
		return []changed{{state: record.State, words: "is changed; it is " + record.State.String()}}, nil
	})
}

// edits makes a verb that edits jobs, by ids or filters: all says what it is about, and the options
// how each job is changed. ready reports what is wrong with its flags.
func (a verbs) edits(cmd *cobra.Command, all *bulk, ready func() error, opts func() []holdfast.EnqueueOption) *cobra.Command {
	var reason string
	all.reason, all.others = &reason, wouldBeRefused
	if all.change == nil {
		all.change = func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
			return editEach(ctx, client, ids, func(id holdfast.ID) error { return client.Edit(ctx, reason, id, opts()...) })
		}
	}
	cmd.Long += `

Select jobs by id, by a business key (--kind and --key alone), or with the filters of "job list". If
there are more than 100, you are asked to type their number; scripts use --yes. More than 1000 are
changed by an operation, which goes on whatever becomes of the command: see "operation".`
	cmd.Args = arg.Takes(0, -1)
	cmd.Annotations = app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
	cmd.RunE = a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		if _, err := arg.ParseIDs(args); err != nil {
			return err
		}
		if err := ready(); err != nil {
			return err
		}
		return a.changeSome(ctx, cmd, args, all)
	})
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	all.add(cmd)
	return cmd
}

// editEach edits jobs one by one.
func editEach(ctx context.Context, client *holdfast.Client, ids []holdfast.ID, edit func(holdfast.ID) error) ([]changed, error) {
	var wrong error
	changes := oneByOne(ids, func(id holdfast.ID) (changed, error) {
		err := edit(id)
		switch {
		case errors.Is(err, holdfast.ErrConflict):
			return whyNotEdited(ctx, client, id, err), err
		case errors.Is(err, holdfast.ErrInvalid):
			wrong = arg.InvalidIsUsage(err)
		}
		return changed{err: err, words: "is changed"}, err
	})
	return changes, wrong
}

// editable are the states of jobs that can be changed as a whole.
var editable = waitingStates

func (a verbs) jobMoveCommand() *cobra.Command {
	var to string
	all := &bulk{
		doing: "moves", done: "moved", otherwise: editable, accepts: editable,
		action: func() operation.Action { return operation.Move(to) },
	}
	cmd := a.edits(&cobra.Command{
		Use:   "move [ID...]",
		Short: "Move jobs to another queue",
		Long: `Move jobs that are not running and have not finished to another queue. They keep their run time. A
job that waits with an ordering key stays in its queue.`,
		Example: `  holdfast job move --queue mail --kind report --to slow --dry-run`,
	}, all, func() error {
		if to == "" {
			return arg.Usagef("--to is required: the queue, such as --to slow")
		}
		return nil
	}, func() []holdfast.EnqueueOption { return []holdfast.EnqueueOption{holdfast.Queue(to)} })
	cmd.Flags().StringVar(&to, "to", "", "the `QUEUE` to move them to")
	return cmd
}

func (a verbs) jobPrioritizeCommand() *cobra.Command {
	var to int
	all := &bulk{
		doing: "sets the priority of", done: "changed", otherwise: editable, accepts: editable,
		action: func() operation.Action { return operation.SetPriority(to) },
	}
	cmd := a.edits(&cobra.Command{
		Use:     "prioritize [ID...]",
		Short:   "Set the priority of jobs",
		Long:    `Set the priority of jobs that are not running and have not finished.`,
		Example: `  holdfast job prioritize --kind invoice --state available --to 1`,
	}, all, func() error {
		if to < 1 || to > 4 {
			return arg.Usagef("--to is required: the priority, from 1 (highest) to 4")
		}
		return nil
	}, func() []holdfast.EnqueueOption { return []holdfast.EnqueueOption{holdfast.Priority(to)} })
	cmd.Flags().IntVar(&to, "to", 0, "the priority `N`, from 1 (highest) to 4")
	return cmd
}

func (a verbs) jobRetagCommand() *cobra.Command {
	var add, drop []string
	all := &bulk{
		doing: "tags", done: "changed", otherwise: arg.States, accepts: arg.States,
		action: func() operation.Action { return operation.Retag(add, drop) },
	}
	all.change = func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
		return editEach(ctx, client, ids, func(id holdfast.ID) error { return client.EditTags(ctx, *all.reason, id, add, drop) })
	}
	cmd := a.edits(&cobra.Command{
		Use:     "retag [ID...]",
		Short:   "Add tags to many jobs, or remove some",
		Long:    `Add the tags of --add to jobs, in any state, and remove those of --remove. "job tag" is for one job.`,
		Example: `  holdfast job retag --state failed --kind mail --since 24h --add outage`,
	}, all, func() error {
		if len(add)+len(drop) == 0 {
			return arg.Usagef("--add or --remove is required")
		}
		return nil
	}, nil)
	arg.TextsVar(cmd.Flags(), &add, "add", nil, "add `TAG`; repeatable")
	arg.TextsVar(cmd.Flags(), &drop, "remove", nil, "remove `TAG`; repeatable")
	return cmd
}

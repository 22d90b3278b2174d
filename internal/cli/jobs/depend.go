package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
)

// dependFlags say after which jobs another one comes.
type dependFlags struct {
	ids     []string
	failure string
}

// add adds them; name is that of the flag with the jobs.
func (f *dependFlags) add(cmd *cobra.Command, name, usage string) {
	flags := cmd.Flags()
	arg.TextsVar(flags, &f.ids, name, nil, usage)
	app.TakesID(flags, name)
	flags.StringVar(&f.failure, "on-failure", "cancel",
		"with --"+name+": `ACTION` if one of those jobs fails or is cancelled: cancel the job, run it anyway, or hold it for a person; "+
			"only-failed and only-cancelled run it only then")
}

// read checks them.
func (f *dependFlags) read() (ids []holdfast.ID, policy store.FailurePolicy, err error) {
	if policy, err = store.ParseFailurePolicy(f.failure); err != nil {
		return nil, 0, arg.Usagef("--on-failure %q: must be cancel, run, hold, only-failed or only-cancelled", f.failure)
	}
	ids, err = arg.ParseIDs(f.ids)
	return ids, policy, err
}

// option is that of an enqueue.
func (f *dependFlags) option(given func(string) bool) ([]holdfast.EnqueueOption, error) {
	if !given("after") {
		if given("on-failure") {
			return nil, arg.Usagef("--on-failure requires --after")
		}
		return nil, nil
	}
	ids, policy, err := f.read()
	if err != nil {
		return nil, err
	}
	lets := map[store.FailurePolicy]func(...holdfast.ID) holdfast.EnqueueOption{
		store.CancelIfFailed: after.Completed, store.RunIfFailed: after.Finished, store.HoldIfFailed: after.CompletedOrHeld,
		store.OnlyIfFailed: after.Failed, store.OnlyIfCancelled: after.Cancelled,
	}
	return []holdfast.EnqueueOption{lets[policy](ids...)}, nil
}

// follow are the options of follow-ups, by the end that they are for.
var follow = map[string]func(holdfast.BatchItem) holdfast.EnqueueOption{
	"completed": after.Success, "failed": after.Failure, "cancelled": after.Cancel, "any": after.End,
}

// followUps reads follow-ups such as failed=alert:{"to":"ops"}.
func followUps(given []string) (opts []holdfast.EnqueueOption, err error) {
	for _, text := range given {
		end, what, is := strings.Cut(text, "=")
		option := follow[end]
		if !is || option == nil {
			return nil, arg.Usagef("--follow %q: must begin with completed=, failed=, cancelled= or any=", text)
		}
		kind, args, has := strings.Cut(what, ":")
		if !has {
			args = "{}"
		}
		if kind == "" || !json.Valid([]byte(args)) {
			return nil, arg.Usagef("--follow %q: must be END=KIND or END=KIND:ARGS, and ARGS is JSON", text)
		}
		opts = append(opts, option(anyKind(kind).Item(json.RawMessage(args))))
	}
	return opts, nil
}

// whyNotDependent is the error of a job that cannot wait for another one, without its own id,
// which is printed before it.
func whyNotDependent(err error) error {
	fault, is := errors.AsType[*store.DependencyError](err)
	switch {
	case !is:
		return err
	case fault.Fault == store.MissingPredecessor:
		return fmt.Errorf("there is no job %s in this namespace", fault.On)
	case fault.On == fault.Job:
		return errors.New("it cannot come after itself")
	case fault.Fault == store.CyclicDependency:
		return fmt.Errorf("job %s waits for it", fault.On)
	}
	return fmt.Errorf("it would wait for more than %d jobs", store.MaxDependencies)
}

func (a verbs) jobDependCommand() *cobra.Command {
	var f dependFlags
	cmd := &cobra.Command{
		Use:   "depend ID",
		Short: "Let a job wait for other jobs",
		Long: `Let a job that has not started wait until other jobs have finished. What it waits for already stays;
for a job that it waits for already, --on-failure replaces what was said before. "job get" shows for
what a job waits, and "job resume" lets it run at once, whatever that is.`,
		Example: `  holdfast job depend ` + arg.ExampleID + ` --on 01936d3e-8b11-7d42-8c5f-0a6b7c8d9e0f
  holdfast job depend ` + arg.ExampleID + ` --on 01936d3e-8b11-7d42-8c5f-0a6b7c8d9e0f --on-failure hold`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if _, err := arg.ParseID(args[0]); err != nil {
				return err
			}
			on, policy, err := f.read()
			if err != nil {
				return err
			}
			if len(on) == 0 {
				return arg.Usagef("%s needs --on: the jobs to wait for", arg.Verb(cmd))
			}
			return a.change(ctx, args, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				state, err := after.Add(ctx, client, ids[0], policy, on...)
				switch {
				case err != nil:
					return []changed{{err: whyNotDependent(err)}}, nil
				case state == store.Waiting:
					return []changed{{state: state, words: "waits"}}, nil
				}
				return []changed{{state: state, words: "is " + state.String() + ": those jobs have finished"}}, nil
			})
		}),
	}
	f.add(cmd, "on", "wait for the job `ID`; repeatable")
	return arg.ByKey(cmd)
}

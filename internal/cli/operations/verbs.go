package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// verbs has the verbs on operations.
type verbs struct{ *app.App }

// Command is the command on operations.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("operation", "Show and cancel changes of many jobs",
		`Show and cancel operations, which change all jobs that a filter selects: "job cancel", "job retry"
and others start one when filters select more than a thousand jobs. An operation is a job, and goes
on whatever becomes of the command.`,
		`  holdfast operation list
  holdfast operation follow `+arg.ExampleID)
	cmd.Aliases = []string{"operations"}
	cmd.AddCommand(v.listCommand(), v.getCommand(), v.followCommand(), v.cancelCommand())
	return cmd
}

// uses are the global flags of a verb whose output has ids.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
}

// Names are the ids of the operations that have not ended and are not in args.
func Names(ctx context.Context, client *holdfast.Client, args []string) (found []string, err error) {
	page, err := operation.List(ctx, client, "", 100, arg.Unfinished...)
	for i := range page.Operations {
		if id := page.Operations[i].ID.String(); !slices.Contains(args, id) {
			found = append(found, id)
		}
	}
	return found, err
}

// with opens the database for a verb on the operation that is its first argument.
func (a verbs) with(work func(ctx context.Context, client *holdfast.Client, id holdfast.ID) error) func(*cobra.Command, []string) error {
	return a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
		id, err := arg.ParseOperationID(args[0])
		if err != nil {
			return err
		}
		return a.WithClient(ctx, func(client *holdfast.Client) error {
			return explain(client, id, work(ctx, client, id))
		})
	})
}

// explain says what to do about an error of the library about an operation.
func explain(client *holdfast.Client, id holdfast.ID, err error) error {
	switch {
	case errors.Is(err, holdfast.ErrNotFound):
		return fmt.Errorf("no such operation in namespace %q: %s; \"holdfast operation list\" lists them", client.Namespace(), id)
	case errors.Is(err, holdfast.ErrConflict):
		return fmt.Errorf("job %s is no operation; \"holdfast operation list\" lists them", id)
	}
	return err
}

func (a verbs) getCommand() *cobra.Command {
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "get OPERATION",
		Short: "Show an operation",
		Long: `Show an operation: what it does to which jobs, how far it is, and the first 20 jobs that it could
not change. "job why" says why it has not begun.`,
		Example: `  holdfast operation get ` + arg.ExampleID + `
  holdfast operation get ` + arg.ExampleID + ` --watch`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseOperationID(args[0])
			if err != nil {
				return err
			}
			return a.ShowUntil(ctx, &watch, func(client *holdfast.Client) (ended bool, err error) {
				o, err := operation.Get(ctx, client, id)
				if err != nil {
					return false, explain(client, id, err)
				}
				return o.State.Finished(), a.Object(views.NewOperation(&o), func() { views.PrintOperation(&a.Printer, a.Env.Now(), &o) })
			})
		}),
	}
	watch.AddUntil(a.App, cmd, "the operation has ended")
	return cmd
}

func (a verbs) followCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "follow OPERATION",
		Short: "Wait for an operation, and show how far it is",
		Long: `Wait until an operation has ended, show how far it is on a terminal, and print what it has done. The
exit code is 0 if it came to its end, and 1 if it failed or was cancelled. An interrupt ends the
command and not the operation.`,
		Example:     `  holdfast operation follow ` + arg.ExampleID,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.with(func(ctx context.Context, client *holdfast.Client, id holdfast.ID) error {
			return Follow(ctx, a.App, client, id)
		}),
	}
}

// Follow waits for an operation, shows how far it is, and prints it.
func Follow(ctx context.Context, a *app.App, client *holdfast.Client, id holdfast.ID) error {
	o, err := operation.Get(ctx, client, id)
	if err != nil {
		return err
	}
	total := -1
	if o.Expected > 0 {
		total = o.Expected
	}
	progress, down := a.NewCount(total, "jobs"), a.NewOutage()
	for looks := 0; !o.State.Finished(); looks++ {
		progress.Done(o.Counts.Matched)
		if err := app.PauseFor(ctx, app.LastLook); err != nil {
			progress.Close()
			a.Notef("The operation goes on; see \"%s operation follow %s\", or stop it by \"operation cancel\".", a.Program(), id)
			return err
		}
		if looks == waitsAfter && o.Counts.Matched == 0 {
			tellWhy(ctx, a, client, id)
		}
		now, err := operation.Get(ctx, client, id)
		if down.Passes(ctx, err) {
			continue
		}
		if err != nil {
			progress.Close()
			return err
		}
		down.Over()
		o = now
	}
	progress.Close()
	if err := a.Object(views.NewOperation(&o), func() { a.Printf("%s: %s", o.Action, o.Counts) }); err != nil {
		return err
	}
	if o.State != store.Completed {
		return app.ExitWith(app.ExitError, fmt.Sprintf("operation %s is %s (%s): %s", id, o.State, o.Reason, output.OneLine(o.Error)))
	}
	if n := o.Counts.Refused; n > 0 {
		text := output.Plural(n, "job") + " not changed"
		if len(o.Refusals) > 0 {
			text += "; the first: " + output.OneLine(o.Refusals[0].Error)
		}
		return app.ExitWith(app.ExitError, text)
	}
	return nil
}

// waitsAfter is after how many looks it is said why an operation has not begun.
const waitsAfter = 2

// tellWhy says why an operation has not begun.
func tellWhy(ctx context.Context, a *app.App, client *holdfast.Client, id holdfast.ID) {
	if why, err := client.Why(ctx, id); err == nil && !why.State.Finished() {
		a.Notef("The operation is %s: %s", why.State, output.OneLine(why.String()))
	}
}

func (a verbs) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel OPERATION",
		Short: "Cancel an operation",
		Long: `Cancel an operation: one that waits at once, and one that runs after the page of jobs that it is at.
What it has changed stays changed; "operation get" says how far it came.`,
		Example:     `  holdfast operation cancel ` + arg.ExampleID + ` --reason "wrong filter"`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.with(func(ctx context.Context, client *holdfast.Client, id holdfast.ID) error {
			if err := operation.Stop(ctx, client, reason, id); err != nil {
				return err
			}
			o, err := operation.Get(ctx, client, id)
			if err != nil {
				return err
			}
			return a.Object(views.NewOperation(&o), func() {
				if o.State.Finished() {
					a.Printf("operation %s is %s; %s", id, o.State, o.Counts)
					return
				}
				a.Printf("operation %s ends soon; so far %s", id, o.Counts)
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the operation as the reason")
	return cmd
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	var states []string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List operations",
		Long: `List the operations of the namespace, the newest first, with how far they are. They are kept as long
as other jobs are.`,
		Example: `  holdfast operation list --state running
  holdfast operation list --output json | jq -r '.[] | select(.refused > 0).id'`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 1 {
				return arg.Usagef("--limit must be at least 1")
			}
			of, err := arg.ParseStates("state", states)
			if err != nil {
				return err
			}
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				for after := ""; out.Count < limit; {
					page, err := operation.List(ctx, client, after, min(limit-out.Count, 500), of...)
					if err != nil {
						return out.BreakOff(err)
					}
					for i := range page.Operations {
						o := &page.Operations[i]
						if err := out.Add(views.NewOperation(o), func() []string { return views.OperationRow(a.Env.Now(), o) }); err != nil {
							return err
						}
					}
					if after = page.Next; after == "" {
						break
					}
				}
				if out.Count == 0 && out.Format == output.FormatTable {
					a.Notef("No operations.")
				}
				return out.End()
			})
		}),
	}
	arg.TextsVar(cmd.Flags(), &states, "state", nil, "only operations in `STATE`, such as running; repeatable")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most `N` operations")
	columns.Add(cmd, views.Operation{}, views.OperationHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) jobListCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Long: `List jobs, newest first. Filters combine: a job must match one of the values of --state, of --queue
and of --kind, and all values of --tag.

The list omits results, attempts and actions; "job get" shows them.`,
		Example: `  holdfast job list
  holdfast job list --state failed --state cancelled --queue mail --limit 20
  holdfast job list --columns id,state,tags,created_at
  holdfast job list --all --output jsonl | jq -r 'select(.attempt > 3).id'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			filter, err := f.parse()
			if err != nil {
				return err
			}
			out, err := a.List(&f.columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				return a.listJobs(ctx, client, out, filter, f.most())
			})
		}),
	}
	f.add(cmd)
	return cmd
}

// listJobs lists at most that many jobs; 0: all.
func (a verbs) listJobs(ctx context.Context, client *holdfast.Client, out *output.List, filter store.Filter, most int) error {
	for after := ""; most == 0 || out.Count < most; {
		size := app.MaxPage
		if most > 0 {
			size = min(size, most-out.Count)
		}
		page, err := client.List(ctx, filter, after, size)
		if err != nil {
			return out.BreakOff(err)
		}
		for i := range page.Jobs {
			r := &page.Jobs[i]
			if err := out.Add(views.NewJob(r), func() []string { return views.JobRow(a.Env.Now(), r) }); err != nil {
				return err
			}
		}
		after = page.Next
		if after == "" {
			break
		}
		if most > 0 && out.Count == most {
			a.Notef("Showing the newest %d; use --limit or --all for more.", most)
		}
	}
	if out.Count == 0 && out.Format == output.FormatTable {
		a.Notef("No jobs found.")
	}
	return out.End()
}

func (a verbs) jobGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get ID",
		Short: "Show a job",
		Long: `Show a job: its state, why it is not running, its args and result, its failed attempts with their
errors and stacks, and what people did to it: who, when and why.`,
		Example: `  holdfast job get ` + arg.ExampleID + `
  holdfast job get ` + arg.ExampleID + ` --output json | jq .attempts`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				r, err := a.Find(ctx, client, id)
				if err != nil {
					return err
				}
				why, err := client.Why(ctx, id)
				if errors.Is(err, holdfast.ErrNotFound) {
					return fmt.Errorf("no such job: %s; it has just been removed", id)
				} else if err != nil {
					return err
				}
				return a.Object(views.NewWholeJob(&r, why.Causes), func() { views.PrintJob(&a.Printer, a.Env.Now(), &r, why.Causes) })
			})
		}),
	}
}

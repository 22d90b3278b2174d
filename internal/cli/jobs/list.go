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
		Long: `List jobs, newest first. Filters combine: a job must match one of the values of --state, of --queue,
of --kind and of --id, and all values of --tag, --metadata and --args.

A PATH is names of fields and numbers of elements, joined by dots, such as items.0.sku; a VALUE is
JSON, or else a text. --metadata and --args look at each job that the other filters select.

The list omits results, attempts and actions; "job get" shows them.`,
		Example: `  holdfast job list
  holdfast job list --state failed --state cancelled --queue mail --limit 20
  holdfast job list --state failed --since 24h --args customer.id=7
  holdfast job list --columns id,state,tags,created_at
  holdfast job list --all --output jsonl | jq -r 'select(.attempt > 3).id'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			filter, sort, err := f.parse(a.Env.Now())
			if err != nil {
				return err
			}
			out, err := a.List(&f.columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				return a.listJobs(ctx, client, out, listing{filter, sort, f.most()})
			})
		}),
	}
	f.add(cmd)
	return cmd
}

// listing is a list of jobs: which ones, in which order, and how many at most; 0: all.
type listing struct {
	filter store.Filter
	sort   store.Sort
	most   int
}

func (a verbs) listJobs(ctx context.Context, client *holdfast.Client, out *output.List, of listing) error {
	most := of.most
	for after := ""; most == 0 || out.Count < most; {
		size := app.MaxPage
		if most > 0 {
			size = min(size, most-out.Count)
		}
		page, err := client.ListBy(ctx, of.sort, of.filter, after, size)
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
			a.Notef("Showing the %s %d; use --limit or --all for more.", firstWords[of.sort], most)
		}
	}
	if out.Count == 0 && out.Format == output.FormatTable {
		a.Notef("No jobs found.")
	}
	return out.End()
}

// firstWords say which jobs come first in an order.
var firstWords = map[store.Sort]string{
	store.SortNewest: "newest", store.SortOldest: "oldest", store.SortRunAt: "next", store.SortFinished: "last",
}

func (a verbs) jobGetCommand() *cobra.Command {
	return arg.ByKey(&cobra.Command{
		Use:   "get ID",
		Short: "Show a job",
		Long: `Show a job: its state, why it is not running, its args and result, its failed attempts with their
errors and stacks, and what people did to it: who, when and why.`,
		Example: `  holdfast job get ` + arg.ExampleID + `
  holdfast job get --kind order --key order-42
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
	})
}

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
of --kind and of --id, and all values of --tag, --metadata and --args. --query says all of that in
one text, as the dashboard and the API do.

A PATH is names of fields and numbers of elements, joined by dots, such as items.0.sku; a VALUE is
JSON, or else a text. --metadata and --args look at each job that the other filters select.

The list omits results, attempts and actions; "job get" shows them.`,
		Example: `  holdfast job list
  holdfast job list --state failed --state cancelled --queue mail --limit 20
  holdfast job list --state failed --since 24h --args customer.id=7
  holdfast job list --query 'state:failed tag:urgent args.customer.id:7'
  holdfast job list --columns id,state,tags,created_at
  holdfast job list --state running --watch --interval 5s
  holdfast job list --all --output jsonl | jq -r 'select(.attempt > 3).id'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if _, _, err := f.parse(a.Env.Now()); err != nil {
				return err
			}
			return a.ShowList(ctx, &f.watch, &f.columns, func(client *holdfast.Client, out *output.List) error {
				filter, sort, err := f.parse(a.Env.Now()) // each time, so that "24h ago" moves on
				if err != nil {
					return err
				}
				return a.listJobs(ctx, client, out, listing{filter, sort, f.most()})
			})
		}),
	}
	f.add(a.App, cmd)
	return cmd
}

// listing is a list of jobs: which ones, in which order, and how many at most; 0: all.
type listing struct {
	filter store.Filter
	sort   store.Sort
	most   int
}

func (a verbs) listJobs(ctx context.Context, client *holdfast.Client, out *output.List, of listing) error {
	var unprinted error
	more, err := a.eachJob(ctx, client, of, func(r *store.Record) error {
		unprinted = out.Add(views.NewJob(r), func() []string { return views.JobRow(a.Env.Now(), r) })
		return unprinted
	})
	if err := listError(out, unprinted, err); err != nil {
		return err
	}
	if out.Format == output.FormatTable || out.Count > 0 {
		a.noteListed(of, out.Count, more)
	}
	return out.End()
}

// listError is why a list ends early: a job could not be printed, or the next ones not be read.
func listError(out *output.List, unprinted, err error) error {
	switch {
	case unprinted != nil:
		return unprinted
	case out.Count == 0 && errors.Is(err, holdfast.ErrInvalid): // no list was begun
		return arg.InvalidIsUsage(err)
	case err != nil:
		return out.BreakOff(err)
	}
	return nil
}

// eachJob calls visit for each job of a listing, and reports whether there are more of them than it
// wants.
func (a verbs) eachJob(
	ctx context.Context, client *holdfast.Client, of listing, visit func(*store.Record) error,
) (more bool, err error) {
	count := 0
	for after := ""; of.most == 0 || count < of.most; {
		size := app.MaxPage
		if of.most > 0 {
			size = min(size, of.most-count)
		}
		page, err := client.ListBy(ctx, of.sort, of.filter, after, size)
		if err != nil {
			return false, err
		}
		for i := range page.Jobs {
			if err := visit(&page.Jobs[i]); err != nil {
				return false, err
			}
		}
		count += len(page.Jobs)
		if after = page.Next; after == "" {
			return false, nil
		}
	}
	return true, nil
}

// noteListed says what a list does not show.
func (a verbs) noteListed(of listing, count int, more bool) {
	switch {
	case more:
		a.Notef("Showing the %s %d; use --limit or --all for more.", firstWords[of.sort], count)
	case count == 0:
		a.Notef("No jobs found.")
	}
}

// firstWords say which jobs come first in an order.
var firstWords = map[store.Sort]string{
	store.SortNewest: "newest", store.SortOldest: "oldest", store.SortRunAt: "next", store.SortFinished: "last",
}

func (a verbs) jobGetCommand() *cobra.Command {
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show a job",
		Long: `Show a job: its state, why it is not running, or that it has failed and keeps others waiting, its
args and result, its failed attempts with their errors and stacks, and what people did to it: who,
when and why.`,
		Example: `  holdfast job get ` + arg.ExampleID + `
  holdfast job get --kind order --key order-42
  holdfast job get ` + arg.ExampleID + ` --watch
  holdfast job get ` + arg.ExampleID + ` --output json | jq .attempts`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			return a.ShowUntil(ctx, &watch, func(client *holdfast.Client) (ended bool, err error) {
				r, err := a.Find(ctx, client, id)
				if err != nil {
					return false, err
				}
				return r.State.Finished(), a.printJob(ctx, client, &r)
			})
		}),
	}
	watch.AddUntil(a.App, cmd, "the job has finished")
	return arg.ByKey(cmd)
}

// printJob prints all of a job, and why it does not start, continue or end.
func (a verbs) printJob(ctx context.Context, client *holdfast.Client, r *store.Record) error {
	why, err := client.Why(ctx, r.ID)
	if errors.Is(err, holdfast.ErrNotFound) {
		return fmt.Errorf("no such job: %s; it has just been removed", r.ID)
	} else if err != nil {
		return err
	}
	a.HideRecord(r)
	return a.Object(views.NewWholeJob(r, why.Causes), func() { views.PrintJob(&a.Printer, a.Env.Now(), r, why.Causes) })
}

func (a verbs) jobWhyCommand() *cobra.Command {
	return arg.ByKey(&cobra.Command{
		Use:   "why ID",
		Short: "Explain why a job is not running",
		Long: `Explain why a job does not start, continue or end: what holds it up, the nearest cause first, each
with a code for programs and a sentence that says what to do about it.`,
		Example: `  holdfast job why ` + arg.ExampleID + `
  holdfast job why ` + arg.ExampleID + ` --output json | jq -r '.why[].code'`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				e, err := client.Why(ctx, id)
				if err != nil {
					return err
				}
				return a.Object(views.NewWhy(&e), func() { views.PrintWhy(&a.Printer, a.Env.Now(), &e) })
			})
		}),
	})
}

package dead

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// Command is the group of verbs.
func Command(to *app.App) *cobra.Command {
	a := verbs{to}
	group := app.Group("dead", "List, redrive, export and purge jobs that failed for good",
		"List, redrive, move, export and purge dead letters: jobs that have failed for good, in groups of\n"+
			"those that failed alike.", `  holdfast dead list
  holdfast dead redrive 5b3453c731669487 --rate 50/s`)
	group.AddCommand(a.listCommand(), a.getCommand(), a.redriveCommand(false), a.redriveCommand(true), a.purgeCommand(), a.exportCommand())
	return group
}

func (a verbs) listCommand() *cobra.Command {
	var flags filterFlags
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List groups of jobs that failed alike",
		Long: `List groups of dead letters, the one that failed last first: jobs of one kind that have failed for
good, for one reason and with errors that are alike but for numbers, ids, times, addresses and
quoted texts. Counting stops at 1000, shown as 1000+. The error is that of the last failure. Jobs
whose failure no run has reported have no fingerprint; theirs is "none".`,
		Example: `  holdfast dead list
  holdfast dead list --kind mail --output json | jq -r '.[].fingerprint'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if limit < 1 || limit > 10_000 {
				return arg.Usagef("--limit is %d, which is not between 1 and 10000", limit)
			}
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				return a.list(ctx, client, out, flags.filter, limit)
			})
		}),
	}
	flags.addGroups(cmd)
	cmd.Flags().IntVar(&limit, "limit", 100, "at most `N` groups")
	columns.Add(cmd, views.DeadGroup{}, views.DeadHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

func (a verbs) list(ctx context.Context, client *holdfast.Client, out *output.List, filter store.Filter, limit int) error {
	params := store.DeadParams{Filter: filter}
	for out.Count < limit {
		params.Limit = min(limit-out.Count, 1000)
		page, err := dead.Groups(ctx, client, params)
		if err != nil {
			return err
		}
		for i := range page.Groups {
			g := &page.Groups[i]
			name := fingerprint(g.Fingerprint)
			if err := out.Add(views.NewDeadGroup(g, name), func() []string { return views.DeadRow(a.Env.Now(), g, name) }); err != nil {
				return err
			}
		}
		if page.More {
			a.Notef("There are more than %d groups, of which only so many were looked at; --kind and --queue select some.", store.MaxDeadGroups)
		}
		if params.After = page.Next; page.Next == "" {
			break
		}
	}
	if out.Count == 0 && out.Format == output.FormatTable {
		a.Notef("There are no dead letters.")
	}
	return out.End()
}

func (a verbs) getCommand() *cobra.Command {
	var flags filterFlags
	var limit int
	cmd := &cobra.Command{
		Use:   "get FINGERPRINT...",
		Short: "List the jobs of groups, the last failure first",
		Long: `List the dead letters that have one of the fingerprints, the last failure first. "job get" shows
all of one.`,
		Example: `  holdfast dead get 5b3453c731669487
  holdfast dead get 5b3453c731669487 --output json | jq -r '.[].error'`,
		Args:        arg.Takes(1, 100),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, fingerprints []string) error {
			filter, err := flags.parse(cmd, fingerprints, a.Env.Now())
			if err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return arg.Usagef("--limit is %d, which is not between 1 and 1000", limit)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.members(ctx, client, filter, limit) })
		}),
	}
	flags.addGroups(cmd)
	flags.addAttributes(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "at most `N` jobs")
	return cmd
}

// members lists dead letters, page by page: one may have few, or none, although more follow.
func (a verbs) members(ctx context.Context, client *holdfast.Client, filter store.Filter, limit int) error {
	out := a.NewList(views.JobHeader...)
	for after := ""; ; {
		page, err := client.ListBy(ctx, store.SortFinished, filter, after, limit-out.Count)
		switch {
		case err != nil && out.Count > 0:
			return out.BreakOff(err)
		case err != nil:
			return arg.InvalidIsUsage(err)
		}
		for i := range page.Jobs {
			r := &page.Jobs[i]
			if err := out.Add(views.NewJob(r), func() []string { return views.JobRow(a.Env.Now(), r) }); err != nil {
				return err
			}
		}
		after = page.Next
		if after != "" && out.Count < limit {
			continue
		}
		if after != "" {
			a.Notef("There are more; --limit shows up to 1000, and \"dead export\" writes all.")
		}
		return out.End()
	}
}

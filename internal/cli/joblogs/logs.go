package joblogs

import (
	"context"
	"log/slog"
	"math"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/joblog"
)

// Command is the verb.
func Command(to *app.App) *cobra.Command {
	a := verbs{to}
	var (
		follow  bool
		attempt int
		level   string
		query   joblog.Query
	)
	cmd := &cobra.Command{
		Use:   "logs ID",
		Short: "Show what the handler of a job has logged",
		Long: `Show what the handler of a job has logged by run.Logger, in all of its attempts, oldest first.

Lines are stored every second and at the end of a run. Of a run the last 1,000 lines or 256 KiB are
kept; where older ones are missing, DROPPED says how many.

With --follow, print new lines until the job finishes, as a table or as lines of JSON.`,
		Example: `  holdfast job logs ` + arg.ExampleID + `
  holdfast job logs ` + arg.ExampleID + ` --attempt 2 --level warn
  holdfast job logs ` + arg.ExampleID + ` --follow --output jsonl | jq -r .message`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("attempt") && attempt < 1 {
				return arg.Usagef("--attempt is %d; the first attempt is 1", attempt)
			}
			query.Attempt, query.Level = attempt, slog.Level(math.MinInt)
			if level != "" {
				if err := query.Level.UnmarshalText([]byte(level)); err != nil {
					return arg.Usagef("--level %q is none of debug, info, warn and error", level)
				}
			}
			if follow {
				return a.followLogs(ctx, id, query)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				page, err := joblog.Read(ctx, client, id, query)
				if err != nil {
					return err
				}
				return a.printLogs(page.Lines)
			})
		}),
	}
	cmd.Flags().IntVar(&attempt, "attempt", 0, "only lines of this `ATTEMPT`, from 1 (default: of all)")
	cmd.Flags().StringVar(&level, "level", "", "only lines from this `LEVEL` on: debug, info, warn or error (default: all that are kept)")
	cmd.Flags().BoolVar(&follow, "follow", false, "print new lines until the job finishes")
	return arg.ByKey(cmd)
}

// printLogs writes lines that are all there are.
func (a verbs) printLogs(lines []joblog.Line) error {
	var header []string
	for _, c := range views.LogColumns {
		header = append(header, c.Name)
	}
	out := a.NewList(header...)
	for i := range lines {
		lines[i].Attrs = a.Hide(lines[i].Attrs, 0)
		if err := out.Add(&lines[i], func() []string { return views.LogRow(&lines[i]) }); err != nil {
			return err
		}
	}
	if out.Count == 0 {
		a.Notef("There are no lines: the handler has logged nothing by run.Logger that is kept, or not yet.")
	}
	return out.End()
}

// followLogs prints lines as they come, and returns when the job has finished. It polls at
// intervals that grow while nothing comes.
func (a verbs) followLogs(ctx context.Context, id holdfast.ID, query joblog.Query) error {
	out := a.NewTail(views.LogColumns...)
	if out == nil {
		return arg.Usagef("--follow cannot write %s, which is one value; use --output jsonl", a.Asked)
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		down := a.NewOutage()
		for interval := app.FirstLook; ; interval = min(2*interval, app.LastLook) {
			// In this order: what is read after the record has all that was stored before the end.
			record, err := a.Find(ctx, client, id)
			var page joblog.Page
			if err == nil {
				page, err = joblog.Read(ctx, client, id, query)
			}
			switch {
			case down.Passes(ctx, err):
				continue
			case err != nil:
				return err
			}
			down.Over()
			for i := range page.Lines {
				page.Lines[i].Attrs = a.Hide(page.Lines[i].Attrs, 0)
				if err := out.Add(&page.Lines[i], func() []string { return views.LogRow(&page.Lines[i]) }); err != nil {
					return err
				}
			}
			if record.State.Finished() {
				return nil
			}
			if query.After = page.Next; len(page.Lines) > 0 {
				interval = app.FirstLook
			}
			if err := app.PauseFor(ctx, interval); err != nil {
				return err
			}
		}
	})
}

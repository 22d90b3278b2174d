package schedules

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List schedules",
		Long: `List the schedules of the namespace, by name: when each fires, in words, and next, the job that it
has enqueued last, whether it is paused, and whether it differs from what code declares.`,
		Example: `  holdfast schedule list
  holdfast schedule list --output json | jq -r '.[] | select(.paused).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				return a.list(ctx, client, out)
			})
		}),
	}
	columns.Add(cmd, views.Schedule{}, views.ScheduleHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

// list writes all schedules, page by page.
func (a verbs) list(ctx context.Context, client *holdfast.Client, out *output.List) error {
	for after := ""; ; {
		page, err := schedule.List(ctx, client, after, app.MaxPage)
		if err != nil {
			return out.BreakOff(err)
		}
		now := a.Env.Now()
		for i := range page {
			s := &page[i]
			if err := out.Add(views.NewSchedule(s, now), func() []string { return views.ScheduleRow(now, s) }); err != nil {
				return err
			}
		}
		if len(page) < app.MaxPage {
			break
		}
		after = page[len(page)-1].Name
	}
	if out.Count == 0 && out.Format == output.FormatTable {
		a.Notef("No schedules yet; \"holdfast schedule create\" makes one, and programs may declare some.")
	}
	return out.End()
}

const (
	nextShown = 5  // times that "schedule get" shows
	runsShown = 10 // runs that it shows
)

func (a verbs) getCommand() *cobra.Command {
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "get SCHEDULE",
		Short: "Show a schedule",
		Long: `Show a schedule: its settings, when it fires, in words and as the next five times in its zone, the
next change of the clock that affects it, its last ten runs, and what differs from what code
declares.`,
		Example: `  holdfast schedule get nightly
  holdfast schedule get nightly --output json | jq -r '.next_times[0].local'`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Show(ctx, &watch, func(client *holdfast.Client) error {
				s, err := schedule.Get(ctx, client, args[0])
				if err != nil {
					return explain(client, args[0], err)
				}
				runs, err := schedule.Runs(ctx, client, args[0], store.ScheduleRun{}, runsShown)
				if err != nil {
					return err
				}
				now := a.Env.Now()
				next := views.NextOf(&s, now, nextShown)
				view := output.Hidden(&a.Printer, views.NewWholeSchedule(&s, now, next, runs))
				s.Job.Args, s.Job.Metadata = a.Hide(s.Job.Args, s.Job.Codec), a.Hide(s.Job.Metadata, 0)
				s.Job.Attributes = a.HideAttributes(s.Job.Attributes)
				return a.Object(view, func() { views.PrintSchedule(&a.Printer, now, &s, &view, next, runs) })
			})
		}),
	}
	watch.Add(a.App, cmd)
	return cmd
}

// runsFlags are the flags of "schedule runs".
type runsFlags struct {
	columns app.ColumnsFlag
	limit   int
	all     bool
}

func (a verbs) runsCommand() *cobra.Command {
	var f runsFlags
	cmd := &cobra.Command{
		Use:   "runs SCHEDULE",
		Short: "List what became of the times of a schedule",
		Long: `List what became of the nominal times of a schedule, the last one first: its job was enqueued
(fired), an earlier job was in the way (skipped; the job is that one), or it had passed and was not
made up for (missed). A number is that of the backfill or the trigger that has asked for the run. At
least the last 200 are kept.`,
		Example: `  holdfast schedule runs nightly
  holdfast schedule runs nightly --limit 1 --output id | xargs -r holdfast job get`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if f.limit < 1 {
				return arg.Usagef("--limit %d is not positive", f.limit)
			}
			out, err := a.List(&f.columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.runs(ctx, client, out, args[0], &f) })
		}),
	}
	f.columns.Add(cmd, views.ScheduleRun{}, views.ScheduleRunHeader...)
	cmd.Flags().IntVar(&f.limit, "limit", 50, "list at most `N` times")
	cmd.Flags().BoolVar(&f.all, "all", false, "list all times that are kept")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
	return cmd
}

func (a verbs) runs(ctx context.Context, client *holdfast.Client, out *output.List, name string, f *runsFlags) error {
	s, err := schedule.Get(ctx, client, name)
	if err != nil {
		return explain(client, name, err)
	}
	var last store.ScheduleRun
	more := false
	for {
		page, err := schedule.Runs(ctx, client, name, last, app.MaxPage)
		if err != nil {
			return out.BreakOff(err)
		}
		now := a.Env.Now()
		for i := range page {
			if more = !f.all && out.Count == f.limit; more {
				break
			}
			last = page[i]
			r := &page[i]
			if err := out.Add(views.NewScheduleRun(r), func() []string { return views.ScheduleRunRow(now, &s, r) }); err != nil {
				return err
			}
		}
		if more || len(page) < app.MaxPage {
			break
		}
	}
	switch {
	case out.Count == 0 && out.Format == output.FormatTable:
		a.Notef("No runs yet.")
	case more:
		a.Notef("Showing the last %d; use --limit or --all for more.", f.limit)
	}
	return out.End()
}

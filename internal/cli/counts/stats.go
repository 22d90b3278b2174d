package counts

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/stats"
)

// Command is the group of verbs.
func Command(to *app.App) *cobra.Command {
	a := verbs{to}
	group := app.Group("stats", "Show what happened to runs, and how nodes and the database do",
		"Show what happened to runs, minute by minute, and what nodes have measured of themselves and of the\n"+
			"database. Nodes write that down with their heartbeats: minutes are kept for 3 days, and then hours\n"+
			"for 90 days.", `  holdfast stats jobs --since 24h --step 1h
  holdfast stats nodes`)
	group.AddCommand(a.jobsCommand(), a.nodesCommand(), a.databaseCommand())
	return group
}

// window are the flags of a window.
type window struct {
	since, before string
	step          time.Duration
}

func (w *window) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.since, "since", "1h", "from this `TIME` on; a duration is how long ago, such as 24h")
	cmd.Flags().StringVar(&w.before, "before", "", "what was before this `TIME`, or longer ago (default: now)")
	cmd.Flags().DurationVar(&w.step, "step", 0,
		"tell each step of this `DURATION` apart, in whole minutes, such as 1m; of older than 3 days in hours (default: all together)")
}

func (w *window) parse(now time.Time) (parsed stats.Window, err error) {
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"since", w.since, &parsed.From}, {"before", w.before, &parsed.To}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = arg.ParseAgo(t.text, now); err != nil {
			return parsed, fmt.Errorf("--%s: %w", t.flag, err)
		}
	}
	parsed.Step = w.step
	return parsed, nil
}

func (a verbs) jobsCommand() *cobra.Command {
	var w window
	var by string
	var q stats.Query
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "jobs",
		Short: "Show how many runs started and ended, and how long that took",
		Long: `Show how many runs started, completed, failed, were retried or lost, by time, queue and kind: how
many ended per second, how long their jobs had been due when they started (WAIT), and how long they
took (RUN), as percentiles within 3 %. JSON has all counts. The last seconds may be missing: nodes
write with their heartbeats.`,
		Example: `  holdfast stats jobs
  holdfast stats jobs --since 24h --step 1h --by queue
  holdfast stats jobs --queue mail --step 1m --output json | jq '.[].run.p99_seconds'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) (err error) {
			apart, known := map[string]stats.By{"queue": stats.ByQueue, "kind": stats.ByKind, "both": stats.ByBoth, "none": stats.All}[by]
			if !known {
				return arg.Usagef("--by %q is none of queue, kind, both and none", by)
			}
			if _, err := w.parse(a.Env.Now()); err != nil {
				return err
			}
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				window, err := w.parse(a.Env.Now()) // each time, so that "24h ago" moves on
				if err != nil {
					return err
				}
				q.By, q.From, q.To, q.Step = apart, window.From, window.To, window.Step
				points, err := stats.Jobs(ctx, client, q)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				for i := range points {
					if err := out.Add(views.NewPoint(&points[i]), func() []string { return views.PointRow(&points[i]) }); err != nil {
						return err
					}
				}
				a.explainNone(out, "No run has started or ended in this time")
				return out.End()
			})
		}),
	}
	w.add(cmd)
	cmd.Flags().StringVar(&by, "by", "both", "tell runs apart by `WHAT`: queue, kind, both or none")
	cmd.Flags().StringVar(&q.Queue, "queue", "", "only jobs of `QUEUE`")
	cmd.Flags().StringVar(&q.Kind, "kind", "", "only jobs of `KIND`")
	columns.Add(cmd, views.Point{}, views.PointHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

// explainNone says why there may be nothing.
func (a verbs) explainNone(out *output.List, what string) {
	if out.Count == 0 && out.Format == output.FormatTable {
		a.Notef("%s, as far as nodes have told: they write with their heartbeats, so one has to have run then, such as "+
			`"holdfast dev", without the option stats.Off. --since 24h looks further back.`, what)
	}
}

func (a verbs) nodesCommand() *cobra.Command {
	return a.samples(measured{
		use: "nodes", short: "Show what nodes have measured of themselves",
		long: `Show what the nodes of the namespace have measured of themselves, the last of each node in the last
hour, or in each step: processors and memory, slots, and how long the last heartbeat took to the
database and back. What a system does not tell is left out.`,
		example: `  holdfast stats nodes
  holdfast stats nodes --step 5m --output jsonl`,
		header: views.NodeSampleHeader, row: views.NodeSampleRow, read: stats.Nodes,
	})
}

func (a verbs) databaseCommand() *cobra.Command {
	return a.samples(measured{
		use: "database", short: "Show what was measured of the database",
		long: `Show what the leader has measured of the database, the last in the last hour, or in each step: its
size, its write-ahead log, connections, and what is left on the disk. What the database does not
have, and what the role of the nodes must not see, is left out.`,
		example: `  holdfast stats database
  holdfast stats database --since 30d --step 24h`,
		header: views.DatabaseSampleHeader, row: views.DatabaseSampleRow, read: stats.Database,
	})
}

// measured is a verb that lists measurements.
type measured struct {
	use, short, long, example string

	header []string
	row    func(*stats.Sample) []string
	read   func(context.Context, *holdfast.Client, stats.Window) ([]stats.Sample, error)
}

func (a verbs) samples(m measured) *cobra.Command {
	var w window
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use: m.use, Short: m.short, Long: m.long, Example: m.example, Args: arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if _, err := w.parse(a.Env.Now()); err != nil {
				return err
			}
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				window, err := w.parse(a.Env.Now()) // each time, so that "24h ago" moves on
				if err != nil {
					return err
				}
				samples, err := m.read(ctx, client, window)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				for i := range samples {
					if err := out.Add(views.NewSample(&samples[i]), func() []string { return m.row(&samples[i]) }); err != nil {
						return err
					}
				}
				a.explainNone(out, "Nothing was measured in this time")
				return out.End()
			})
		}),
	}
	w.add(cmd)
	columns.Add(cmd, views.Sample{}, m.header...)
	watch.Add(a.App, cmd)
	return cmd
}

package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// round is one of the verbs that do maintenance once.
type round struct {
	verb, short, long string
	duties            []maintain.Duty
	budget            time.Duration
	retains           bool
}

var rounds = []round{
	{
		verb: "all", short: "Do all of the maintenance once", retains: true, budget: 30 * time.Second,
		long: `Do all of the maintenance that is to be done now, in all namespaces, and say what it was. Finished
jobs are removed only after the times that flags say, or the classes of retention that queues name.`,
	},
	{
		verb: "rescue", short: "Take jobs from nodes that have died", duties: []maintain.Duty{maintain.Rescue}, budget: 30 * time.Second,
		long: `Take the jobs of nodes that have died, so that others run them. Whether a node that has not signed
off is dead can only be told by watching it: for 10 seconds, or half of the time after which it
counts as dead. If another node leads, that does it, and only nodes that are known to be dead are
seen to here.`,
	},
	{
		verb: "promote", short: "Make due jobs available", duties: []maintain.Duty{maintain.Promote}, budget: time.Minute,
		long: `Make jobs available whose time has come: scheduled ones, retries, and those that have waited for a
rate, or for a time.`,
	},
	{
		verb: "schedules", short: "Enqueue the jobs of due schedules", duties: []maintain.Duty{maintain.Schedules}, budget: time.Minute,
		long: `Enqueue the jobs of schedules whose time has come, as a node that leads does: no time fires twice.`,
	},
	{
		verb: "settle", short: "Settle what cancels and ended jobs have left to do", budget: time.Minute,
		duties: []maintain.Duty{maintain.Settle},
		long: `Apply cancels that could not be applied at once, end the children of jobs that have ended, let jobs
go on that came after others, and call batches back.`,
	},
	{
		verb: "retain", short: "Remove finished jobs that are old enough", budget: 5 * time.Minute, retains: true,
		duties: []maintain.Duty{maintain.Retain},
		long: `Remove finished jobs that are older than flags say, or the classes of retention that queues name, in
all namespaces, and what else has a retention. At least one of --completed, --failed, --cancelled
and --audit has to be given: nothing says here for how long the programs that use the database keep
their jobs. On PostgreSQL, which drops days, jobs may stay for a day longer.`,
	},
}

func (a verbs) maintainCommand() *cobra.Command {
	group := app.Group("maintain", "Do the maintenance of a database once, or as a node of its own",
		`Do the maintenance of a database: rescue the jobs of dead nodes, make due jobs available, fire
schedules, settle what ended jobs have left to do, and remove what is old. Usually a node does it by
itself. These verbs are for where no node runs for long, for tests, and for operations. Each may be
used while nodes run.`, `  holdfast maintain all --completed 24h --failed 7d
  holdfast maintain node`)
	for _, r := range rounds {
		group.AddCommand(a.roundCommand(r))
	}
	group.AddCommand(a.maintainNodeCommand())
	return group
}

func (a verbs) roundCommand(r round) *cobra.Command {
	var budget time.Duration
	var k kept
	var files archiving
	example := "  holdfast maintain " + r.verb
	if r.retains {
		example += " --completed 24h --failed 7d"
	}
	cmd := &cobra.Command{
		Use: r.verb, Short: r.short, Long: r.long, Example: example + "\n  holdfast maintain " + r.verb + " --budget 20s --output json" +
			map[bool]string{true: " --completed 1h"}[r.verb == "retain"],
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			k.Stubs = files.stubs
			if err := cmp.Or(k.check(a), files.check(a)); err != nil {
				return err
			}
			switch {
			case budget <= 0:
				return arg.Usagef("--budget must be more than 0")
			case r.verb == "retain" && k.isEmpty():
				return arg.Usagef("say what is to be removed, with --completed, --failed, --cancelled or --audit")
			}
			opts, err := a.archiveTo(ctx, &files)
			if err != nil {
				return err
			}
			return a.maintainOnce(ctx, r, budget, append(opts, k.option()))
		}),
	}
	cmd.Flags().DurationVar(&budget, "budget", r.budget, "stop after this `DURATION`, whatever is left to do")
	if r.retains {
		k.add(cmd)
		files.add(cmd, "keep jobs in files in `DIR` before they are removed")
	}
	return cmd
}

func (a verbs) maintainOnce(ctx context.Context, r round, budget time.Duration, opts []holdfast.Option) (err error) {
	source, err := a.Source(dsn.NoMigrate())
	if err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(ctx, budget)
	client, err := a.OpenClient(opening, source, opts...)
	if err != nil && opening.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("the database did not answer within %v: %w", budget, err)
	}
	cancel()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.CloseClient(ctx, client)) }()
	report, err := maintain.Once(ctx, client, budget, r.duties...)
	if err != nil && report == (maintain.Report{More: report.More}) {
		return err
	}
	view := views.NewMaintained(report)
	if err := a.Object(view, func() { a.printMaintained(r, report) }); err != nil {
		return err
	}
	if ctx.Err() != nil && err == nil {
		return context.Cause(ctx)
	}
	return err
}

func (a verbs) printMaintained(r round, report maintain.Report) {
	var said []string
	for _, did := range []struct {
		duty maintain.Duty
		text string
	}{
		{maintain.Rescue, output.Plural(int(report.Rescued), "job") + " rescued, " + output.Plural(int(report.Died), "node") + " declared dead"},
		{maintain.Promote, output.Plural(int(report.Promoted), "job") + " made available"},
		{maintain.Schedules, output.Plural(int(report.Fired), "time") + " of schedules decided"},
		{maintain.Settle, output.Plural(int(report.Cancelled), "cancel") + " applied, " +
			output.Plural(int(report.Closed), "job") + " ended after others, " + output.Plural(int(report.Called), "batch call")},
		{maintain.Retain, output.Plural(int(report.Removed), "job") + " removed"},
	} {
		wanted := len(r.duties) == 0
		for _, d := range r.duties {
			wanted = wanted || d == did.duty
		}
		if wanted {
			said = append(said, did.text)
		}
	}
	a.Printf("%s", strings.Join(said, "\n"))
	if report.Doubtful > 0 {
		a.Notef("It could not be told whether %s: the budget was too small. Give a larger --budget, such as 30s.", liveOrDead(report.Doubtful))
	} else if report.More {
		a.Notef("There is more to do; call it again, or with a larger --budget.")
	}
}

func liveOrDead(nodes int) string {
	if nodes == 1 {
		return "1 node lives"
	}
	return output.Plural(nodes, "node") + " live"
}

// maintainOnly and noHandlers are those of nodes that claim no jobs but operations.
var maintainOnly = maintain.Only()

func noHandlers(*holdfast.Client) error { return nil }

func (a verbs) maintainNodeCommand() *cobra.Command {
	f := settings{keeps: &kept{}}
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Start a node that only maintains",
		Long: `Start a node that claims no jobs but operations, and does the maintenance of all namespaces if no
other node leads. While it leads, finished jobs are removed only after the times that flags say, or
the classes of retention that queues name. Like the other verbs, and unlike "worker", it does not
migrate.

On SIGTERM, SIGHUP or Ctrl-C it leaves.`,
		Example:     "  holdfast maintain node --completed 24h --failed 7d\n  holdfast maintain node --node-name 'maintainer-{host}'",
		Args:        arg.Takes(0, 0),
		Annotations: app.OwnPlace(app.ManyNamespaces(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet))),
		RunE: a.doServe(&f, func() (*serving, error) {
			source, err := a.Source(dsn.NoMigrate())
			return &serving{
				source: source, opts: []holdfast.Option{maintainOnly, f.keeps.option()}, register: noHandlers,
			}, err
		}),
	}
	f.addOfNode(a, cmd, app.LogText)
	return cmd
}

package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// leastInterval bounds how often a list is read again.
const leastInterval = 100 * time.Millisecond

// watchFlags are the flags of a list that is printed again and again.
type watchFlags struct {
	watch    bool
	interval time.Duration
}

func (f *watchFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.watch, "watch", false, "print the table again and again, until Ctrl-C")
	cmd.Flags().DurationVar(&f.interval, "interval", 2*time.Second, "with --watch: the time between two tables, a `DURATION`")
}

// check finds mistakes in the flags, and in the format, which is always a table.
func (f *watchFlags) check(a *app.App, cmd *cobra.Command) error {
	switch {
	case !f.watch && cmd.Flags().Changed("interval"):
		return arg.Usagef("--interval requires --watch")
	case f.interval < leastInterval:
		return arg.Usagef("--interval %v is less than %v", f.interval, leastInterval)
	case f.watch && a.Asked != "" && a.Asked != output.FormatTable:
		return arg.Usagef("--watch cannot write %s; use --output table", a.Asked)
	}
	if f.watch {
		a.Asked = output.FormatTable
	}
	return nil
}

// watchJobs prints a list until the user interrupts it, which is no error.
func (a verbs) watchJobs(ctx context.Context, f *listFlags) error {
	err := a.WithClient(ctx, func(client *holdfast.Client) error {
		down := a.NewOutage()
		for first := true; ; first = false {
			found, err := a.readWatched(ctx, client, f)
			switch {
			case down.Passes(ctx, err):
				continue
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return err
			}
			down.Over()
			if err := a.printWatched(f, found, first); err != nil {
				return err
			}
			if app.PauseFor(ctx, f.interval) != nil {
				return context.Cause(ctx)
			}
		}
	})
	if errors.Is(context.Cause(ctx), app.ErrInterrupted) {
		return nil
	}
	return err
}

// watched is a list as it was at one moment.
type watched struct {
	of   listing
	jobs []store.Record
	more bool
}

// readWatched reads the whole list before anything of it is printed: what the terminal shows stays
// there while the database is away. The filter is read each time, so that "24h ago" moves on.
func (a verbs) readWatched(ctx context.Context, client *holdfast.Client, f *listFlags) (w watched, err error) {
	filter, sort, err := f.parse(a.Env.Now())
	if err != nil {
		return w, err
	}
	w.of = listing{filter, sort, f.most()}
	w.more, err = a.eachJob(ctx, client, w.of, func(r *store.Record) error {
		w.jobs = append(w.jobs, *r)
		return nil
	})
	return w, err
}

// clearScreen moves the cursor to the top left and clears a terminal.
const clearScreen = "\x1b[H\x1b[2J"

// printWatched prints a list with its time: instead of what a terminal shows, or else after it.
func (a verbs) printWatched(f *listFlags, w watched, first bool) error {
	terminal := a.Env.Terminal(a.Env.Stdout)
	out, err := a.List(&f.columns)
	if err != nil {
		return err
	}
	before := ""
	switch {
	case terminal:
		before = clearScreen
	case !first:
		before = "\n"
	}
	now := a.Env.Now()
	a.Printf("%s%s", before, output.Clock(now))
	for i := range w.jobs {
		r := &w.jobs[i]
		if err := out.Add(views.NewJob(r), func() []string { return views.JobRow(now, r) }); err != nil {
			return err
		}
	}
	if err := errors.Join(out.End(), a.Flush()); err != nil {
		return err
	}
	if terminal || first { // the screen has lost what was said before
		a.noteListed(w.of, len(w.jobs), w.more)
	}
	return nil
}

package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// leastInterval bounds how often a verb looks again.
const leastInterval = 100 * time.Millisecond

// WatchFlags are the flags of a verb that can print what it shows again and again: as a table with
// its time, or as a line of JSON.
//
// A look is printed whole or not at all: what a terminal shows stays there while the database is
// away, and a line is always one document.
type WatchFlags struct {
	watch    bool
	interval time.Duration
}

// Add adds the flags to a verb, and tells of them in its help. It is called after the other
// settings of the verb.
func (f *WatchFlags) Add(a *App, cmd *cobra.Command) {
	f.add(a, cmd, "Ctrl-C", "It goes on while the database is away;\nCtrl-C ends it with exit code 0.")
}

// AddUntil is Add for what comes to an end, such as "the job has finished".
func (f *WatchFlags) AddUntil(a *App, cmd *cobra.Command, end string) {
	f.add(a, cmd, end+", or Ctrl-C", "It goes on while the database is away,\n"+
		"and ends when "+end+", however it ended, or at Ctrl-C, with exit code 0.")
}

func (f *WatchFlags) add(a *App, cmd *cobra.Command, until, ends string) {
	cmd.Flags().BoolVar(&f.watch, "watch", false, "print it again and again, until "+until)
	cmd.Flags().DurationVar(&f.interval, "interval", 2*time.Second, "with --watch: the time between two looks, a `DURATION`")
	cmd.Long += "\n\nWith --watch it is printed again every --interval: on a terminal instead of what was there before,\n" +
		"elsewhere below it; with --output json as one line each time. " + ends
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return f.check(a, cmd) }
}

// check finds mistakes in the flags, and in the format: what is printed again has to show where one
// look ends. It is a table unless JSON is asked for.
func (f *WatchFlags) check(a *App, cmd *cobra.Command) error {
	switch {
	case !f.watch && cmd.Flags().Changed("interval"):
		return arg.Usagef("--interval requires --watch")
	case f.interval < leastInterval:
		return arg.Usagef("--interval %v is less than %v", f.interval, leastInterval)
	case f.watch && a.Asked == "":
		a.Asked = output.FormatTable
	case f.watch && a.Asked != output.FormatTable && a.Asked != output.FormatJSON:
		return arg.Usagef("--watch cannot write %s; use --output table or json", a.Asked)
	}
	return nil
}

// Show prints what a verb shows: once, or with --watch until the user interrupts it.
func (a *App) Show(ctx context.Context, f *WatchFlags, look func(*holdfast.Client) error) error {
	return a.ShowUntil(ctx, f, func(client *holdfast.Client) (bool, error) { return false, look(client) })
}

// ShowList is Show for a verb that prints a list: each look has one of its own.
func (a *App) ShowList(
	ctx context.Context, f *WatchFlags, columns *ColumnsFlag, look func(*holdfast.Client, *output.List) error,
) error {
	if _, err := a.List(columns); err != nil { // before the database is opened
		return err
	}
	return a.Show(ctx, f, func(client *holdfast.Client) error {
		out, err := a.List(columns)
		if err != nil {
			return err
		}
		return look(client, out)
	})
}

// ShowUntil is Show for what comes to an end, which a look reports: the last look is printed, too.
func (a *App) ShowUntil(ctx context.Context, f *WatchFlags, look func(*holdfast.Client) (ended bool, err error)) error {
	if !f.watch {
		return a.WithClient(ctx, func(client *holdfast.Client) error {
			_, err := look(client)
			return err
		})
	}
	err := a.WithClient(ctx, func(client *holdfast.Client) error {
		return a.watch(ctx, f.interval, func() (bool, error) { return look(client) })
	})
	if errors.Is(context.Cause(ctx), ErrInterrupted) { // which is how it ends, and no error
		return nil
	}
	return err
}

// watch prints looks until one is the last, or ctx ends.
func (a *App) watch(ctx context.Context, interval time.Duration, look func() (bool, error)) error {
	down := a.NewOutage()
	for first := true; ; {
		seen, err := a.see(look)
		switch {
		case down.Passes(ctx, err):
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		down.Over()
		if err := a.printSeen(seen, first); err != nil || seen.last {
			return err
		}
		if first = false; PauseFor(ctx, interval) != nil {
			return context.Cause(ctx)
		}
	}
}

// seen is what a look has printed, which is not written yet.
type seen struct {
	data  []byte
	notes string
	last  bool
}

// see takes a look, and keeps what it prints and notes.
func (a *App) see(look func() (bool, error)) (s seen, err error) {
	var notes bytes.Buffer
	a.notes = &notes
	defer func() { a.notes = nil }()
	s.data, err = a.Hold(func() (err error) {
		s.last, err = look()
		return err
	})
	s.notes = notes.String()
	return s, err
}

// clearScreen moves the cursor to the top left and clears a terminal.
const clearScreen = "\x1b[H\x1b[2J"

// printSeen prints a look: a table with its time, instead of what a terminal shows, or else after
// it; or a line of JSON.
func (a *App) printSeen(s seen, first bool) error {
	table := a.Format() == output.FormatTable
	clears := table && a.Env.Terminal(a.Env.Stdout)
	text := bytes.NewBuffer(nil)
	switch {
	case !table:
		if err := json.Compact(text, s.data); err != nil {
			return err
		}
		text.WriteByte('\n')
	case clears:
		fmt.Fprintf(text, "%s%s\n%s", clearScreen, output.Clock(a.Env.Now()), s.data)
	case first:
		fmt.Fprintf(text, "%s\n%s", output.Clock(a.Env.Now()), s.data)
	default:
		fmt.Fprintf(text, "\n%s\n%s", output.Clock(a.Env.Now()), s.data)
	}
	if _, err := a.Write(text.Bytes()); err != nil {
		return err
	}
	if err := a.Flush(); err != nil {
		return err
	}
	if clears || first { // the screen has lost what was said before
		fmt.Fprint(a.Env.Stderr, s.notes)
	}
	return nil
}

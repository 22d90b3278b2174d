// Csvimport imports a large CSV file into a table, in the database that its jobs are in: all of it
// or nothing, each row once, and after a person has approved it.
//
//	go run ./examples/csvimport
//
// Kill it half way, with kill -9 if you like, and start it again: it goes on where it was, also
// when it waits for the approval or deletes what was refused. Start it in several terminals, and
// they share the work.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// options are what the command line says.
type options struct {
	database string
	dir      string
	rows     int
	seed     uint64
	slots    int
	chunk    int
	within   time.Duration
	approve  bool
	refuse   bool
}

func main() {
	var o options
	flag.StringVar(&o.database, "database", cmp.Or(os.Getenv("HOLDFAST_DATABASE"), "csv-import.db"), "a SQLite `file` or a postgres:// URL")
	flag.StringVar(&o.dir, "dir", filepath.Join(os.TempDir(), "holdfast-csvimport"),
		"the `directory` in which the file is generated, and kept for the next time")
	flag.IntVar(&o.rows, "rows", 200_000, "how many rows the file has")
	flag.Uint64Var(&o.seed, "seed", 1, "another `number` makes another file")
	flag.IntVar(&o.slots, "slots", 2, "how many regions this process imports at once")
	flag.IntVar(&o.chunk, "chunk", 2000, "how many rows to insert in a transaction")
	flag.DurationVar(&o.within, "within", time.Hour, "how long to wait for the approval")
	flag.BoolVar(&o.approve, "approve", false, "approve the import without asking")
	flag.BoolVar(&o.refuse, "refuse", false, "refuse the import without asking")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := o.run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "csvimport:", err)
		os.Exit(1)
	}
}

func (o options) check() error {
	switch {
	case o.rows < 1 || o.chunk < 1 || o.chunk > 100_000:
		return errors.New("there must be rows, and 1 to 100000 in a chunk")
	case o.approve && o.refuse:
		return errors.New("--approve and --refuse contradict each other")
	}
	return nil
}

func (o options) run(ctx context.Context, out io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	path, err := fileOf(o.dir, o.rows, o.seed)
	if err != nil {
		return err
	}
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	importQueue, regionQueue := queuesOf(sum)
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) // what goes wrong, and nothing else
	hf, to, err := open(ctx, o.database,
		holdfast.WithLogger(log),
		holdfast.WithQueue(importQueue, 0), holdfast.WithQueue(regionQueue, o.slots), // and no imports of files that are not here
		holdfast.WithLeases(500*time.Millisecond, 3*time.Second), // others soon take the work of a process that was killed
		holdfast.WithStopTimeout(time.Second),                    // a step is done sooner, and the rest can wait
		holdfast.WithRetention(store.Retention{Completed: -1}))   // what was imported is not to be imported again
	if err != nil {
		return err
	}
	defer func() { _ = to.close() }() // there is nothing left to be done
	defer hf.Close(context.WithoutCancel(ctx))

	job, err := ImportFile.Enqueue(ctx, hf, File{filepath.Base(path), sum, o.within}, holdfast.Queue(importQueue))
	if err != nil {
		return err
	}
	what := "new"
	if job.Existing {
		what = "known already"
	}
	fmt.Fprintf(out, "import %s of %s, %s\n", job.ID, path, what)

	im := &importer{path, o.chunk, to}
	if err := im.handle(hf); err != nil {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	go func() { stop(hf.Run(ctx)) }()

	regions, err := o.follow(working, hf, job, out)
	if _, ended := errors.AsType[*holdfast.JobError](err); ended {
		left, counting := to.count(ctx, job.ID)
		fmt.Fprintf(out, "the import has failed; %d of its rows are left in the table\n", left)
		return errors.Join(err, counting)
	}
	if err != nil {
		return cmp.Or(context.Cause(working), err)
	}
	printTotals(out, regions)
	return confirm(ctx, out, to, job.ID, path, regions)
}

// follow shows how the import goes, gets its approval, and waits for its end, whichever process
// brings it about.
func (o options) follow(ctx context.Context, hf *holdfast.Client, job *holdfast.Job[[]Regional], out io.Writer) ([]Regional, error) {
	showing, stop := context.WithCancel(ctx)
	var bar sync.WaitGroup
	bar.Go(func() { showProgress(showing, hf, job.ID, o.rows) })
	totals, err := hf.WaitPublished(ctx, job.ID, imported, 0)
	stop()
	bar.Wait()
	switch {
	case err == nil:
		err = o.decide(ctx, hf, job, totals.Value, out)
	case errors.Is(err, holdfast.ErrNotFound):
		err = nil // it has failed before
	}
	if err != nil {
		return nil, err
	}
	return job.Wait(ctx)
}

// decide sends the decision of the user at this terminal, if there is one, and if the import waits
// for it: it may have been made elsewhere.
func (o options) decide(
	ctx context.Context, hf *holdfast.Client, job *holdfast.Job[[]Regional], totals json.RawMessage, out io.Writer,
) error {
	record, err := job.Get(ctx)
	if err != nil || record.State.Finished() {
		return err
	}
	decision := Decision{Approved: o.approve, By: cmp.Or(os.Getenv("USER"), "somebody")}
	switch {
	case o.approve || o.refuse:
	case term.IsTerminal(int(os.Stdin.Fd())):
		var regions []Regional
		if err := json.Unmarshal(totals, &regions); err != nil {
			return err
		}
		fmt.Fprintln(out, "all rows are in the table, but not live:")
		printTotals(out, regions)
		ended, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			_, _ = job.Wait(ended) // only that it has ended is of interest here
			stop()
		}()
		var answered bool
		if decision.Approved, answered = ask(ended, os.Stdin, out); !answered {
			return nil
		}
	default:
		fmt.Fprintln(out, "all rows are in the table, but not live: start the program again with --approve or --refuse, now or later")
		return nil
	}
	// Of several decisions the first one counts, and after it the import does not listen any more.
	_, err = Decide.Send(ctx, hf, job.ID, decision, holdfast.DedupKey("decision"))
	if errors.Is(err, holdfast.ErrConflict) {
		return nil
	}
	return err
}

// confirm compares three accounts of an import: its own, a query's over the table, and the file's.
func confirm(ctx context.Context, out io.Writer, to *tables, job holdfast.ID, path string, regions []Regional) error {
	inTable, err := to.totals(ctx, job)
	if err != nil {
		return err
	}
	inFile, err := survey(path)
	if err != nil {
		return err
	}
	if !slices.Equal(regions, inTable) || !slices.Equal(regions, inFile) {
		fmt.Fprintln(out, "the table:")
		printTotals(out, inTable)
		fmt.Fprintln(out, "the file:")
		printTotals(out, inFile)
		return errors.New("the totals do not agree")
	}
	fmt.Fprintln(out, "the totals of the import, of the table and of the file agree")
	return nil
}

// Stdlibindex lists what the Go standard library exports: one job for each package, one JSON file
// at the end.
//
//	go run ./examples/stdlibindex
//
// Kill it half way, with kill -9 if you like, and start it again: it goes on where it was. With
// --database postgres://… start it in several terminals, and they share the work.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// Package says what a job is to index.
type Package struct {
	Path  string `json:"path"`
	Go    string `json:"go"` // the same path is another package in another version of Go
	Round int    `json:"round"`
}

// IndexPackage jobs are unique by their args, and stay so when they have completed: to enqueue one
// again is to find it, with its result.
var IndexPackage = holdfast.NewKind[Package, Exports]("index.package",
	holdfast.Unique{ByArgs: true, While: []store.State{store.Running, store.Retryable, store.Completed}})

func main() {
	database := flag.String("database", cmp.Or(os.Getenv("HOLDFAST_DATABASE"), "stdlib-index.db"), "a SQLite `file` or a postgres:// URL")
	out := flag.String("out", "stdlib-index.json", "the `file` to write")
	round := flag.Int("round", 1, "a new `number` indexes everything again")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *database, *out, *round)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdlibindex:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, database, out string, round int) error {
	source, err := dsn.Parse(database)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) // what goes wrong, and nothing else
	hf, err := holdfast.Open(ctx, source,
		holdfast.WithLogger(log),
		holdfast.WithSlots(runtime.NumCPU()),                   // parsing is all computing
		holdfast.WithRetention(store.Retention{Completed: -1})) // the results are the index: keep them
	if err != nil {
		return err
	}
	defer hf.Close(context.WithoutCancel(ctx))

	// What to do. A process that was killed may have said so already, or another one that runs now:
	// then these are its jobs.
	paths, err := packagesOf(library)
	if err != nil {
		return err
	}
	packages := make([]Package, len(paths))
	for i, path := range paths {
		packages[i] = Package{Path: path, Go: runtime.Version(), Round: round}
	}
	jobs, err := IndexPackage.EnqueueMany(ctx, hf, packages)
	if err != nil {
		return err
	}
	known := 0
	for _, job := range jobs {
		if job.Existing {
			known++
		}
	}
	fmt.Printf("%d packages, %d of them known to %s\n", len(jobs), known, source)

	// How to do it. Run makes this process a node: it runs jobs until ctx ends or the client is
	// closed.
	var here atomic.Int64
	if err := IndexPackage.Handle(hf, func(_ *holdfast.Run, p Package) (Exports, error) {
		here.Add(1)
		return exportsOf(library, p.Path)
	}); err != nil {
		return err
	}
	working, stop := context.WithCancelCause(ctx)
	go func() { stop(hf.Run(ctx)) }()

	// The results, in whichever process and when they were produced.
	exports, err := collect(working, jobs)
	if err != nil {
		return err
	}
	names, err := writeIndex(out, exports)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d exported names of %d packages, %d of them indexed by this process\n", out, names, len(jobs), here.Load())
	if known == len(jobs) && here.Load() == 0 {
		fmt.Printf("all of it had been done before; --round %d does it again\n", round+1)
	}
	return nil
}

// collect waits for all jobs. A thousand waits cost no more than one: they share their queries.
func collect(ctx context.Context, jobs []*holdfast.Job[Exports]) ([]Exports, error) {
	step := progress(len(jobs))
	exports, errs := make([]Exports, len(jobs)), make([]error, len(jobs))
	var waits sync.WaitGroup
	for i, job := range jobs {
		waits.Go(func() {
			exports[i], errs[i] = job.Wait(ctx)
			step()
		})
	}
	waits.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // not once for each job
	}
	return exports, errors.Join(errs...)
}

// Command bench measures Holdfast beside its peers and beside what the databases themselves can do.
//
//	./bench/run                                  # everything, on SQLite and on a PostgreSQL server of its own
//	./bench/run --quick                          # one small round, to see that it works
//	./bench/run --scenario drain,steady --store postgres --peer river --rounds 5 --json results.jsonl
//	./bench/run --list
//
// In each round every scenario runs for Holdfast and for each of its peers, one after the other,
// each in a new process on a new database, so that they meet the same machine. What a job costs is
// measured as well as how fast it is: on a machine where client and server share the cores, it is
// the steadier figure. Package scenario says what is counted, package system what a system has to
// be able to do; docs/performance.md has the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfastdev/holdfast/bench/internal/measure"
	"github.com/holdfastdev/holdfast/bench/internal/ours"
	"github.com/holdfastdev/holdfast/bench/internal/overhttp"
	"github.com/holdfastdev/holdfast/bench/internal/rawpg"
	"github.com/holdfastdev/holdfast/bench/internal/rawsqlite"
	"github.com/holdfastdev/holdfast/bench/internal/river"
	"github.com/holdfastdev/holdfast/bench/internal/riverpg"
	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := start(ctx)
	stop()
	os.Exit(status)
}

// start does what the program was started for, and returns its exit status.
func start(ctx context.Context) int {
	if measure.Serve(ctx, systems()) {
		return 0
	}
	s, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 64
	}
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// systems are those that this program can measure.
func systems() []system.System {
	return []system.System{
		ours.System{},
		overhttp.System{},
		riverpg.System{Label: scenario.River, With: river.Best},
		riverpg.System{Label: scenario.RiverDefault, With: river.Default},
		perStore{rawpg.System{Label: scenario.Raw}, rawsqlite.System{Label: scenario.Raw}},
		perStore{rawpg.System{Label: scenario.RawOwner, Owner: true}, rawsqlite.System{Label: scenario.RawOwner, Owner: true}},
	}
}

// perStore is one system on PostgreSQL and another on SQLite.
type perStore struct{ postgres, sqlite system.System }

func (p perStore) on(db system.Database) system.System {
	if db.Store == system.SQLite {
		return p.sqlite
	}
	return p.postgres
}

func (p perStore) Name() string { return p.postgres.Name() }

func (p perStore) Settings(db system.Database) map[string]string { return p.on(db).Settings(db) }

func (p perStore) Open(ctx context.Context, db system.Database, opts system.Options) (system.Client, error) {
	return p.on(db).Open(ctx, db, opts)
}

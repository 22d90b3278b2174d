// Command figures measures Holdfast on one database and prints the table of docs/performance.md.
//
//	cd bench/figures && go run . -database /tmp/figures.db
//	cd bench/figures && go run . -database 'postgres://…'
//
// Every figure counts what is durable: an insert is counted when Enqueue has returned, a drained job when its outcome was
// committed. The database should be empty, and nothing else should run on the machine.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func main() {
	log.SetFlags(0)
	database := flag.String("database", "figures.db", "SQLite file or postgres:// URL; best an empty one")
	jobs := flag.Int("jobs", 100_000, "how many jobs to drain")
	seconds := flag.Int("seconds", 8, "how long each timed scenario lasts")
	idle := flag.Int("idle", 60, "how long the idle node is watched, in seconds")
	rounds := flag.Int("rounds", 3, "how often each scenario runs; the medians are printed")
	runs := flag.Int("runs", 100_000, "how many runs wait in the scenario of waiting runs")
	slots := flag.Int("slots", 1000, "slots of the node in the throughput scenarios")
	only := flag.String("only", "", "run the scenarios whose name contains this")
	flag.Parse()
	b := &bench{
		ctx: context.Background(), database: *database, jobs: *jobs, slots: *slots, runs: *runs,
		span: time.Duration(*seconds) * time.Second, idleSpan: time.Duration(*idle) * time.Second,
	}
	if err := b.meter(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("go %s, %d cores, %s\n\n", runtime.Version(), runtime.GOMAXPROCS(0), b.describe())
	fmt.Println("| scenario | median | lowest – highest | CPU of the program, µs a job | disk, bytes a job |")
	fmt.Println("|---|---|---|---|---|")
	for _, s := range append(b.scenarios(), b.durable()...) {
		if !strings.Contains(s.name, *only) {
			continue
		}
		if err := b.report(s, *rounds); err != nil {
			log.Fatalf("%s: %v", s.name, err)
		}
	}
}

// report runs a scenario and prints its row.
func (b *bench) report(s scenario, rounds int) error {
	if s.once {
		rounds = 1
	}
	var results []result
	for range rounds {
		r, err := s.run()
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(x, y result) int { return int(1000 * (x.rate() - y.rate())) })
	mid := results[len(results)/2]
	low, high := results[0], results[len(results)-1]
	fmt.Printf("| %s | %s | %s – %s | %s | %s |\n", s.name, mid, low, high, mid.cpuText(), mid.diskText())
	return nil
}

// open opens the database with a node of the given size.
func (b *bench) open(slots int) (*holdfast.Client, error) {
	source, err := dsn.Parse(b.database)
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return holdfast.Open(b.ctx, source, holdfast.WithSlots(slots), holdfast.WithLogger(logger))
}

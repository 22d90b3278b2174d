// Command postgres is the prototype of Holdfast's hot path on PostgreSQL: enqueue, claim and finish as one statement
// each, on the real tables, in the variants that had to be decided by measurement. Each row of the table it prints is
// one variant; variants are interleaved over the rounds, and the median by CPU is shown.
//
//	go run . -dsn "host=/var/run/postgresql user=postgres" -rounds 3
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"sort"
	"strings"
	"text/tabwriter"
)

// variant is one way to run the same work.
type variant struct {
	name        string
	partitioned bool // job and finished by day
	join        bool // bodies in the claim statement
	twoQueries  bool // bodies by a second query
	lanes       int
	claimers    int
	batch       int    // jobs per enqueue, claim and finish
	jobs        int    // jobs in the run
	steady      bool   // producer, claimers at the same time; otherwise filled first
	analyze     bool   // ANALYZE after filling (drain) or before the start
	warmEmpty   bool   // statements are planned while the tables are empty, on the connections of the run
	settings    string // of the connections: "", "jit" (off), "pinned" (jit off, no seq or bitmap scan, hash or merge join, generic plans)
	tolerant    bool   // enqueue with ON CONFLICT
	mode        string // "", "pooler": no named statements, "prelude": the same, with the settings in the same round trip
	cut         int    // rows looked at per lane first; 0 means 2*batch/lanes+8
	random      bool   // finish in random order over several claims
}

// result is what one run cost.
type result struct {
	rate, serverCPU, clientCPU, wal float64
	insertCPU, insertWAL            float64
}

func main() {
	dsn := flag.String("dsn", "host=/var/run/postgresql user=postgres", "connection; the schema proto in it is made anew")
	rounds := flag.Int("rounds", 3, "rounds")
	only := flag.String("only", "", "run only variants whose name contains this")
	flag.Parse()
	ctx := context.Background()
	all := variants()
	results := make([][]result, len(all))
	for round := range *rounds {
		for i, v := range all {
			if !strings.Contains(v.name, *only) {
				continue
			}
			r, err := run(ctx, *dsn, v)
			if err != nil {
				log.Fatalf("%s: %v", v.name, err)
			}
			fmt.Fprintf(os.Stderr, "round %d %s: %.0f/s\n", round, v.name, r.rate)
			results[i] = append(results[i], r)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "variant\tjobs/s\tPG us\tclient us\tWAL B\tinsert PG us\tinsert WAL B")
	for i, v := range all {
		if len(results[i]) == 0 {
			continue
		}
		sort.Slice(results[i], func(a, b int) bool {
			return results[i][a].serverCPU+results[i][a].clientCPU < results[i][b].serverCPU+results[i][b].clientCPU
		})
		r := results[i][len(results[i])/2]
		fmt.Fprintf(w, "%s\t%.0f\t%.1f\t%.1f\t%.0f\t%.1f\t%.0f\n", v.name, r.rate, r.serverCPU, r.clientCPU, r.wal, r.insertCPU, r.insertWAL)
	}
	w.Flush()
}

func variants() []variant {
	base := variant{partitioned: true, join: true, lanes: 1, claimers: 1, batch: 500, jobs: 100_000, analyze: true}
	with := func(name string, change func(*variant)) variant {
		v := base
		v.name = name
		change(&v)
		return v
	}
	return []variant{
		with("drain", func(v *variant) {}),
		with("drain, jit off", func(v *variant) { v.settings = "jit" }),
		with("drain, pinned", func(v *variant) { v.settings = "pinned" }),
		with("drain, pinned, enqueue with ON CONFLICT", func(v *variant) { v.settings, v.tolerant = "pinned", true }),
		with("drain, pinned, plain tables", func(v *variant) { v.settings, v.partitioned = "pinned", false }),
		with("drain, pinned, bodies by 2nd query", func(v *variant) { v.settings, v.join, v.twoQueries = "pinned", false, true }),
		with("drain, pinned, bodies by 2nd query, plain", func(v *variant) { v.settings, v.join, v.twoQueries, v.partitioned = "pinned", false, true, false }),
		with("drain, pinned, no bodies", func(v *variant) { v.settings, v.join = "pinned", false }),
		with("drain, pinned, random finish", func(v *variant) { v.settings, v.random = "pinned", true }),
		with("drain, pinned, 20 lanes", func(v *variant) { v.settings, v.lanes = "pinned", 20 }),
		with("drain, pinned, 20 lanes, full look", func(v *variant) { v.settings, v.lanes, v.cut = "pinned", 20, v.batch }),
		with("drain, pinned, 4 claimers", func(v *variant) { v.settings, v.claimers = "pinned", 4 }),
		with("drain, pinned, 20 lanes, 4 claimers", func(v *variant) { v.settings, v.lanes, v.claimers = "pinned", 20, 4 }),
		with("drain, pinned, batch 60", func(v *variant) { v.settings, v.batch = "pinned", 60 }),
		with("drain, pinned, batch 1000", func(v *variant) { v.settings, v.batch = "pinned", 1000 }),
		with("drain, planned while empty", func(v *variant) { v.analyze, v.warmEmpty = false, true }),
		with("drain, planned while empty, pinned", func(v *variant) { v.analyze, v.warmEmpty, v.settings = false, true, "pinned" }),
		with("drain, never analysed, no named statements", func(v *variant) { v.analyze, v.mode = false, "pooler" }),
		with("drain, no named statements", func(v *variant) { v.mode = "pooler" }),
		with("drain, no named statements, jit off", func(v *variant) { v.mode, v.settings = "pooler", "jit" }),
		with("drain, never analysed, prelude", func(v *variant) { v.analyze, v.mode = false, "prelude" }),
		with("drain, prelude", func(v *variant) { v.mode = "prelude" }),
		with("drain, prelude, batch 5", func(v *variant) { v.mode, v.batch, v.jobs = "prelude", 5, 5000 }),
		with("drain, pinned, batch 5", func(v *variant) { v.settings, v.batch, v.jobs = "pinned", 5, 5000 }),
		with("steady 1+1", func(v *variant) { v.steady = true }),
		with("steady 1+1, pinned", func(v *variant) { v.steady, v.settings = true, "pinned" }),
		with("steady 1+1, pinned, random finish", func(v *variant) { v.steady, v.settings, v.random = true, "pinned", true }),
		with("steady 1+1, pinned, plain tables", func(v *variant) { v.steady, v.settings, v.partitioned = true, "pinned", false }),
		with("steady 1+1, pinned, 20 lanes", func(v *variant) { v.steady, v.settings, v.lanes = true, "pinned", 20 }),
		with("steady 1+4, pinned, 20 lanes", func(v *variant) { v.steady, v.settings, v.lanes, v.claimers = true, "pinned", 20, 4 }),
		with("single enqueue", func(v *variant) { v.batch, v.jobs = 1, 2000 }),
	}
}

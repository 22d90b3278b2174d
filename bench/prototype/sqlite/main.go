// Command sqlite measures the hot path of the SQLite store on three pure Go drivers: CPU per job (getrusage of the
// whole process, garbage collection included) and jobs per second. All variants run interleaved, round by round; the
// table shows the medians. CPU is the figure to trust: the machine is shared.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// variant is one row group of the table.
type variant struct {
	driver, synchronous string
	withoutRowid        bool
}

func (v variant) String() string {
	table := "rowid"
	if v.withoutRowid {
		table = "without rowid"
	}
	return fmt.Sprintf("%s | %s | %s", v.driver, v.synchronous, table)
}

// setting is what is the same for all variants of a run.
type setting struct {
	dir, extra, index string
	payload           int
}

// sample is one measurement of one case.
type sample struct{ cpu, rate float64 }

var cases = []string{"insert 1000", "insert 1", "claim 500", "finish 500", "cycle"}

func main() {
	rounds := flag.Int("rounds", 5, "how often each variant runs")
	jobs := flag.Int("jobs", 50000, "jobs of the batched cases; inserts of 1 are a tenth of it")
	only := flag.String("driver", "", "measure this driver only")
	payload := flag.Int("payload", 63, "bytes of a job's args")
	extra := flag.String("extra", "", "more SQL to run before the tables are made, such as a PRAGMA")
	index := flag.String("index", "", "more SQL to run after the tables are made, such as a CREATE INDEX")
	dir := flag.String("dir", os.TempDir(), "where the database files go; measure on a real disk")
	flag.Parse()

	var variants []variant
	for _, driver := range []string{"zombiezen", "modernc", "ncruces"} {
		if *only != "" && *only != driver {
			continue
		}
		for _, synchronous := range []string{"FULL", "NORMAL"} {
			for _, withoutRowid := range []bool{true, false} {
				variants = append(variants, variant{driver, synchronous, withoutRowid})
			}
		}
	}
	results := map[string][]sample{}
	for range *rounds {
		for _, v := range variants {
			measure(v, setting{*dir, *extra, *index, *payload}, *jobs, func(name string, s sample) {
				key := v.String() + name
				results[key] = append(results[key], s)
			})
		}
	}
	fmt.Printf("| driver | synchronous | job table | %s |\n|%s\n", strings.Join(cases, " | "), strings.Repeat("---|", 3+len(cases)))
	for _, v := range variants {
		fmt.Printf("| %s |", v)
		for _, name := range cases {
			cpu, rate := median(results[v.String()+name])
			fmt.Printf(" %.2f (%.0fk/s) |", cpu, rate/1000)
		}
		fmt.Println()
	}
}

// measure runs every case once on a fresh file.
func measure(v variant, with setting, jobs int, report func(string, sample)) {
	dir, err := os.MkdirTemp(with.dir, "holdfast-prototype-")
	must(err)
	defer os.RemoveAll(dir)
	c, err := drivers[v.driver](filepath.Join(dir, "holdfast.db"))
	must(err)
	defer c.close()
	h, err := newHotpath(c, v, with)
	must(err)

	h.enqueue(1000)
	h.finish(h.claim(1000)) // warm: statements compiled, the file has pages
	report("insert 1000", timed(jobs, func() {
		for range jobs / 1000 {
			h.enqueue(1000)
		}
	}))
	var taken [][]claimed
	report("claim 500", timed(jobs, func() {
		for range jobs / 500 {
			taken = append(taken, h.claim(500))
		}
	}))
	report("finish 500", timed(jobs, func() {
		for _, batch := range taken {
			h.finish(batch)
		}
	}))
	taken = nil
	report("insert 1", timed(jobs/10, func() {
		for range jobs / 10 {
			h.enqueue(1)
		}
	}))
	report("cycle", timed(jobs, func() {
		for range jobs / 500 {
			h.enqueue(500)
			h.finish(h.claim(500))
		}
	}))
}

func timed(jobs int, body func()) sample {
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	body()
	wall := time.Since(start)
	used := cpuTime() - cpu
	return sample{cpu: float64(used.Nanoseconds()) / 1e3 / float64(jobs), rate: float64(jobs) / wall.Seconds()}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(samples []sample) (cpu, rate float64) {
	by := func(pick func(sample) float64) float64 {
		values := make([]float64, len(samples))
		for i, s := range samples {
			values[i] = pick(s)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return by(func(s sample) float64 { return s.cpu }), by(func(s sample) float64 { return s.rate })
}

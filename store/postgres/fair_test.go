package postgres_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// keyed gives a job one of the keys, which take turns.
func keyed(key string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.FairKey = key }
}

// TestCursorsHideNoKey: while claims are full and go on from where they were, each key comes to its
// turn, although its job is newer than those of more lanes than claims come to.
func TestCursorsHideNoKey(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 4)
	enqueue(t, c.store, several(100, keyed("heavy"))...)
	n := 0
	enqueue(t, c.store, several(300, func(q *store.Enqueue) { q.Job.Queue = fmt.Sprint("q", n); n++ })...)
	c.claim()
	for i := range 6 { // of which this process hears nothing
		enqueue(t, c.other, newJob(keyed(fmt.Sprint("light-", i))))
	}
	c.clock.move(time.Second, 0) // the next claim looks at everything, and those after it do not
	light := map[string]bool{}
	for range 30 {
		for _, run := range c.runs() {
			light[run.Job.Options.FairKey] = true
		}
	}
	delete(light, "heavy")
	delete(light, "")
	if len(light) != 6 {
		t.Errorf("of 6 keys with one job %d were claimed", len(light))
	}
}

var readOf = regexp.MustCompile(`Index (?:Only )?Scan.* on ready .*rows=(\d+) loops=(\d+)`)

// TestFairClaimsReadLittle: a claim reads, of each key, little more than what it may take.
func TestFairClaimsReadLittle(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 100)
	for i := range 40 {
		enqueue(t, c.store, several(200, keyed(fmt.Sprint("key-", i)))...)
	}
	for limit, most := range map[int]int{1: 300, 100: 1200} {
		lines, err := postgres.FairPlan(t.Context(), c.store, demand(c.node, 1000, limit))
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for _, m := range readOf.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			rows, _ := strconv.Atoi(m[1])
			loops, _ := strconv.Atoi(m[2])
			read += rows * loops
		}
		if read == 0 || read > most {
			t.Errorf("a claim of %d read %d rows of ready, which are 8,000", limit, read)
		}
	}
}

//go:build unix

package sqlite_test

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// remembering is a store with a run of a job that remembers entries, each second one of which
// received a signal if signals is set.
func remembering(b *testing.B, entries int, signals bool) (store.Store, store.Claimed) {
	b.Helper()
	s, node := openBench(b, sqlite.Normal)
	if err := enqueue(b.Context(), s, 1); err != nil {
		b.Fatal(err)
	}
	claimed, err := claim(b.Context(), s, node, 1, 1)
	if err != nil || len(claimed) != 1 {
		b.Fatal(len(claimed), err)
	}
	run := claimed[0]
	remember(b, s, run, 0, entries, signals)
	return s, run
}

// remember appends entries, after a number of those that are there.
func remember(b *testing.B, s store.Store, run store.Claimed, after, entries int, signals bool) {
	b.Helper()
	const portion = 500
	data := bytes.Repeat([]byte("x"), 100)
	ref := int64(0)
	for from := after; from < after+entries; from += portion {
		a := &store.Append{Lease: run.Lease}
		batch := &store.Batch{Appends: []*store.Append{a}}
		for seq := from + 1; seq <= from+portion; seq++ {
			e := store.Entry{Seq: int64(seq), Kind: store.EntryStep, Path: strconv.Itoa(seq), Name: "charge", Data: data}
			if signals && seq%2 == 0 {
				ref++
				e.Kind, e.Ref = store.EntryReceived, ref
				message := store.Message{Kind: store.MessageSignal, Name: "go", Data: data}
				batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Key: strconv.Itoa(seq), Message: message})
			}
			a.Entries = append(a.Entries, e)
		}
		if err := store.ApplyEach(b.Context(), s, batch); err != nil || a.Err != nil {
			b.Fatal(err, a.Err)
		}
	}
}

// BenchmarkContinue: a run that remembers much continues as new. Nobody else writes meanwhile.
func BenchmarkContinue(b *testing.B) {
	for _, entries := range []int{100, benchsize.Of(10_000, 200), benchsize.Of(50_000, 1000)} {
		for _, signals := range []bool{false, true} {
			b.Run(fmt.Sprintf("normal/%d/signals=%t", entries, signals), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					s, run := remembering(b, entries, signals)
					o := &store.Outcome{Lease: run.Lease, State: store.Available, Durable: true, Continue: &store.Continue{}}
					b.StartTimer()
					if err := store.ApplyEach(b.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
						b.Fatal(err, o.Err)
					}
				}
			})
		}
	}
}

// BenchmarkContinueAgain: a run continues as new again and again, each time after 50,000 entries,
// half of which are items of a stream or values, and stay. What goes is removed each time: worst-ms
// is the longest transaction of that, but for what a look takes.
func BenchmarkContinueAgain(b *testing.B) {
	s, node := openBench(b, sqlite.Normal)
	if err := enqueue(b.Context(), s, 1); err != nil {
		b.Fatal(err)
	}
	last, worst := 0, time.Duration(0)
	for n := range b.N {
		b.StopTimer()
		claimed, err := claim(b.Context(), s, node, int64(10*n+1), 1)
		if err != nil || len(claimed) != 1 {
			b.Fatal(len(claimed), err)
		}
		speak(b, s, claimed[0], last, 50_000)
		last += 50_001
		o := &store.Outcome{Lease: claimed[0].Lease, State: store.Available, Durable: true, Continue: &store.Continue{}}
		b.StartTimer()
		if err := store.ApplyEach(b.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
			b.Fatal(err, o.Err)
		}
		b.StopTimer()
		for more := true; more; {
			began := time.Now()
			retained, err := s.Retain(b.Context(), store.Retention{Limit: 1})
			if err != nil {
				b.Fatal(err)
			}
			more, worst = retained.More, max(worst, time.Since(began))
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(worst.Microseconds())/1e3, "worst-ms")
}

// speak is remember for entries that others see: each fourth is an item of a stream, and each
// fourth a value of one of a thousand keys.
func speak(b *testing.B, s store.Store, run store.Claimed, after, entries int) {
	b.Helper()
	const portion = 500
	data := bytes.Repeat([]byte("x"), 100)
	for from := after; from < after+entries; from += portion {
		a := &store.Append{Lease: run.Lease}
		for seq := from + 1; seq <= from+portion; seq++ {
			e := store.Entry{Seq: int64(seq), Kind: store.EntryStep, Path: strconv.Itoa(seq), Name: "charge", Data: data}
			switch seq % 4 {
			case 0:
				e.Kind, e.Name = store.EntryPublished, fmt.Sprint("key", seq/4%1000)
			case 2:
				e.Kind, e.Name = store.EntryStreamed, "log"
			}
			a.Entries = append(a.Entries, e)
		}
		if err := store.ApplyEach(b.Context(), s, &store.Batch{Appends: []*store.Append{a}}); err != nil || a.Err != nil {
			b.Fatal(err, a.Err)
		}
	}
}

// BenchmarkFork: a job that remembers much is forked from its end. worst-ms is how long somebody
// else waited for a write of theirs.
func BenchmarkFork(b *testing.B) {
	for _, entries := range []int{100, benchsize.Of(10_000, 200), benchsize.Of(50_000, 1000)} {
		b.Run(fmt.Sprintf("normal/%d", entries), func(b *testing.B) {
			s, run := remembering(b, entries, true)
			stop, worst := make(chan struct{}), make(chan time.Duration)
			go func() {
				longest := time.Duration(0)
				for {
					select {
					case <-stop:
						worst <- longest
						return
					default:
					}
					began := time.Now()
					if err := enqueue(b.Context(), s, 1); err != nil {
						b.Error(err)
					}
					longest = max(longest, time.Since(began))
				}
			}()
			for b.Loop() {
				job := run.Job
				job.ID = uuid.Must(uuid.NewV7())
				if _, err := s.Fork(b.Context(), store.ForkParams{From: run.Job.ID, Keep: int64(entries), Job: job}); err != nil {
					b.Fatal(err)
				}
			}
			close(stop)
			b.ReportMetric(float64((<-worst).Microseconds())/1e3, "worst-ms")
		})
	}
}

package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// BenchmarkCycle takes jobs from enqueue to completion, in batches of several sizes. Beside the
// time it reports the CPU time of the server's processes, where they are on this machine, and the
// log that is written.
func BenchmarkCycle(b *testing.B) {
	for _, mode := range []string{"session", "pooler"} {
		for _, batch := range []int{1, 60, 500} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, batch), func(b *testing.B) {
				d := newBed(b, mode)
				d.measure("job", batch, func() {
					out := &store.Batch{}
					for _, run := range d.start(batch) {
						out.Outcomes = append(out.Outcomes, completed(run))
					}
					d.apply(out)
				})
			})
		}
	}
}

// BenchmarkEnqueue, BenchmarkClaim and BenchmarkComplete are one transaction of a job's life each,
// and nothing else: what the client allocates for so many jobs.
func BenchmarkEnqueue(b *testing.B) { alone(b, "enqueue") }

func BenchmarkClaim(b *testing.B) { alone(b, "claim") }

func BenchmarkComplete(b *testing.B) { alone(b, "complete") }

// alone measures one transaction of a job's life, without what comes before and after it.
func alone(b *testing.B, measured string) {
	for _, batch := range []int{1, 60, 500, 1000} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			d := newBed(b, "session")
			do := func(what string, f func()) {
				if what == measured {
					b.StartTimer()
					defer b.StopTimer()
				}
				f()
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				in, out := jobs(batch), &store.Batch{}
				do("enqueue", func() { d.apply(in) })
				var runs []store.Claimed
				do("claim", func() { runs = d.claim(batch) })
				for _, run := range runs {
					out.Outcomes = append(out.Outcomes, completed(run))
				}
				do("complete", func() { d.apply(out) })
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*batch), "us/job")
		})
	}
}

// BenchmarkRefused ends 100 runs in one batch, of which some have lost their leases.
func BenchmarkRefused(b *testing.B) {
	for _, lost := range []int{0, 1, 50} {
		b.Run(fmt.Sprintf("%d of 100", lost), func(b *testing.B) {
			d := newBed(b, "session")
			for b.Loop() {
				b.StopTimer()
				runs := d.start(100)
				first, all := &store.Batch{}, &store.Batch{}
				for i, run := range runs {
					if i < lost {
						first.Outcomes = append(first.Outcomes, completed(run))
					}
					all.Outcomes = append(all.Outcomes, completed(run))
				}
				d.apply(first)
				b.StartTimer()
				if err := store.ApplyEach(b.Context(), d.store, all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRetry ends runs with an error, and lets the jobs run again.
func BenchmarkRetry(b *testing.B) {
	for _, batch := range []int{1, 60, 500} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			d := newBed(b, "session")
			runs := d.start(batch)
			d.measure("retry", batch, func() {
				out := &store.Batch{}
				for _, run := range runs {
					out.Outcomes = append(out.Outcomes, &store.Outcome{
						Lease: run.Lease, State: store.Retryable, Reason: store.ReasonError, Error: "it broke",
					})
				}
				d.apply(out)
				if _, err := d.store.Promote(b.Context(), 1000); err != nil {
					b.Fatal(err)
				}
				runs = d.claim(batch)
			})
		})
	}
}

// BenchmarkJournal appends one entry each to the journals of several jobs.
func BenchmarkJournal(b *testing.B) {
	for _, mode := range []string{"session", "pooler"} {
		for _, batch := range []int{1, 60, 500} {
			b.Run(fmt.Sprintf("%s/batch=%d", mode, batch), func(b *testing.B) {
				d := newBed(b, mode)
				runs := d.start(batch)
				seq := int64(0)
				d.measure("append", batch, func() {
					seq++
					in := &store.Batch{}
					for _, run := range runs {
						in.Appends = append(in.Appends, &store.Append{Lease: run.Lease, Entries: []store.Entry{{
							Seq: seq, Kind: store.EntryStep, Path: "1", Name: "charge",
							Data: []byte(`{"order":"0198f2d4-7c1a-7d3e-9c55-1f2e3d4c5b6a","amount":12345}`),
						}}})
					}
					d.apply(in)
				})
			})
		}
	}
}

// BenchmarkJournals reads what several jobs remember, as their runs do when they begin, of jobs
// that never continued as new.
func BenchmarkJournals(b *testing.B) {
	for _, batch := range []int{1, 60} {
		for _, entries := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("batch=%d/entries=%d", batch, entries), func(b *testing.B) {
				d := newBed(b, "session")
				var ids []store.ID
				for _, run := range d.start(batch) {
					ids = append(ids, run.Job.ID)
					d.remember(run, entries, false)
				}
				d.measure("journal", batch, func() {
					if _, err := d.store.Journals(b.Context(), "", ids); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}

// BenchmarkContinue: a run that remembers much continues as new. The statements are the batch's,
// for which others of the process wait. BenchmarkFork copies as much; nobody waits for that.
func BenchmarkContinue(b *testing.B) {
	remembering(b, func(d *bed, run store.Claimed, _ int) {
		o := &store.Outcome{Lease: run.Lease, State: store.Available, Durable: true, Continue: &store.Continue{}}
		d.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
		d.StopTimer()
		d.apply(&store.Batch{Outcomes: []*store.Outcome{completed(d.claim(1)[0])}})
		d.StartTimer()
	})
}

// BenchmarkContinueAgain: a run continues as new again and again, each time after 50,000 entries,
// half of which are items of a stream or values, and stay.
func BenchmarkContinueAgain(b *testing.B) {
	d := newBed(b, "session")
	d.enqueue(1)
	last := 0
	for range b.N {
		b.StopTimer()
		run := d.claim(1)[0]
		d.speak(run, last, 50_000)
		last += 50_001
		o := &store.Outcome{Lease: run.Lease, State: store.Available, Durable: true, Continue: &store.Continue{}}
		b.StartTimer()
		d.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	}
}

func BenchmarkFork(b *testing.B) {
	remembering(b, func(d *bed, run store.Claimed, entries int) {
		job := run.Job
		job.ID, job.RunAt = uuid.Must(uuid.NewV7()), time.Now().Add(time.Hour)
		if _, err := d.store.Fork(b.Context(), store.ForkParams{From: run.Job.ID, Keep: int64(entries), Job: job}); err != nil {
			b.Fatal(err)
		}
	})
}

// remembering measures what f does with a run that remembers much.
func remembering(b *testing.B, f func(d *bed, run store.Claimed, entries int)) {
	for _, entries := range []int{100, benchsize.Of(10_000, 200), benchsize.Of(50_000, 1000)} {
		for _, signals := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/signals=%t", entries, signals), func(b *testing.B) {
				d := newBed(b, "session")
				for range b.N {
					b.StopTimer()
					run := d.start(1)[0]
					d.remember(run, entries, signals)
					b.StartTimer()
					f(d, run, entries)
				}
			})
		}
	}
}

func (d *bed) remember(run store.Claimed, entries int, signals bool) {
	data := bytes.Repeat([]byte("x"), 100)
	for seq := 1; seq <= entries; {
		batch := &store.Batch{}
		a := &store.Append{Lease: run.Lease}
		for ; len(a.Entries) < 500 && seq <= entries; seq++ {
			e := store.Entry{Seq: int64(seq), Kind: store.EntryStep, Path: strconv.Itoa(seq), Name: "charge", Data: data}
			if signals && seq%2 == 0 {
				e.Kind, e.Ref = store.EntryReceived, int64(seq/2)
				message := store.Message{Kind: store.MessageSignal, Name: "go", Data: data}
				batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Key: strconv.Itoa(seq), Message: message})
			}
			a.Entries = append(a.Entries, e)
		}
		batch.Appends = []*store.Append{a}
		d.apply(batch)
	}
}

// speak appends entries that others see: each fourth is an item of a stream, and each fourth a
// value of one of a thousand keys.
func (d *bed) speak(run store.Claimed, after, entries int) {
	data := bytes.Repeat([]byte("x"), 100)
	for seq := after + 1; seq <= after+entries; {
		a := &store.Append{Lease: run.Lease}
		for ; len(a.Entries) < 500; seq++ {
			e := store.Entry{Seq: int64(seq), Kind: store.EntryStep, Path: strconv.Itoa(seq), Name: "charge", Data: data}
			switch seq % 4 {
			case 0:
				e.Kind, e.Name = store.EntryPublished, fmt.Sprint("key", seq/4%1000)
			case 2:
				e.Kind, e.Name = store.EntryStreamed, "log"
			}
			a.Entries = append(a.Entries, e)
		}
		d.apply(&store.Batch{Appends: []*store.Append{a}})
	}
}

// BenchmarkWake parks runs, wakes them with a message each, and claims them again.
func BenchmarkWake(b *testing.B) {
	for _, batch := range []int{1, 60, 500} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			d := newBed(b, "session")
			runs := d.start(batch)
			seen := int64(0)
			d.measure("wake", batch, func() {
				out, in := &store.Batch{}, &store.Batch{}
				for _, run := range runs {
					out.Outcomes = append(out.Outcomes, parked(run, store.Wait{Seen: seen, Kinds: store.MessagesOf(store.MessageSignal)}))
					in.Sends = append(in.Sends, signal(run.Job.ID, "go"))
				}
				d.apply(out)
				d.apply(in)
				seen++
				runs = d.claim(batch)
			})
		})
	}
}

// bed is a store with a node, and what is needed to measure it.
type bed struct {
	*testing.B
	store store.Store
	conn  *pgx.Conn
	node  int64
	seq   int64
}

func newBed(b *testing.B, mode string) *bed {
	b.Helper()
	url, schema := pgtest.Shared(b).Schema(b)
	s, err := postgres.Config{URL: url, SchemaName: schema, NoSession: mode == "pooler"}.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	node, err := s.Join(b.Context(), store.NodeInfo{})
	if err != nil {
		b.Fatal(err)
	}
	return &bed{b, s, conn, node, 0}
}

func (d *bed) apply(batch *store.Batch) {
	d.Helper()
	if err := store.ApplyEach(d.Context(), d.store, batch); err != nil {
		d.Fatal(err)
	}
	for _, a := range batch.Appends {
		if a.Err != nil {
			d.Fatal(a.Err)
		}
	}
	for _, o := range batch.Outcomes {
		if o.Err != nil {
			d.Fatal(o.Err)
		}
	}
}

// start enqueues jobs and claims them.
func (d *bed) start(n int) []store.Claimed {
	d.Helper()
	d.enqueue(n)
	return d.claim(n)
}

func (d *bed) enqueue(n int) {
	d.Helper()
	d.apply(jobs(n))
}

func jobs(n int) *store.Batch {
	in := &store.Batch{}
	for range n {
		in.Enqueues = append(in.Enqueues, &store.Enqueue{Job: store.Job{
			ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, MaxAttempts: 25,
			Args: []byte(`{"order":"0198f2d4-7c1a-7d3e-9c55-1f2e3d4c5b6a","amount":12345}`),
		}})
	}
	return in
}

func (d *bed) claim(n int) []store.Claimed {
	d.Helper()
	d.seq += 20
	runs, err := d.store.Claim(d.Context(), demand(d.node, d.seq, n))
	if err != nil || len(runs) != n {
		d.Fatalf("claimed %d of %d, %v", len(runs), n, err)
	}
	return runs
}

// measure repeats f, which does n things, and reports what one of them costs.
func (d *bed) measure(what string, n int, f func()) {
	d.Helper()
	for range 8 {
		f()
	}
	d.ReportAllocs()
	wal, cpu := written(d.B, d.conn), serverCPU(d.B, d.conn)
	done := 0
	for d.Loop() {
		f()
		done += n
	}
	d.ReportMetric(float64(d.Elapsed().Microseconds())/float64(done), "us/"+what)
	d.ReportMetric((written(d.B, d.conn)-wal)/float64(done), "walB/"+what)
	if used := serverCPU(d.B, d.conn) - cpu; used > 0 {
		d.ReportMetric(used*1e6/float64(done), "serverCPUus/"+what)
	}
}

func written(b *testing.B, conn *pgx.Conn) (n float64) {
	b.Helper()
	if err := conn.QueryRow(b.Context(), "SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// serverCPU is the CPU time in seconds of the server's processes that live, by the proc file
// system; 0 where there is none.
func serverCPU(b *testing.B, conn *pgx.Conn) (seconds float64) {
	b.Helper()
	rows, err := conn.Query(b.Context(), "SELECT pid FROM pg_stat_activity")
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, field := range fields[11:13] {
			ticks, err := strconv.Atoi(field)
			if err != nil {
				b.Fatal(err)
			}
			seconds += float64(ticks) / 100
		}
	}
	return seconds
}

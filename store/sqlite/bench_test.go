//go:build unix

package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// cpu reports the CPU time per job of what it timed; the machine may be shared, so that this is the
// figure to compare.
func cpu(b *testing.B, jobs int, f func()) {
	b.Helper()
	b.ReportAllocs()
	before := cpuTime(b)
	b.ResetTimer()
	f()
	b.StopTimer()
	b.ReportMetric(float64(cpuTime(b)-before)/1e3/float64(jobs), "cpu-us/job")
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
}

func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

func openBench(b *testing.B, synchronous sqlite.Synchronous) (store.Store, int64) {
	source := sqlite.File(filepath.Join(b.TempDir(), "holdfast.db"))
	source.Synchronous = synchronous
	s, err := source.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	node, err := s.Join(b.Context(), store.NodeInfo{})
	if err != nil {
		b.Fatal(err)
	}
	return s, node
}

var modes = map[string]sqlite.Synchronous{"full": sqlite.Full, "normal": sqlite.Normal}

func BenchmarkEnqueue(b *testing.B) {
	for mode, synchronous := range modes {
		for _, size := range []int{1, 1000} {
			b.Run(fmt.Sprintf("%s/%d", mode, size), func(b *testing.B) {
				s, _ := openBench(b, synchronous)
				cpu(b, b.N*size, func() {
					for range b.N {
						if err := enqueue(b.Context(), s, size); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}

func BenchmarkCycle(b *testing.B) {
	for mode, synchronous := range modes {
		for _, size := range []int{1, 500} {
			b.Run(fmt.Sprintf("%s/%d", mode, size), func(b *testing.B) {
				s, node := openBench(b, synchronous)
				cpu(b, b.N*size, func() {
					for i := range b.N {
						cycle(b.Context(), b, s, node, int64(i)*10+1, size)
					}
				})
			})
		}
	}
}

// BenchmarkClaim claims, and nothing else.
func BenchmarkClaim(b *testing.B) { alone(b, "claim") }

// BenchmarkComplete ends runs, and nothing else.
func BenchmarkComplete(b *testing.B) { alone(b, "complete") }

// alone measures one transaction of a job's life, without what comes before and after it.
func alone(b *testing.B, measured string) {
	for _, size := range []int{1, 500} {
		b.Run(fmt.Sprintf("normal/%d", size), func(b *testing.B) {
			s, node := openBench(b, sqlite.Normal)
			do := func(what string, f func() error) {
				if what == measured {
					b.StartTimer()
					defer b.StopTimer()
				}
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for seq := int64(1); b.Loop(); seq += 10 {
				b.StopTimer()
				if err := enqueue(b.Context(), s, size); err != nil {
					b.Fatal(err)
				}
				var claimed []store.Claimed
				do("claim", func() (err error) {
					claimed, err = claim(b.Context(), s, node, seq, size)
					return err
				})
				batch := completed(claimed)
				do("complete", func() error { return store.ApplyEach(b.Context(), s, batch) })
				b.StartTimer()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*size), "us/job")
		})
	}
}

// BenchmarkAppend: each job of a batch remembers one step.
func BenchmarkAppend(b *testing.B) {
	for _, payload := range []int{100, 2000} {
		for _, size := range []int{1, 500} {
			b.Run(fmt.Sprintf("normal/%d/%d", payload, size), func(b *testing.B) {
				s, node := openBench(b, sqlite.Normal)
				if err := enqueue(b.Context(), s, size); err != nil {
					b.Fatal(err)
				}
				claimed, err := claim(b.Context(), s, node, 1, size)
				if err != nil || len(claimed) != size {
					b.Fatal(len(claimed), err)
				}
				data := bytes.Repeat([]byte("x"), payload)
				cpu(b, b.N*size, func() {
					for i := range b.N {
						batch := &store.Batch{}
						for _, c := range claimed {
							entry := store.Entry{Seq: int64(i) + 1, Kind: store.EntryStep, Path: "1", Name: "charge", Data: data}
							batch.Appends = append(batch.Appends, &store.Append{Lease: c.Lease, Entries: []store.Entry{entry}})
						}
						if err := store.ApplyEach(b.Context(), s, batch); err != nil || batch.Appends[0].Err != nil {
							b.Fatal(err, batch.Appends[0].Err)
						}
					}
				})
			})
		}
	}
}

// BenchmarkPark: jobs are parked, each gets the message that it waits for, and they are claimed
// again, in three transactions.
func BenchmarkPark(b *testing.B) {
	for _, size := range []int{1, 500} {
		b.Run(fmt.Sprintf("normal/%d", size), func(b *testing.B) {
			s, node := openBench(b, sqlite.Normal)
			if err := enqueue(b.Context(), s, size); err != nil {
				b.Fatal(err)
			}
			cpu(b, b.N*size, func() {
				for i := range b.N {
					claimed, err := claim(b.Context(), s, node, int64(i)*10+1, size)
					if err != nil || len(claimed) != size {
						b.Fatal(len(claimed), err)
					}
					park, send := &store.Batch{}, &store.Batch{}
					for _, c := range claimed {
						wait := &store.Wait{Seen: int64(i), Kinds: store.MessagesOf(store.MessageSignal)}
						park.Outcomes = append(park.Outcomes, &store.Outcome{Lease: c.Lease, State: store.Waiting, Wait: wait, Durable: true})
						message := store.Message{Kind: store.MessageSignal, Name: "go", Data: []byte(`{}`)}
						send.Sends = append(send.Sends, &store.Send{Job: c.Job.ID, Message: message})
					}
					for _, batch := range []*store.Batch{park, send} {
						if err := store.ApplyEach(b.Context(), s, batch); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		})
	}
}

// cycle is the life of size jobs: enqueued, claimed, completed, in three transactions.
func cycle(ctx context.Context, b *testing.B, s store.Store, node, seq int64, size int) {
	if err := enqueue(ctx, s, size); err != nil {
		b.Fatal(err)
	}
	claimed, err := claim(ctx, s, node, seq, size)
	if err != nil || len(claimed) != size {
		b.Fatal(len(claimed), err)
	}
	if err := store.ApplyEach(ctx, s, completed(claimed)); err != nil {
		b.Fatal(err)
	}
}

func completed(claimed []store.Claimed) *store.Batch {
	batch := &store.Batch{}
	for _, c := range claimed {
		batch.Outcomes = append(batch.Outcomes, &store.Outcome{Lease: c.Lease, State: store.Completed, Result: []byte(`{"ok":true}`)})
	}
	return batch
}

// BenchmarkRefused ends 100 runs in one batch, of which some have lost their leases.
func BenchmarkRefused(b *testing.B) {
	for _, lost := range []int{0, 1, 50} {
		b.Run(fmt.Sprintf("%d of 100", lost), func(b *testing.B) {
			s, node := openBench(b, sqlite.Full)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				if err := enqueue(b.Context(), s, 100); err != nil {
					b.Fatal(err)
				}
				claimed, err := claim(b.Context(), s, node, int64(i)*10+1, 100)
				if err != nil || len(claimed) != 100 {
					b.Fatal(len(claimed), err)
				}
				if err := s.Apply(b.Context(), completed(claimed[:lost])); err != nil {
					b.Fatal(err)
				}
				batch := completed(claimed)
				b.StartTimer()
				if err := store.ApplyEach(b.Context(), s, batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConfirm looks whether the database is still there, as after each commit.
func BenchmarkConfirm(b *testing.B) {
	s, _ := openBench(b, sqlite.Normal)
	b.ReportAllocs()
	for b.Loop() {
		if err := sqlite.Confirm(s); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGranted commits one job at a time, with the look and without it.
func BenchmarkGranted(b *testing.B) {
	for mode, synchronous := range modes {
		for name, granted := range map[string]bool{"looked for": false, "taken for granted": true} {
			b.Run(mode+"/"+name, func(b *testing.B) {
				s, _ := openBench(b, synchronous)
				if granted {
					sqlite.TakeForGranted(s)
				}
				cpu(b, b.N, func() {
					for range b.N {
						if err := enqueue(b.Context(), s, 1); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		}
	}
}

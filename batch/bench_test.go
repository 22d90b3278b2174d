package batch_test

import (
	"context"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkMembers enqueues 100,000 jobs and works them off, as members of a batch, which is called
// back, and as others.
func BenchmarkMembers(b *testing.B) {
	const jobs = 100_000
	for _, in := range []string{"none", "batch"} {
		b.Run(in, func(b *testing.B) {
			ctx := context.Background()
			c, err := holdfast.Open(ctx, sqlite.File(sqlitetest.File(b)), holdfast.WithSlots(100))
			if err != nil {
				b.Fatal(err)
			}
			ran := make(chan struct{}, jobs+1)
			if err := load.Handle(c, func(*holdfast.Run, string) (string, error) {
				ran <- struct{}{}
				return "", nil
			}); err != nil {
				b.Fatal(err)
			}
			items := make([]holdfast.BatchItem, jobs)
			for i := range items {
				items[i] = load.Item("")
			}
			if err := c.Start(ctx); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				work(ctx, b, c, in == "batch", items)
				for range jobs {
					<-ran
				}
			}
			if err := c.Close(ctx); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// work enqueues the jobs. Of a batch it waits for the end.
func work(ctx context.Context, b *testing.B, c *holdfast.Client, together bool, items []holdfast.BatchItem) {
	if !together {
		if _, err := c.EnqueueBatch(ctx, items); err != nil {
			b.Fatal(err)
		}
		return
	}
	made, err := batch.New(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := made.Add(ctx, items...); err != nil {
		b.Fatal(err)
	}
	if err := made.Close(ctx); err != nil {
		b.Fatal(err)
	}
	if _, err := made.Wait(ctx); err != nil {
		b.Fatal(err)
	}
}

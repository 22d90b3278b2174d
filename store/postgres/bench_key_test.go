package postgres_test

import (
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// BenchmarkKeys: enqueues with business keys, of which each takes a key of its own, or all find one
// held; without a signal, and with one.
func BenchmarkKeys(b *testing.B) {
	for _, signal := range []bool{false, true} {
		for _, fresh := range []bool{true, false} {
			for _, batch := range []int{1, 60} {
				b.Run(fmt.Sprintf("signal=%t/new=%t/batch=%d", signal, fresh, batch), func(b *testing.B) {
					d := newBed(b, "session")
					n := 0
					d.measure("job", batch, func() {
						in := jobs(batch)
						for _, q := range in.Enqueues {
							if n++; fresh {
								q.Job.Options.Key = fmt.Sprintf("order %d", n)
							} else {
								q.Job.Options.Key = "order"
							}
							if signal {
								q.Send = &store.Send{Message: store.Message{Kind: store.MessageSignal, Name: "paid", Data: []byte(`{"amount":1}`)}}
							}
						}
						d.apply(in)
						for _, q := range in.Enqueues {
							if q.Err != nil {
								b.Fatal(q.Err)
							}
						}
					})
				})
			}
		}
	}
}

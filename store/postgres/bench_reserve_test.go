package postgres_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// BenchmarkReserve takes permits of the rate of a limit for a step of a durable function, one after
// the other.
func BenchmarkReserve(b *testing.B) {
	url, schema := pgtest.Shared(b).Schema(b)
	s, err := postgres.Config{URL: url, SchemaName: schema}.Open(b.Context())
	must(b, err)
	defer func() { must(b, s.Close()) }()
	settings := store.LimitSettings{Uncapped: true, Rate: &store.Rate{Count: 10_000, Per: time.Second, Burst: 1000}}
	_, err = s.SaveLimit(b.Context(), store.Limit{Namespace: "default", Name: "partner", LimitSettings: settings}, 0, "")
	must(b, err)
	node, err := s.Join(b.Context(), store.NodeInfo{Name: "bench"})
	must(b, err)
	must(b, store.ApplyEach(b.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}}))
	runs, err := s.Claim(b.Context(), demand(node, 1, 1))
	must(b, err)
	seq := int64(0)
	for b.Loop() {
		seq++
		must(b, s.Reserve(b.Context(), &store.Reservation{
			Namespace: "default", Name: "partner", Say: func(*store.Reservation) {},
			Append: &store.Append{Lease: runs[0].Lease, Entries: []store.Entry{{Seq: seq, Kind: store.EntryStep, Name: "s"}}},
		}))
	}
}

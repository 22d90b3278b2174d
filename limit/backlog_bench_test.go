package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// keyedClient is a client, and its store.
func keyedClient(b *testing.B, on string) (*holdfast.Client, store.Store) {
	source := store.Source(sqlite.File(filepath.Join(b.TempDir(), "jobs.db")))
	if on == "postgres" {
		source = postgres.URL(pgtest.Shared(b).Database(b))
	}
	hf, err := holdfast.Open(b.Context(), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { hf.Close(context.WithoutCancel(b.Context())) })
	st, err := source.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	return hf, st
}

// enqueueKeyed enqueues batches of 500 jobs of so many keys in turn; 0: without a key.
func enqueueKeyed(b *testing.B, hf *holdfast.Client, n, keys int) {
	for n > 0 {
		var items []holdfast.BatchItem
		for ; n > 0 && len(items) < 500; n-- {
			opts := []holdfast.EnqueueOption{holdfast.Queue("mail")}
			if keys > 0 {
				opts = append(opts, limit.By("tenant", fmt.Sprint("key ", n%keys)))
			}
			items = append(items, light.Item(0, opts...))
		}
		if _, err := hf.EnqueueBatch(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEnqueueKeyed enqueues jobs without a key, and of 10,000 keys. An operation is one job.
func BenchmarkEnqueueKeyed(b *testing.B) {
	for _, on := range []string{"sqlite", "postgres"} {
		for _, keys := range []int{0, 10_000} {
			b.Run(fmt.Sprintf("%s/keys=%d", on, keys), func(b *testing.B) {
				hf, _ := keyedClient(b, on)
				b.ResetTimer()
				enqueueKeyed(b, hf, b.N, keys)
			})
		}
	}
}

// BenchmarkWaitingOfKeys counts the jobs of keys where so many jobs wait, ten of each key, all of
// them at once or key by key. An operation is one count.
func BenchmarkWaitingOfKeys(b *testing.B) {
	for _, on := range []string{"sqlite", "postgres"} {
		for _, waiting := range []int{1000, 10_000} {
			hf, st := keyedClient(b, on)
			enqueueKeyed(b, hf, waiting, waiting/10)
			for _, keys := range []int{1, 500} {
				for _, few := range []int{0, -1} {
					params := store.WaitingOfKeysParams{Namespace: "default", Queue: "mail", Most: 100, Few: few}
					for n := range min(keys, waiting/10) {
						params.Keys = append(params.Keys, store.KeyOfLimit{Limit: "tenant", Key: fmt.Sprint("key ", n)})
					}
					b.Run(fmt.Sprintf("%s/waiting=%d/keys=%d/few=%d", on, waiting, keys, few), func(b *testing.B) {
						for b.Loop() {
							if _, err := st.WaitingOfKeys(b.Context(), params); err != nil {
								b.Fatal(err)
							}
						}
					})
				}
			}
		}
	}
}

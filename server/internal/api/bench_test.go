package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

// BenchmarkEnqueue enqueues jobs one by one from 64 callers, without the network: without keys, and
// each with one.
func BenchmarkEnqueue(b *testing.B) {
	for _, database := range []string{"sqlite", "postgres"} {
		for _, keyed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/keyed=%v", database, keyed), func(b *testing.B) {
				source := filepath.Join(b.TempDir(), "api.db")
				if database == "postgres" {
					source = pgtest.Shared(b).Database(b)
				}
				client, err := holdfast.Open(b.Context(), sourceOf(source), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				defer client.Close(context.WithoutCancel(b.Context()))
				handler, err := server.Handler(client, server.Options{Authenticate: access.Anyone("tester")})
				if err != nil {
					b.Fatal(err)
				}
				var n atomic.Int64
				b.SetParallelism(32)
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/jobs", strings.NewReader(`{"kind":"mail","args":{"n":1}}`))
						r.Header.Set("Content-Type", "application/json")
						if keyed {
							r.Header.Set(keyHeader, strconv.FormatInt(n.Add(1), 10))
						}
						w := httptest.NewRecorder()
						if handler.ServeHTTP(w, r); w.Code != http.StatusCreated {
							b.Error(w.Code, w.Body)
							return
						}
					}
				})
			})
		}
	}
}

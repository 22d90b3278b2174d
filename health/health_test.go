package health_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/health"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// failing is a database that does not answer heartbeats while it has an error.
type failing struct {
	store.Source
	with *atomic.Pointer[error]
}

func (f failing) Open(ctx context.Context) (store.Store, error) {
	st, err := f.Source.Open(ctx)
	return failingStore{st, f.with}, err
}

type failingStore struct {
	store.Store
	with *atomic.Pointer[error]
}

func (f failingStore) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	if err := f.with.Load(); err != nil {
		return store.Beat{}, *err
	}
	return f.Store.Beat(ctx, p)
}

// TestProbes: what each answers while a node runs, while its database is away, and when it has
// ended.
func TestProbes(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]func(t *testing.T) store.Source{
		"sqlite": func(t *testing.T) store.Source { return sqlite.File(sqlitetest.File(t)) },
		"postgres": func(t *testing.T) store.Source {
			pgtest.InSoak(t)
			url, schema := pgtest.Shared(t).Schema(t)
			return postgres.Config{URL: url, SchemaName: schema}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var with atomic.Pointer[error]
			hf, err := holdfast.Open(t.Context(), failing{source(t), &with}, holdfast.WithLeases(20*time.Millisecond, 200*time.Millisecond),
				holdfast.WithLogger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := hf.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			kind := holdfast.NewTask[int]("k")
			if err := kind.Handle(hf, func(*holdfast.Run, int) error { return nil }); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.StripPrefix("/health", health.Handler(hf)))
			t.Cleanup(server.Close)
			want := func(state string, live, ready int, says string) {
				t.Helper()
				wantAnswers(t, server.URL+"/health", state, live, ready, says)
			}
			want("before the node runs", 200, 503, "no node is running")
			if err := hf.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			want("while it runs", 200, 200, "")
			with.Store(new(fmt.Errorf("%w: cut", store.ErrUnavailable)))
			want("while the database is away", 200, 503, "has not sent a heartbeat for")
			with.Store(nil)
			want("when it is back", 200, 200, "")
			with.Store(new(fmt.Errorf("%w: somebody removed it", store.ErrDatabaseGone)))
			want("when it is gone for good", 503, 503, "somebody removed it")
		})
	}
}

// wantAnswers waits until the probes answer like this.
func wantAnswers(t *testing.T, url, state string, live, ready int, says string) {
	t.Helper()
	late := time.NewTimer(5 * time.Minute)
	defer late.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		liveCode, _ := get(t, url+"/livez")
		readyCode, text := get(t, url+"/readyz")
		code, report := get(t, url+"/")
		var r health.Report
		if err := json.Unmarshal([]byte(report), &r); err != nil {
			t.Fatalf("%s: %q is no report: %v", state, report, err)
		}
		agrees := code == readyCode && (r.Error == nil) == (ready == 200) && (r.Error == nil || strings.Contains(*r.Error, says))
		if liveCode == live && readyCode == ready && strings.Contains(text, says) && agrees {
			return
		}
		select {
		case <-look.C:
		case <-late.C:
			t.Fatalf("%s: /livez %d, /readyz %d %q, / %d %s", state, liveCode, readyCode, text, code, report)
		}
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestOtherRequests: paths and methods that there are not.
func TestOtherRequests(t *testing.T) {
	hf, err := holdfast.Open(t.Context(), sqlite.File(sqlite.Memory))
	if err != nil {
		t.Fatal(err)
	}
	defer hf.Close(context.Background())
	for request, want := range map[string]int{
		"GET /nothing": 404, "POST /readyz": 405, "HEAD /readyz": 503, "HEAD /livez": 200, "GET /livez/": 200,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		health.Handler(hf).ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d", request, w.Code)
		}
	}
}

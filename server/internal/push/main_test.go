package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/outbound"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/server/internal/push"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) {
	if database := os.Getenv(envDatabase); database != "" {
		if err := serveUntilKilled(context.Background(), database); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	apitest.Main(m)
}

// quickly is how often pushers of tests look what is set.
const quickly = 20 * time.Millisecond

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// onBoth runs a test over SQLite and PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, source store.Source)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite.File(filepath.Join(t.TempDir(), "push.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, postgres.URL(ready.Database(t)))
	})
}

// server is a process that pushes: a client that only maintains, and what it sends.
type server struct {
	*testing.T

	client *holdfast.Client
	end    func(context.Context) error
	once   sync.Once
}

func serve(t *testing.T, source store.Source, allow []netip.Prefix) *server {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	client, err := holdfast.Open(t.Context(), source, holdfast.WithLogger(log), holdfast.WithNamespace("shop"))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, client: client}
	s.end = push.Start(client, push.Config{
		HTTP: outbound.Client(outbound.Config{Allow: allow}), URL: "https://jobs.example.com/", Log: log, Every: quickly,
	})
	t.Cleanup(s.stop)
	return s
}

func (s *server) stop() {
	s.once.Do(func() {
		ctx := context.WithoutCancel(s.Context())
		if err := s.end(ctx); err != nil {
			s.Error(err)
		}
		if err := s.client.Close(ctx); err != nil {
			s.Error(err)
		}
	})
}

// request is what a receiver got.
type request struct {
	header http.Header
	body   []byte
	job    push.Job
}

// receiver answers as the test says, in its order; the last answer is that of all later requests.
type receiver struct {
	*httptest.Server

	mu      sync.Mutex
	answers []func(w http.ResponseWriter, r *http.Request)
	got     []request
	came    chan request
}

func receive(t *testing.T, answers ...func(w http.ResponseWriter, r *http.Request)) *receiver {
	t.Helper()
	rec := &receiver{answers: answers, came: make(chan request, 1000)}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := request{header: r.Header, body: body}
		_ = json.Unmarshal(body, &req.job) // of a webhook it is something else
		rec.mu.Lock()
		answer := rec.answers[min(len(rec.got), len(rec.answers)-1)]
		rec.got = append(rec.got, req)
		rec.mu.Unlock()
		answer(w, r)
		rec.came <- req
	}))
	t.Cleanup(rec.Close)
	return rec
}

// all are the requests that came.
func (r *receiver) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.got...)
}

func says(status int, body string, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (s *server) endpoint(kind string, p endpoint.Push) string {
	s.Helper()
	_, secret, err := endpoint.CreatePush(s.Context(), s.client, kind, p)
	if err != nil {
		s.Fatal(err)
	}
	return secret
}

func (s *server) webhook(name string, w endpoint.Webhook) (endpoint.Entry[endpoint.Webhook], string) {
	s.Helper()
	if _, err := events.On(s.Context(), s.client); err != nil {
		s.Fatal(err)
	}
	e, secret, err := endpoint.CreateWebhook(s.Context(), s.client, name, w)
	if err != nil {
		s.Fatal(err)
	}
	return e, secret
}

func (s *server) enqueue(kind, args string, opts ...holdfast.EnqueueOption) *holdfast.Job[json.RawMessage] {
	s.Helper()
	opts = append([]holdfast.EnqueueOption{holdfast.Backoff(time.Millisecond, time.Millisecond)}, opts...)
	job, err := holdfast.NewKind[json.RawMessage, json.RawMessage](kind).Enqueue(s.Context(), s.client, json.RawMessage(args), opts...)
	if err != nil {
		s.Fatal(err)
	}
	return job
}

// within bounds how long a test waits: long, since machines that test have much to do.
func (s *server) within() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Minute)
	s.Cleanup(cancel)
	return ctx
}

// next is the next request of a receiver.
func (r *receiver) next(s *server) request {
	s.Helper()
	select {
	case got := <-r.came:
		return got
	case <-s.within().Done():
		s.Fatal("no request has come")
		return request{}
	}
}

func (s *server) wantResult(job *holdfast.Job[json.RawMessage], want string) {
	s.Helper()
	got, err := job.Wait(s.within())
	if err != nil || string(got) != want {
		s.Errorf("result %s, %v; want %s", got, err, want)
	}
}

func (s *server) wantFailure(job *holdfast.Job[json.RawMessage]) string {
	s.Helper()
	_, err := job.Wait(s.within())
	if err == nil {
		s.Error("the job completed")
		return ""
	}
	return fmt.Sprint(err)
}

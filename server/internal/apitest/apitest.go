// Package apitest is what tests of the API share: a server over a database of their own, and
// requests to it.
//
// # Imports
//
// Of ours, the root package, server, server/access, the stores and internal/pgtest; and goleak.
package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/heard"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Main is the TestMain of such tests: it ends what pgtest has begun, and looks for goroutines that
// are left.
func Main(m *testing.M) {
	code := pgtest.Main(m)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Server is an API over a database of its own.
type Server struct {
	*testing.T

	Client *holdfast.Client
	Source store.Source // its database
	URL    string
	who    access.Principal // makes the requests
	http   *http.Client
}

// New returns the API over an SQLite file.
func New(t *testing.T, opts ...holdfast.Option) *Server {
	t.Helper()
	return On(t, sqlite.File(filepath.Join(t.TempDir(), "api.db")), opts...)
}

// OnBoth runs a test over SQLite, and over PostgreSQL where there is one.
func OnBoth(t *testing.T, test func(s *Server), opts ...holdfast.Option) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(New(t, opts...))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(On(t, postgres.URL(ready.Database(t)), opts...))
	})
}

// On returns the API over a database.
func On(t *testing.T, source store.Source, opts ...holdfast.Option) *Server {
	t.Helper()
	opts = append([]holdfast.Option{holdfast.WithLogger(slog.New(slog.DiscardHandler))}, opts...)
	client, err := holdfast.Open(t.Context(), source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	s := &Server{T: t, Client: client, Source: source}
	return s.Again(nil)
}

// Again is another API on the same client, which begins to stop when the channel is closed.
func (s *Server) Again(stopping <-chan struct{}) *Server {
	s.Helper()
	s = &Server{
		T: s.T, Client: s.Client, Source: s.Source, who: access.Everything("tester"), http: &http.Client{Transport: heard.By(&http.Transport{})},
	}
	handler, err := server.Handler(s.Client, server.Options{
		Authenticate: func(*http.Request) (access.Principal, error) { return s.who, nil }, Stopping: stopping,
	})
	if err != nil {
		s.Fatal(err)
	}
	web := httptest.NewServer(handler)
	s.URL = web.URL
	s.Cleanup(func() {
		s.http.CloseIdleConnections()
		web.Close()
	})
	return s
}

// As makes the requests that follow those of another principal.
func (s *Server) As(p access.Principal) { s.who = p }

// Answer is what a request was answered with.
type Answer struct {
	Status int
	Header http.Header
	Text   string
	JSON   map[string]any // nil: it is no object
}

// Do makes a request under /api/v1. body is a text as it is, or else made JSON; nil: none.
func (s *Server) Do(method, path string, body any, header ...string) Answer {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.URL+"/api/v1"+path, reader(s.T, body))
	if err != nil {
		s.Fatal(err)
	}
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := s.http.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Text: string(data)}
	_ = json.Unmarshal(data, &a.JSON) // it need not be an object
	return a
}

func reader(t *testing.T, body any) io.Reader {
	t.Helper()
	switch body := body.(type) {
	case nil:
		return http.NoBody
	case string:
		return bytes.NewReader([]byte(body))
	default:
		data, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.NewReader(data)
	}
}

// OK is Do for a request that must succeed with a status.
func (s *Server) OK(status int, method, path string, body any, header ...string) Answer {
	s.Helper()
	a := s.Do(method, path, body, header...)
	if a.Status != status {
		s.Fatalf("%s %s answers %d, not %d: %s", method, path, a.Status, status, a.Text)
	}
	return a
}

// Refused is Do for a request that must fail with a code, and tells about which part of the request
// the problem is, if it tells.
func (s *Server) Refused(status int, code, method, path string, body any, header ...string) (pointer string) {
	s.Helper()
	a := s.Do(method, path, body, header...)
	if a.Status != status || a.JSON["code"] != code || a.Header.Get("Content-Type") != "application/problem+json" {
		s.Errorf("%s %s answers %d %q, not %d %q: %s", method, path, a.Status, a.JSON["code"], status, code, a.Text)
	}
	for _, field := range []string{"type", "title", "detail", "request_id"} {
		if text, _ := a.JSON[field].(string); text == "" {
			s.Errorf("%s %s: the problem has no %s: %s", method, path, field, a.Text)
		}
	}
	if errors, _ := a.JSON["errors"].([]any); len(errors) > 0 {
		if first, ok := errors[0].(map[string]any); ok {
			pointer, _ = first["pointer"].(string)
		}
	}
	return pointer
}

// Enqueue enqueues a job, and returns its id.
func (s *Server) Enqueue(job map[string]any) string {
	s.Helper()
	id, _ := s.OK(http.StatusCreated, http.MethodPost, "/jobs", job).JSON["id"].(string)
	return id
}

// Items are those of a list.
func (a *Answer) Items() (items []map[string]any) {
	list, _ := a.JSON["items"].([]any)
	for _, item := range list {
		if v, ok := item.(map[string]any); ok {
			items = append(items, v)
		}
	}
	return items
}

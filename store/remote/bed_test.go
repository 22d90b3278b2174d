package remote_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/remote"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// address is where servers are, one after the other. While there is none, connections break.
type address struct {
	URL  string
	at   atomic.Pointer[site]
	asks atomic.Int64
}

// site is a server that may be killed: its requests end, and their answers are lost.
type site struct {
	client  *holdfast.Client
	handler http.Handler
	killed  context.Context //nolint:containedctx // ends when it is
	kill    context.CancelFunc
}

// newAddress is an address without a server.
func newAddress(t testing.TB) *address {
	t.Helper()
	a := &address{}
	web := httptest.NewServer(a)
	a.URL = web.URL
	t.Cleanup(func() {
		a.stop(t)
		web.Close()
	})
	return a
}

func (a *address) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asks.Add(1)
	s := a.at.Load()
	if s == nil {
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer context.AfterFunc(s.killed, cancel)()
	defer cancel()
	s.handler.ServeHTTP(w, r.WithContext(ctx))
	if s.killed.Err() != nil {
		panic(http.ErrAbortHandler) // what was answered is lost
	}
}

// start starts a server at the address.
func (a *address) start(t testing.TB, source store.Source, o server.Options) *site {
	t.Helper()
	client, err := holdfast.Open(context.WithoutCancel(t.Context()), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	if o.Authenticate == nil {
		o.Authenticate = access.Anyone("anyone")
	}
	handler, err := server.Handler(client, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{client: client, handler: handler}
	s.killed, s.kill = context.WithCancel(context.Background())
	a.at.Store(s)
	return s
}

// stop ends the server at the address, and what is under way there.
func (a *address) stop(t testing.TB) {
	t.Helper()
	s := a.at.Swap(nil)
	if s == nil {
		return
	}
	s.kill()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	if err := s.client.Close(ctx); err != nil {
		t.Error(err)
	}
}

// serve serves a database, and returns the URL of the server.
func serve(t testing.TB, source store.Source) string {
	t.Helper()
	a := newAddress(t)
	a.start(t, source, server.Options{})
	return a.URL
}

// file is a database of the test.
func file(t testing.TB) sqlite.Config {
	t.Helper()
	source := sqlite.File(sqlitetest.File(t))
	source.Synchronous = sqlite.Normal
	return source
}

// open opens the store of a server, with the clock of a test.
func open(t testing.TB, url string, clock *storetest.Clock) store.Store {
	t.Helper()
	return opened(t, remote.WithClock(remote.Server(url, ""), clock.Now))
}

// connect opens the store of a server.
func connect(t testing.TB, url string) store.Store {
	t.Helper()
	return opened(t, remote.Server(url, ""))
}

func opened(t testing.TB, source store.Source) store.Store {
	t.Helper()
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: it has not come", what)
		}
	}
}

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
func newAddress(tb testing.TB) *address {
	tb.Helper()
	a := &address{}
	web := httptest.NewServer(a)
	a.URL = web.URL
	tb.Cleanup(func() {
		a.stop(tb)
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
func (a *address) start(tb testing.TB, source store.Source, o server.Options) *site {
	tb.Helper()
	client, err := holdfast.Open(context.WithoutCancel(tb.Context()), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		tb.Fatal(err)
	}
	if o.Authenticate == nil {
		o.Authenticate = access.Anyone("") // without a name: what callers say of themselves stands alone
	}
	handler, err := server.Handler(client, o)
	if err != nil {
		tb.Fatal(err)
	}
	s := &site{client: client, handler: handler}
	s.killed, s.kill = context.WithCancel(context.Background())
	a.at.Store(s)
	return s
}

// stop ends the server at the address, and what is under way there.
func (a *address) stop(tb testing.TB) {
	tb.Helper()
	s := a.at.Swap(nil)
	if s == nil {
		return
	}
	s.kill()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 5*time.Minute)
	defer cancel()
	if err := s.client.Close(ctx); err != nil {
		tb.Error(err)
	}
}

// serve serves a database, and returns the URL of the server.
func serve(tb testing.TB, source store.Source) string {
	tb.Helper()
	a := newAddress(tb)
	a.start(tb, source, server.Options{})
	return a.URL
}

// file is a database of the test.
func file(tb testing.TB) sqlite.Config {
	tb.Helper()
	source := sqlite.File(sqlitetest.File(tb))
	source.Synchronous = sqlite.Normal
	return source
}

// open opens the store of a server, with the clock of a test.
func open(tb testing.TB, url string, clock *storetest.Clock) store.Store {
	tb.Helper()
	return opened(tb, remote.WithClock(remote.Server(url, ""), clock.Now))
}

// connect opens the store of a server.
func connect(tb testing.TB, url string) store.Store {
	tb.Helper()
	return opened(tb, remote.Server(url, ""))
}

func opened(tb testing.TB, source store.Source) store.Store {
	tb.Helper()
	s, err := source.Open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// until waits for a condition.
func until(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	for end := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(time.Millisecond) { //nolint:forbidigo // it polls
		if time.Now().After(end) {
			tb.Fatalf("%s: it has not come", what)
		}
	}
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/internal/wire"
	who "github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// Config is what a gateway needs to know.
type Config struct {
	// Stopping is closed when the server begins to stop; nil: never.
	Stopping <-chan struct{}
	// ReadOnly refuses the methods that change something.
	ReadOnly bool
	Log      *slog.Logger
}

const (
	// maxBody is how large a request may be, in bytes: it bounds what a client may send at once,
	// and a store bounds what it takes.
	maxBody = 64 << 20
	// bodyTimeout is how long a request may take to arrive, and writeTimeout an answer to be sent.
	bodyTimeout  = time.Minute
	writeTimeout = time.Minute
	// maxTimeout is how long a call takes at the most, whatever its caller says.
	maxTimeout = 10 * time.Minute
)

type gateway struct {
	Config

	store   *relay.Store
	methods map[string]*method
}

// Register registers the methods of the store of a client.
func Register(mux *http.ServeMux, client *holdfast.Client, c Config) {
	g := &gateway{Config: c, store: access.Relay(client), methods: methods()}
	mux.HandleFunc("POST "+wire.Prefix+"{method}", g.serve)
	mux.HandleFunc("POST "+wire.HelloPath, g.hello)
	mux.HandleFunc("POST "+wire.NotifyPath, g.notify)
	mux.HandleFunc("GET "+wire.WatchPath, g.watch)
}

// Is reports whether a request is one to a gateway, which itself refuses what a server does not do
// that only reads.
func Is(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, wire.Prefix) }

// enter lets a request in, or returns why not.
func enter(r *http.Request) error {
	p := who.Of(r.Context())
	switch {
	case !p.May(who.Store):
		return problem.New(problem.Forbidden, fmt.Sprintf("this needs the scope %s, which the role admin has: "+
			"whoever has it can do what a password of the database can", who.Store))
	case p.Namespaces != nil:
		return problem.New(problem.Forbidden, fmt.Sprintf("the scope %s needs all namespaces, and this credential is limited to %q; "+
			"use one that is not, or the other paths of the API", who.Store, strings.Join(p.Namespaces, ", ")))
	}
	return nil
}

// fits refuses a client that this server cannot serve.
func fits(r *http.Request) error {
	said := r.Header.Get(wire.SchemaHeader)
	version, err := strconv.Atoi(said)
	if err != nil {
		return problem.New(problem.Malformed, fmt.Sprintf("the header %s is no number; use store/remote of Holdfast", wire.SchemaHeader))
	}
	if err := (store.Schema{Version: wire.Schema, Latest: version, Serves: wire.Serves}).Check(); err != nil {
		return problem.New(problem.SchemaMismatch, fmt.Sprintf("the server knows the schema %d and serves clients from %d on, "+
			"and this client knows %d; use the same version of Holdfast", wire.Schema, wire.Serves, version))
	}
	return nil
}

// refuse answers a request whose body nothing has read, and does not wait for that.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a writer that has none needs none
	}
	problem.Write(w, r, err)
}

// hello tells a client what it is connected to.
func (g *gateway) hello(w http.ResponseWriter, r *http.Request) {
	if err := enter(r); err != nil {
		refuse(w, r, err)
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // of the body, which says nothing new
	g.answer(w, r, &wire.Out[wire.Welcome, wire.None]{
		A: wire.Welcome{Schema: wire.Schema, Serves: wire.Serves, Traits: g.store.Traits()}, Now: g.store.Now(),
	})
}

// serve answers a call of a method.
func (g *gateway) serve(w http.ResponseWriter, r *http.Request) {
	m := g.methods[r.PathValue("method")]
	err := errors.Join(enter(r), fits(r))
	switch {
	case err != nil:
	case m == nil:
		err = problem.New(problem.NotFound, fmt.Sprintf("a store has no method %.60q, or it needs the database itself", r.PathValue("method")))
	case g.ReadOnly && !m.only:
		err = problem.New(problem.ReadOnly, "this server was started with --read-only; ask one that was not")
	}
	if err != nil {
		refuse(w, r, err)
		return
	}
	body, err := read(w, r)
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	ctx, cancel := g.bounded(w, r)
	defer cancel()
	if ctx, err = wire.WithRequest(ctx, r.Header.Get(wire.RequestHeader)); err != nil {
		problem.Write(w, r, problem.New(problem.Malformed, err.Error()))
		return
	}
	out, err := m.call(ctx, g.store, func(to any) error { return decode(body, to) })
	if err != nil {
		problem.Write(w, r, err)
		return
	}
	g.finish(ctx, m, out)
	g.answer(w, r, out)
}

// read reads the body of a request.
func read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer that has none needs none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, problem.New(problem.TooLarge, fmt.Sprintf("a call has at most %d MB; send less at once", large.Limit>>20))
	}
	if err != nil {
		return nil, problem.New(problem.Malformed, "the request broke off")
	}
	return body, nil
}

// decode reads parameters. An empty body is a call without any.
func decode(body []byte, to any) error {
	if len(body) == 0 {
		body = []byte("{}")
	}
	return wire.Decode(body, to)
}

// bounded is the context of a call.
func (g *gateway) bounded(w http.ResponseWriter, r *http.Request) (context.Context, context.CancelFunc) {
	timeout := store.CallTimeout
	if ms, err := strconv.ParseInt(r.Header.Get(wire.TimeoutHeader), 10, 64); err == nil && ms > 0 {
		timeout = min(time.Duration(min(ms, int64(maxTimeout/time.Millisecond)))*time.Millisecond, maxTimeout)
	}
	socket := http.NewResponseController(w)
	_ = socket.SetReadDeadline(time.Time{}) // it would end the call; a writer that has none needs none
	_ = socket.SetWriteDeadline(time.Now().Add(timeout + writeTimeout))
	return context.WithTimeout(r.Context(), timeout)
}

// finish sets the time of an answer, and makes of errors of this server what they are to a client.
func (g *gateway) finish(ctx context.Context, m *method, out any) {
	err, now := parts(out)
	*now = g.store.Now()
	switch {
	case *err == nil:
	case errors.Is(*err, store.ErrClosed):
		*err = fmt.Errorf("%w: the server is stopping", store.ErrUnavailable)
	case errors.Is(*err, context.DeadlineExceeded), errors.Is(*err, context.Canceled):
		*err = fmt.Errorf("%w: the database has not answered the server in time", store.ErrUnavailable)
	}
	if *err != nil && !store.IsRetryable(*err) {
		g.Log.DebugContext(ctx, "call of a store failed", "request", problem.RequestID(ctx), "method", m.name, "error", (*err).Error())
	}
}

// answer sends an answer.
func (g *gateway) answer(w http.ResponseWriter, r *http.Request, out any) {
	data, err := wire.Encode(out)
	if err != nil {
		g.Log.ErrorContext(r.Context(), "answer of a store cannot be sent", "request", problem.RequestID(r.Context()), "path", r.URL.Path,
			"error", err.Error())
		problem.Write(w, r, errors.New("an answer that cannot be sent")) // which is a failure of the server
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // the client may have gone
}

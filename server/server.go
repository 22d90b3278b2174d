package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/attributes"
	"github.com/holdfastdev/holdfast/server/internal/audit"
	"github.com/holdfastdev/holdfast/server/internal/batches"
	"github.com/holdfastdev/holdfast/server/internal/dead"
	"github.com/holdfastdev/holdfast/server/internal/endpoints"
	"github.com/holdfastdev/holdfast/server/internal/events"
	"github.com/holdfastdev/holdfast/server/internal/gateway"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
	"github.com/holdfastdev/holdfast/server/internal/keys"
	"github.com/holdfastdev/holdfast/server/internal/limits"
	"github.com/holdfastdev/holdfast/server/internal/messages"
	"github.com/holdfastdev/holdfast/server/internal/namespaces"
	"github.com/holdfastdev/holdfast/server/internal/nodes"
	"github.com/holdfastdev/holdfast/server/internal/operations"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/server/internal/queues"
	"github.com/holdfastdev/holdfast/server/internal/retention"
	"github.com/holdfastdev/holdfast/server/internal/schedules"
	"github.com/holdfastdev/holdfast/server/internal/self"
	"github.com/holdfastdev/holdfast/server/internal/stats"
	"github.com/holdfastdev/holdfast/server/internal/workers"
	"github.com/holdfastdev/holdfast/store"
)

// Options say who may do what.
type Options struct {
	// Authenticate finds out who makes a request. It must be set: access.Anyone is for servers that
	// only their own machine reaches.
	Authenticate access.Authenticator
	// Hosts are the names under which the handler is reached, beside the loopback ones; "*": any.
	Hosts []string
	// Origins are web sites whose pages may change something, such as https://jobs.example.com.
	Origins []string
	// OnlyCallbacks serves the operations on callbacks and nothing else, for those who have tokens
	// of these and no other credential, such as systems elsewhere. Authenticate is not used then,
	// nor are Metrics. Let RateLimit bound how often tokens can be tried.
	OnlyCallbacks bool
	// ReadOnly refuses all that changes something.
	ReadOnly bool
	// Dashboard answers requests to get what is not below /api, such as the pages of
	// web.Handler. Anybody reaches it: it is to tell nothing that needs a credential. nil: there
	// are no pages.
	Dashboard http.Handler
	// Metrics answers /metrics for those who have the scope stats:read; nil: there is no such path.
	Metrics http.Handler
	// RateLimit is how many requests a second each principal may make, and each network where no
	// credential is needed, such as for callbacks; RateBurst is how many of them may come at once,
	// by default as many as there are in a second, and at least 1. A request that waits, or is
	// answered by a stream, counts once. Those beyond are answered 429 with the code rate_limited
	// and Retry-After. Each handler counts by itself. Default: 0, no limit; at most 100,000.
	RateLimit float64
	RateBurst int
	// Streams is how many live streams there may be at once, and StreamsEach how many of one
	// principal. Default: 2000 and 1000.
	Streams, StreamsEach int
	// Stopping is closed when the server begins to stop, such as the channel of a context that ends
	// then: live streams say goodbye, and calls that wait are answered, which would hold up
	// http.Server.Shutdown otherwise. nil: never.
	Stopping <-chan struct{}
	// Log is told of what fails in the server. Default: nothing is.
	Log *slog.Logger
}

// maxBody is how large any request may be, in bytes. Each operation has a limit of its own below
// it.
const maxBody = 64 << 20

// Handler returns the API on a client. It does not make the client a node, and does not close it.
// The errors are ErrInvalid for options that cannot be.
func Handler(client *holdfast.Client, o Options) (http.Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Authenticate == nil && !o.OnlyCallbacks {
		return nil, errNoAuthentication
	}
	rate, err := rateOf(&o)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	if o.OnlyCallbacks {
		return onlyCallbacks(mux, client, guard.Config{
			Hosts: o.Hosts, Origins: o.Origins, ReadOnly: o.ReadOnly, MaxBody: maxBody, Log: o.Log, Rate: rate,
		})
	}
	a := register(mux, client, &o)
	gateway.Register(mux, client, gateway.Config{Stopping: o.Stopping, ReadOnly: o.ReadOnly, Log: o.Log})
	document, err := documented(a)
	if err != nil {
		return nil, err
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, document) })
	if o.Metrics != nil {
		mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
			if p := access.Of(r.Context()); !p.May(access.StatsRead) || p.Namespaces != nil {
				problem.Write(w, r, problem.New(problem.Forbidden,
					"metrics are of all namespaces: they need a credential that has them all, with the scope "+string(access.StatsRead)))
				return
			}
			o.Metrics.ServeHTTP(w, r)
		})
	}
	authenticate := byURL(o.Authenticate)
	mux.HandleFunc("GET /{$}", root(o.Dashboard, authenticate))
	if o.Dashboard != nil {
		mux.HandleFunc("POST "+session, signIn(authenticate))
		mux.HandleFunc("DELETE "+session, signOut)
	}
	handler, err := guard.Around(api.Keys(unknownPaths(mux, o.Dashboard)), guard.Config{
		Hosts: o.Hosts, Origins: o.Origins, Authenticate: authenticate, ReadOnly: o.ReadOnly, MaxBody: maxBody, Log: o.Log,
		Knows: func(r *http.Request) bool { return gateway.Is(r) || schedules.Reads(r) || isSession(r) }, Rate: rate,
		Public: func(r *http.Request) bool {
			_, pattern := find(mux, r)
			return a.IsPublic(pattern) || o.Dashboard != nil && (isSession(r) || isPage(r, pattern))
		},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return handler, nil
}

// index is what is found at the root.
var index = []byte(`{"name":"holdfast","api":"/api/v1","openapi":"/openapi.json"}` + "\n")

func writeJSON(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client may have gone
}

// register registers all operations.
func register(mux *http.ServeMux, client *holdfast.Client, o *Options) *api.API {
	a := api.New(mux, client, o.Log, o.Stopping)
	jobs.Register(a)
	events.Register(a, events.Config{Total: cmp.Or(o.Streams, 2000), Each: cmp.Or(o.StreamsEach, 1000), Log: o.Log})
	nodes.Register(a)
	dead.Register(a)
	operations.Register(a)
	stats.Register(a)
	attributes.Register(a)
	retention.Register(a)
	batches.Register(a)
	limits.Register(a)
	messages.Register(a)
	queues.Register(a)
	schedules.Register(a)
	keys.Register(a)
	audit.Register(a)
	self.Register(a, self.Config{ReadOnly: o.ReadOnly})
	namespaces.Register(a)
	endpoints.Register(a)
	workers.Register(a)
	return a
}

// document is that of all handlers of the process: no option is in it, and to write it takes longer
// than all else that makes a handler.
var document struct {
	once sync.Once
	data []byte
	err  error
}

// documented returns it, and writes it from the first API.
func documented(a *api.API) ([]byte, error) {
	document.once.Do(func() { document.data, document.err = a.Document() })
	return document.data, document.err
}

// Document is the OpenAPI document of the API, as JSON.
func Document() ([]byte, error) {
	return register(http.NewServeMux(), nil, &Options{Log: slog.New(slog.DiscardHandler)}).Document()
}

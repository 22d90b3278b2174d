// Package listen serves the metrics of a process, and the probes of an orchestrator, by HTTP:
//
//	/metrics  all metrics, for Prometheus
//	/healthz  200 while the process lives
//	/readyz   200 if all of its nodes are well, otherwise 503 with what is wrong
//
// A process that serves the API has that at all other paths (Mount), and its metrics then are what
// the API lets see. It may speak TLS.
//
// It is the only place where Holdfast has an SDK for its telemetry.
//
// # Imports
//
// Of ours, the root package and telemetry.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/telemetry"
)

const (
	// headerTimeout, readTimeout, writeTimeout and idleTimeout bound what a client may keep open.
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	// unreadTimeout bounds how long an answer of the API that has no limit of its own may take.
	unreadTimeout = 2 * time.Minute
	// scrapeTimeout bounds a scrape, and atOnce how many there are; it is told who is beyond.
	scrapeTimeout = 10 * time.Second
	atOnce        = 4
	// closeTimeout is how long Drain and Close wait for answers.
	closeTimeout = 5 * time.Second
)

// Server serves one process.
type Server struct {
	listener net.Listener
	server   http.Server
	secure   bool // by TLS
	provider *metric.MeterProvider
	metrics  http.Handler
	api      atomic.Pointer[http.Handler]       // nil: there is none, or it has not begun
	nodes    atomic.Pointer[[]*holdfast.Client] // nil: they have not begun
	stopping atomic.Bool
	closing  chan struct{} // closed: Close has begun
	served   chan struct{} // closed: it serves no longer; nil: it has not begun
}

// On listens on an address, HOST:PORT. Nothing is answered until Serve.
func On(ctx context.Context, address string) (*Server, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w; give another address, or port 0 for any that is free", err)
	}
	s := &Server{listener: listener, closing: make(chan struct{})}
	if err := s.init(); err != nil {
		listener.Close()
		return nil, fmt.Errorf("cannot export metrics: %w", err)
	}
	s.server.RegisterOnShutdown(sync.OnceFunc(func() { close(s.closing) })) // of the server that init has made
	return s, nil
}

func (s *Server) init() error {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return err
	}
	s.provider = metric.NewMeterProvider(metric.WithReader(reader))
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	s.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.HTTPErrorOnError, MaxRequestsInFlight: atOnce, Timeout: scrapeTimeout,
	})
	s.server = http.Server{
		Handler: http.HandlerFunc(s.route), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 1 << 14,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // of what clients do wrong
	}
	return nil
}

// route is no http.ServeMux: one sends who asks for a path in another spelling, such as
// //api/v1/jobs, to the right one, before the API has looked at who asks and under which name.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		path = "" // the API answers for these
	}
	switch path {
	case "/metrics":
		s.serveMetrics(w, r)
	case "/healthz":
		answer(w, nil)
	case "/readyz":
		answer(w, s.ready(r.Context()))
	default:
		s.serveAPI(w, r)
	}
}

// Metrics answers with the metrics of the process.
func (s *Server) Metrics() http.Handler { return s.metrics }

// WithAPI says, before Serve, that there will be an API: until it is mounted another handler
// answers at its paths, and /metrics is one of these.
func (s *Server) WithAPI(starting http.Handler) { s.api.Store(&starting) }

// Mount serves an API at all paths but those of the probes.
func (s *Server) Mount(api http.Handler) { s.api.Store(&api) }

func (s *Server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if s.api.Load() != nil {
		s.serveAPI(w, r)
		return
	}
	s.metrics.ServeHTTP(w, r)
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	if api := s.api.Load(); api != nil {
		// The API has limits of its own for the time of each request. What it answers without any,
		// such as a page, and what is not read, would be kept without an end.
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Time{})
		_ = c.SetWriteDeadline(time.Now().Add(unreadTimeout))
		(*api).ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// WithTLS says, before Serve, that callers need TLS, and are shown this certificate.
func (s *Server) WithTLS(c *Certificate) { s.server.TLSConfig, s.secure = c.Config(), true }

// Address is where it listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// URL is the URL of Address.
func (s *Server) URL() string {
	if s.secure {
		return "https://" + s.Address()
	}
	return "http://" + s.Address()
}

// Option makes a client tell it of its metrics.
func (s *Server) Option() holdfast.Option {
	return telemetry.With(telemetry.Config{Meters: s.provider})
}

// Closing is closed when Drain or Close begins: answers that would last end then.
func (s *Server) Closing() <-chan struct{} { return s.closing }

// Serve begins to answer. Close ends that.
func (s *Server) Serve() {
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		// http.ErrServerClosed: there is no other way to end it.
		if s.secure {
			_ = s.server.ServeTLS(s.listener, "", "")
		} else {
			_ = s.server.Serve(s.listener)
		}
	}()
}

// Nodes are the nodes that are to be well.
func (s *Server) Nodes(nodes []*holdfast.Client) { s.nodes.Store(&nodes) }

// Stopping tells that the nodes stop: from now on the process is not ready.
func (s *Server) Stopping() { s.stopping.Store(true) }

var (
	errStarting = errors.New("the node is starting")
	errStopping = errors.New("the node is stopping")
)

// ready is what is wrong, or nil.
func (s *Server) ready(ctx context.Context) error {
	nodes := s.nodes.Load()
	switch {
	case s.stopping.Load():
		return errStopping
	case nodes == nil:
		return errStarting
	}
	var errs []error
	for _, node := range *nodes {
		e, _ := access.Engine(node)
		e.Prober.Probe(ctx)
		err := node.Health().Err()
		if err != nil && len(*nodes) > 1 {
			err = fmt.Errorf("namespace %s: %w", node.Namespace(), err)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func answer(w http.ResponseWriter, err error) {
	text, status := "ok", http.StatusOK
	if err != nil {
		text, status = err.Error(), http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may have gone
}

// Drain listens no longer, and waits a while for answers that are being given, while there is what
// they need. Those that wait for something else end when that is closed, and before Close.
func (s *Server) Drain(ctx context.Context) {
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer stop()
	_ = s.server.Shutdown(ending) // Close sees to what has not ended
}

// Close lets answers that are being given end, and listens no longer.
func (s *Server) Close(ctx context.Context) {
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer stop()
	if s.server.Shutdown(ending) != nil {
		s.server.Close()
	}
	s.listener.Close() // also if it has never served
	if s.served != nil {
		<-s.served
	}
	_ = s.provider.Shutdown(ending) // it only reads
}

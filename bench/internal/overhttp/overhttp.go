// Package overhttp is Holdfast as workers and producers in any language see it: a server in front
// of the database, JSON over HTTP, and an API key. The server and those who call it share this
// process, so the CPU of a job is that of both.
//
// An outcome is committed when its request is answered, so work is counted then.
package overhttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// Name is what the results call it.
const Name = "http"

const (
	// kind is that of all jobs.
	kind = "bench.noop"
	// workers is how many there are, each with as many slots as a poll may ask for.
	workers = 4
	slots   = 240
	// connections is how many are kept open.
	connections = 256
	openTimeout = 30 * time.Second
)

// System is Holdfast over HTTP.
type System struct{}

// Name is its name.
func (System) Name() string { return Name }

// Settings says what runs the jobs.
func (System) Settings(system.Database) map[string]string {
	return map[string]string{"workers": strconv.Itoa(workers), "slots of each": strconv.Itoa(slots)}
}

// Open opens the database and serves it on a loopback port.
func (System) Open(ctx context.Context, db system.Database, opts system.Options) (_ system.Client, err error) {
	if opts.Limit > 0 || opts.Rate > 0 || opts.FairKeys > 0 || opts.LimitKeys > 0 || len(opts.Queues) > 0 {
		return nil, system.ErrUnsupported
	}
	source, err := dsn.Parse(db.URL)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	hf, err := holdfast.Open(ctx, source, holdfast.WithLogger(log))
	if err != nil {
		return nil, err
	}
	c := &client{hf: hf, inside: opts.Inside, ended: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(ctx))
		}
	}()
	_, secret, err := apikey.Create(ctx, hf, apikey.Params{Name: "bench", Scopes: []apikey.Scope{access.JobsWrite, access.Workers}})
	if err != nil {
		return nil, err
	}
	keys, end := server.APIKeys(hf)
	c.ends = append(c.ends, end)
	life, stop := context.WithCancel(context.Background())
	c.ends = append(c.ends, func(context.Context) error { stop(); return nil })
	handler, err := server.Handler(hf, server.Options{Authenticate: access.Keys(keys), Stopping: life.Done(), Log: log})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.server = &http.Server{Handler: handler, ReadHeaderTimeout: openTimeout}
	go func() { c.ended <- c.server.Serve(listener) }()
	c.caller = newCaller("http://"+listener.Addr().String()+"/api/v1", secret)
	return c, nil
}

type client struct {
	*caller

	hf     *holdfast.Client
	inside bool // jobs are enqueued by hf
	server *http.Server
	ended  chan error
	ends   []func(context.Context) error
}

// noop is the kind as the program of the server knows it.
var noop = holdfast.NewKind[system.Args, struct{}](kind)

func (c *client) Insert(ctx context.Context, args system.Args) error {
	if c.inside {
		_, err := noop.Enqueue(ctx, c.hf, args)
		return err
	}
	var answer struct {
		ID string `json:"id"`
	}
	return c.post(ctx, "/jobs", job{Kind: kind, Args: args}, &answer)
}

func (c *client) InsertMany(ctx context.Context, args []system.Args) error {
	body := batch{Jobs: make([]job, len(args))}
	for i := range args {
		body.Jobs[i] = job{Kind: kind, Args: args[i]}
	}
	var answer struct {
		Jobs []struct {
			ID    string  `json:"id"`
			Error *string `json:"error"`
		} `json:"jobs"`
	}
	if err := c.post(ctx, "/jobs/batch", &body, &answer); err != nil {
		return err
	}
	for _, job := range answer.Jobs {
		if job.Error != nil {
			return fmt.Errorf("a job of a batch was refused: %s", *job.Error)
		}
	}
	return nil
}

// job and batch are the bodies of enqueues.
type (
	job struct {
		Kind string      `json:"kind"`
		Args system.Args `json:"args"`
	}
	batch struct {
		Jobs []job `json:"jobs"`
	}
)

// Settle does nothing: users have no such button.
func (c *client) Settle(context.Context) error { return nil }

func (c *client) Left(ctx context.Context) (int64, error) {
	queues, err := c.hf.Queues(ctx)
	left := int64(0)
	for _, q := range queues {
		for _, count := range q.Counts {
			left += int64(count.N)
		}
	}
	return left, err
}

func (c *client) Close(ctx context.Context) error {
	var errs []error
	if c.caller != nil {
		c.http.CloseIdleConnections()
	}
	for _, end := range slices.Backward(c.ends) {
		errs = append(errs, end(ctx))
	}
	if c.server != nil {
		errs = append(errs, c.server.Shutdown(ctx))
		if err := <-c.ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, c.hf.Close(ctx))...)
}

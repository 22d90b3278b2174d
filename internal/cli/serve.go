package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// serveFlags is what "dev" and "worker" were told.
type serveFlags struct {
	allowExec   bool
	slots       int
	queues      []string
	stopTimeout time.Duration
}

func (f *serveFlags) add(cmd *cobra.Command, allowExec bool) {
	flags := cmd.Flags()
	flags.BoolVar(&f.allowExec, "allow-exec", allowExec, "run jobs of the kind exec: whoever can enqueue runs commands as this user")
	flags.IntVar(&f.slots, "slots", 100, "how many `jobs` to run at once")
	flags.DurationVar(&f.stopTimeout, "stop-timeout", 20*time.Second, "how long running jobs may go on after the first signal")
}

func (a *app) devCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start a node to try things out with",
		Long: `Start a node that runs the built-in kinds exec and http, and say what to try next. The database is
created if it does not exist.

At SIGTERM, SIGHUP or Ctrl-C the node takes no more jobs and waits for those that run, up to
--stop-timeout; at a second SIGTERM or Ctrl-C it ends them now. What did not finish runs again.`,
		Example: `  holdfast dev
  holdfast dev --slots 4 --allow-exec=false --database /tmp/try.db`,
		Args:        takes(0, 0),
		Annotations: uses(flagDatabase, flagNamespace, flagQuiet),
		RunE:        a.doServe(&f, true),
	}
	f.add(cmd, true)
	return cmd
}

func (a *app) workerCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Start a node that runs the built-in kinds",
		Long: `Start a node that runs jobs of the built-in kind http, and with --allow-exec of the kind exec. The
schema is created or brought up to date first.

At SIGTERM, SIGHUP or Ctrl-C the node takes no more jobs and waits for those that run, up to
--stop-timeout; at a second SIGTERM or Ctrl-C it ends them now. What did not finish runs again.`,
		Example: `  holdfast worker --database postgres://localhost/app
  holdfast worker --allow-exec --queue mail=10 --queue reports=2 --slots 12`,
		Args:        takes(0, 0),
		Annotations: uses(flagDatabase, flagNamespace, flagQuiet),
		RunE:        a.doServe(&f, false),
	}
	f.add(cmd, false)
	cmd.Flags().StringArrayVar(&f.queues, "queue", nil,
		"serve this queue, and at most so many of its jobs at once: `NAME[=SLOTS]`; may be repeated (default: all queues)")
	return cmd
}

// doServe makes a RunE of a node. It sees to the signals itself.
func (a *app) doServe(f *serveFlags, hints bool) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := a.serve(cmd.Context(), f, hints); err != nil {
			return &runError{err}
		}
		return nil
	}
}

func (a *app) serve(ctx context.Context, f *serveFlags, hints bool) error {
	opts, err := a.nodeOptions(f)
	if err != nil {
		return err
	}
	if a.dsn() == dsn.Memory {
		return usagef("a database in memory is seen by nobody else; name a file")
	}
	named, err := a.source()
	if err != nil {
		return err
	}
	// At Ctrl-C "tee", which reads the log, may go first. Then the log is lost, not the jobs.
	a.env.OutlivePipes()
	source := &nodeSource{Source: named}
	client, err := a.openNode(ctx, source, opts)
	if err != nil {
		return err
	}
	err = register(client, f.allowExec)
	if err == nil {
		if hints {
			a.hint(source.String(), f)
		}
		err = a.runNode(ctx, client, source)
	}
	return errors.Join(err, closeClient(ctx, client))
}

// openNode opens the database. A server that does not answer must not keep Ctrl-C from working.
func (a *app) openNode(ctx context.Context, source store.Source, opts []holdfast.Option) (*holdfast.Client, error) {
	opening, stop := a.interruptible(ctx)
	client, err := a.openClient(opening, source, opts...)
	stop()
	if errors.Is(context.Cause(opening), errInterrupted) {
		if err == nil {
			err = closeClient(ctx, client)
		}
		return nil, errors.Join(errInterrupted, err)
	}
	return client, err
}

func register(client *holdfast.Client, allowExec bool) error {
	if err := builtin.RegisterHTTP(client); err != nil || !allowExec {
		return err
	}
	return builtin.RegisterExec(client)
}

func (a *app) nodeOptions(f *serveFlags) ([]holdfast.Option, error) {
	level := slog.LevelInfo
	if a.quiet {
		level = slog.LevelWarn
	}
	log := slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: level}))
	opts := []holdfast.Option{
		holdfast.WithLogger(log), holdfast.WithStopTimeout(f.stopTimeout), holdfast.WithSlots(f.slots),
	}
	switch {
	case f.slots < 1:
		return nil, usagef("--slots %d is not positive", f.slots)
	case f.stopTimeout < 0:
		return nil, usagef("--stop-timeout %v is negative", f.stopTimeout)
	}
	seen := map[string]bool{}
	for _, q := range f.queues {
		name, text, limited := strings.Cut(q, "=")
		slots := 0
		if limited {
			var err error
			if slots, err = strconv.Atoi(text); err != nil || slots < 1 {
				return nil, usagef("--queue %q: it is NAME or NAME=SLOTS, such as mail=10", q)
			}
		}
		if name == "" || seen[name] {
			return nil, usagef("--queue %q: the name is empty, or was given before", q)
		}
		seen[name] = true
		opts = append(opts, holdfast.WithQueue(name, slots))
	}
	return opts, nil
}

// nodeSource notes whether a node has joined its store.
type nodeSource struct {
	store.Source

	joined atomic.Bool
}

func (s *nodeSource) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &nodeStore{st, &s.joined}, nil
}

type nodeStore struct {
	store.Store

	joined *atomic.Bool
}

func (s *nodeStore) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	id, err := s.Store.Join(ctx, info)
	if err == nil {
		s.joined.Store(true)
	}
	return id, err
}

// runNode runs the node until a signal, and longer as far as its jobs need it.
func (a *app) runNode(ctx context.Context, client *holdfast.Client, source *nodeSource) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- client.Run(running) }()
	select {
	case err := <-ended:
		return err
	case <-a.env.Signals:
	}
	a.notef("Stopping: waiting for the jobs that run. A second signal ends them now.")
	stop()
	for hurry := false; !hurry; {
		select {
		case err := <-ended:
			return source.forgive(err)
		case signal := <-a.env.Signals:
			hurry = signal != syscall.SIGHUP // a terminal that goes away may say so several times
		}
	}
	a.notef("Stopping now. What did not finish runs again.")
	a.env.Release()
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	// It returns when Run is about to.
	return errors.Join(client.Stop(over), source.forgive(<-ended))
}

// forgive forgives a node that was stopped before it had joined. One that could not sign off has something to tell.
func (s *nodeSource) forgive(err error) error {
	if errors.Is(err, context.Canceled) && !s.joined.Load() {
		return nil
	}
	return err
}

// holdsPassword reports whether a database's name might hold a password. It is better to be wrong than to show one.
func holdsPassword(named string) bool {
	_, rest, isURL := strings.Cut(named, "://")
	user, _, hasUser := strings.Cut(rest, "@")
	return isURL && hasUser && strings.Contains(user, ":") || strings.Contains(strings.ToLower(named), "password")
}

// hint says what to try. Each of the commands works as it is written, in another terminal.
func (a *app) hint(database string, f *serveFlags) {
	kinds := "exec and http"
	job := `exec --args '{"command":["echo","hello"]}'`
	if !f.allowExec {
		kinds = "http"
		job = `http --args '{"url":"https://example.com/"}'`
	}
	flags := ""
	switch named := a.dsn(); {
	case holdsPassword(named):
		flags = ` --database "$` + envDatabase + `"` // the screen is no place for it
	case named != defaultDatabase:
		flags = " --database " + quote(named)
	}
	if a.namespace != defaultNamespace {
		flags += " --namespace " + quote(a.namespace)
	}
	var text strings.Builder
	for _, line := range []string{
		"job enqueue " + job + " --wait",
		"job enqueue " + job + " --in 10s",
		"job list",
		"queue list",
		"node list",
	} {
		// Nodes are of all namespaces.
		if line == "node list" {
			flags, _, _ = strings.Cut(flags, " --namespace")
		}
		fmt.Fprintf(&text, "  holdfast %s%s\n", line, flags)
	}
	a.notef("This node runs jobs of the kinds %s from %s. Ctrl-C stops it. Try, in another terminal:\n\n%s", kinds, database, text.String())
}

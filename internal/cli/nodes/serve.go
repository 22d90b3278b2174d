package nodes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// serveFlags are the flags of "dev" and "worker".
type serveFlags struct {
	allowExec   bool
	slots       int
	queues      []string
	stopTimeout time.Duration
	log         app.LogFlags
}

func (f *serveFlags) add(cmd *cobra.Command, allowExec bool, format string) {
	flags := cmd.Flags()
	flags.BoolVar(&f.allowExec, "allow-exec", allowExec, "run exec jobs: anyone who can enqueue can run commands as this user")
	flags.IntVar(&f.slots, "slots", 100, "run at most `N` jobs at once")
	flags.DurationVar(&f.stopTimeout, "stop-timeout", 20*time.Second, "give running jobs this `DURATION` to finish after the first signal")
	f.log.Add(flags, "info", format)
}

func (a verbs) devCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start a node to try things out",
		Long: `Start a node that runs the built-in kinds exec and http. It prints commands to try, and a line for
each job that starts, completes or fails. The database is created if it does not exist.

On SIGTERM, SIGHUP or Ctrl-C the node claims no more jobs and waits up to --stop-timeout for running
jobs. On a second SIGTERM or Ctrl-C it stops them. Unfinished jobs run again.`,
		Example: `  holdfast dev
  holdfast dev --slots 4 --allow-exec=false --database /tmp/try.db`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet),
		RunE:        a.doServe(&f, true),
	}
	f.add(cmd, true, app.LogShort)
	return cmd
}

func (a verbs) workerCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Start a node that runs the built-in kinds",
		Long: `Start a node that runs the built-in kind http and, with --allow-exec, exec. The schema is created or
upgraded first.

On SIGTERM, SIGHUP or Ctrl-C the node claims no more jobs and waits up to --stop-timeout for running
jobs. On a second SIGTERM or Ctrl-C it stops them. Unfinished jobs run again.`,
		Example: `  holdfast worker --database postgres://localhost/app
  holdfast worker --allow-exec --queue mail=10 --queue reports=2 --slots 12`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet),
		RunE:        a.doServe(&f, false),
	}
	f.add(cmd, false, app.LogText)
	cmd.Flags().StringArrayVar(&f.queues, "queue", nil,
		"serve queue `NAME[=SLOTS]`, with at most SLOTS of its jobs at once; repeatable (default: all queues)")
	return cmd
}

// doServe makes a RunE of a node, which handles the signals itself.
func (a verbs) doServe(f *serveFlags, hints bool) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := a.serve(cmd.Context(), f, hints); err != nil {
			return app.WorkFailed(err)
		}
		return nil
	}
}

func (a verbs) serve(ctx context.Context, f *serveFlags, hints bool) error {
	opts, err := a.nodeOptions(f)
	if err != nil {
		return err
	}
	settings, err := a.LogSettings(&f.log)
	if err != nil {
		return err
	}
	if a.Database == dsn.Memory {
		return arg.Usagef("no other process can see a database in memory; name a file")
	}
	named, err := a.Source()
	if err != nil {
		return err
	}
	// Ctrl-C may end a "tee" that reads the log first. That must lose the log, not the jobs.
	a.Env.OutlivePipes()
	a.Quiet = a.Quiet || settings.Format == app.LogJSON // notes are not JSON
	log, end := a.Logger(settings)
	defer end()
	source := &nodeSource{Source: named, onJoin: func() {
		if hints {
			a.hint(named.String(), f)
		}
	}}
	client, err := a.openNode(ctx, source, append(opts, holdfast.WithLogger(log)))
	if err != nil {
		return err
	}
	if err = register(client, f.allowExec); err == nil {
		err = a.runNode(ctx, client, source)
	}
	if err != nil && !source.joined.Load() {
		err = fmt.Errorf("cannot start a node on %s: %w", named, err)
	}
	return errors.Join(err, app.CloseClient(ctx, client))
}

// openNode opens the database. Ctrl-C works while a server does not answer.
func (a verbs) openNode(ctx context.Context, source store.Source, opts []holdfast.Option) (*holdfast.Client, error) {
	opening, stop := a.Interruptible(ctx)
	client, err := a.OpenClient(opening, source, opts...)
	stop()
	if errors.Is(context.Cause(opening), app.ErrInterrupted) {
		if err == nil {
			err = app.CloseClient(ctx, client)
		}
		return nil, errors.Join(app.ErrInterrupted, err)
	}
	return client, err
}

func register(client *holdfast.Client, allowExec bool) error {
	if err := builtin.RegisterHTTP(client); err != nil || !allowExec {
		return err
	}
	return builtin.RegisterExec(client)
}

func (a verbs) nodeOptions(f *serveFlags) ([]holdfast.Option, error) {
	opts := []holdfast.Option{holdfast.WithStopTimeout(f.stopTimeout), holdfast.WithSlots(f.slots)}
	switch {
	case f.slots < 1:
		return nil, arg.Usagef("--slots %d is not positive", f.slots)
	case f.stopTimeout < 0:
		return nil, arg.Usagef("--stop-timeout %v is negative", f.stopTimeout)
	}
	seen := map[string]bool{}
	for _, q := range f.queues {
		name, text, limited := strings.Cut(q, "=")
		slots := 0
		if limited {
			var err error
			if slots, err = strconv.Atoi(text); err != nil || slots < 1 {
				return nil, arg.Usagef("--queue %q: must be NAME or NAME=SLOTS, such as mail=10", q)
			}
		}
		switch {
		case name == "":
			return nil, arg.Usagef("--queue %q: the name is empty", q)
		case seen[name]:
			return nil, arg.Usagef("--queue %q: the queue %s is given twice", q, name)
		}
		seen[name] = true
		opts = append(opts, holdfast.WithQueue(name, slots))
	}
	return opts, nil
}

// nodeSource records whether a node has joined its store.
type nodeSource struct {
	store.Source

	onJoin func() // called when it joins the first time
	joined atomic.Bool
}

func (s *nodeSource) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &nodeStore{st, s}, nil
}

type nodeStore struct {
	store.Store

	source *nodeSource
}

func (s *nodeStore) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	id, err := s.Store.Join(ctx, info)
	if err == nil && !s.source.joined.Swap(true) && s.source.onJoin != nil {
		s.source.onJoin()
	}
	return id, err
}

// runNode runs the node until a signal, and then as long as its jobs need it.
func (a verbs) runNode(ctx context.Context, client *holdfast.Client, source *nodeSource) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- client.Run(running) }()
	select {
	case err := <-ended:
		return err
	case <-a.Env.Signals:
	}
	a.Notef("Stopping: waiting for running jobs. A second signal stops them now.")
	stop()
	for hurry := false; !hurry; {
		select {
		case err := <-ended:
			return source.forgive(err)
		case signal := <-a.Env.Signals:
			hurry = signal != syscall.SIGHUP // a closing terminal may send it several times
		}
	}
	a.Notef("Stopping now. Unfinished jobs run again.")
	a.Env.Release()
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	cancel()
	// Stop returns before Run does.
	return errors.Join(client.Stop(over), source.forgive(<-ended))
}

// forgive drops the error of a node that was stopped before it had joined, and keeps others, such
// as failing to leave.
func (s *nodeSource) forgive(err error) error {
	if errors.Is(err, context.Canceled) && !s.joined.Load() {
		return nil
	}
	return err
}

package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/listen"
	"github.com/holdfastdev/holdfast/internal/cli/systemd"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/store"
)

const nodeHelp = `

--namespace may be a comma-separated list. The process is then a node in each of the namespaces,
with the same settings. If one of these nodes fails, the others stop as well.

Each setting can also be an environment variable. A flag takes precedence over its variable.

On SIGTERM, SIGHUP or Ctrl-C the node claims no more jobs and waits up to --stop-timeout for running
jobs. On a second SIGTERM or Ctrl-C it stops them. Unfinished jobs run again.`

func (a verbs) devCommand() *cobra.Command {
	f := settings{api: &apiFlags{dev: true}}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Start a node to try things out",
		Long: `Start a node that runs the built-in kinds exec and http. It prints commands to try, and a line for
each job that starts, completes or fails. The database is created if it does not exist.` + nodeHelp,
		Example: `  holdfast dev
  holdfast dev --slots 4 --allow-exec=false --database /tmp/try.db`,
		Args: arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(app.OwnPlace(app.ManyNamespaces(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet))),
			"it serves a database itself, and makes it if need be"),
		RunE: a.doServe(&f, a.works(&f, true)),
	}
	f.add(a, cmd, true, app.LogShort)
	return cmd
}

func (a verbs) workerCommand() *cobra.Command {
	var f settings
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Start a node that runs the built-in kinds",
		Long: `Start a node that runs the built-in kind http and, with --allow-exec, exec. The schema is created or
upgraded first.` + nodeHelp,
		Example: `  holdfast worker --database postgres://localhost/app
  holdfast worker --allow-exec --queue mail=10 --queue reports=2 --slots 12
  HOLDFAST_NAMESPACE=shop,billing HOLDFAST_NODE_NAME='eu-worker-{version}-{id}' holdfast worker`,
		Args:        arg.Takes(0, 0),
		Annotations: app.OwnPlace(app.ManyNamespaces(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet))),
		RunE:        a.doServe(&f, a.works(&f, false)),
	}
	f.add(a, cmd, false, app.LogText)
	return cmd
}

// serving is what a verb serves.
type serving struct {
	source   store.Source
	opts     []holdfast.Option
	hints    bool                         // prints what to try
	register func(*holdfast.Client) error // the handlers of a namespace
}

// works is that of the verbs whose nodes run jobs.
func (a verbs) works(f *settings, hints bool) func() (*serving, error) {
	return func() (*serving, error) {
		source, err := a.Source()
		return &serving{source: source, hints: hints, register: func(c *holdfast.Client) error { return register(c, f) }}, err
	}
}

// doServe makes a RunE of a node, which handles the signals itself.
func (a verbs) doServe(f *settings, of func() (*serving, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := a.serve(cmd, f, of); err != nil {
			return app.WorkFailed(err)
		}
		return nil
	}
}

func (a verbs) serve(cmd *cobra.Command, f *settings, of func() (*serving, error)) error {
	ctx := cmd.Context()
	opts, err := a.nodeOptions(ctx, f)
	if err != nil {
		return err
	}
	logging, err := a.LogSettings(&f.log)
	if err != nil {
		return err
	}
	s, err := of()
	if err != nil {
		return err
	}
	// Ctrl-C may end a "tee" that reads the log first. That must lose the log, not the jobs.
	a.Env.OutlivePipes()
	a.Quiet = a.Quiet || logging.Format == app.LogJSON // notes are not JSON
	a.NoteUnknownVariables(cmd)
	log, end := a.Logger(logging)
	defer end()
	var web *listen.Server
	source := &nodeSource{
		Source: s.source, all: len(a.Namespaces), service: systemd.New(a.Env.LookupEnv), tell: a.tell,
		onJoin: func() { a.says(web, s, f) },
		onStop: func() {
			if web != nil {
				web.Stopping()
			}
		},
	}
	api, err := a.apiOptions(f.api)
	if err != nil {
		return err
	}
	web, err = a.listen(ctx, f, cmd.Flags().Changed(flagListen) || a.NameOf(flagListen) != "--"+flagListen)
	if err != nil {
		return err
	}
	if web != nil {
		defer web.Close(ctx)
		opts = append(opts, web.Option())
	}
	client, err := a.openNode(ctx, source, append(append(opts, s.opts...), holdfast.WithLogger(log)))
	if err != nil {
		return err
	}
	defer f.outside.end()
	nodes, err := a.nodesOf(client, s, f, log)
	if err == nil && web != nil {
		err = a.present(web, client, nodes, f, api, log)
	}
	if err == nil {
		err = a.runNodes(ctx, nodes, source)
	}
	if err != nil && !source.hasJoined() {
		err = fmt.Errorf("cannot start a node on %s: %w", s.source, err)
	}
	return errors.Join(err, closeAll(ctx, web, f.api, client))
}

// closeAll ends what there is beside the nodes: first the requests that are under way, which need
// the client.
func closeAll(ctx context.Context, web *listen.Server, api *apiFlags, client *holdfast.Client) error {
	if web != nil {
		web.Drain(ctx)
	}
	err := api.end(ctx)
	return errors.Join(err, app.CloseClient(ctx, client))
}

// says tells people what there is, once a node has joined.
func (a verbs) says(web *listen.Server, s *serving, f *settings) {
	if web != nil && f.api != nil {
		a.saysAPI(web, f.api)
	}
	if s.hints {
		a.hint(s.source.String(), f)
	}
}

// tell notes that systemd could not be told something.
func (a verbs) tell(err error) {
	if err != nil {
		a.Notef("systemd cannot be told how the service does ($NOTIFY_SOCKET): %v", err)
	}
}

// present serves what there is of nodes, and the API if there is one.
func (a verbs) present(
	web *listen.Server, client *holdfast.Client, nodes []*holdfast.Client, f *settings, api server.Options, log *slog.Logger,
) error {
	web.Nodes(nodes)
	if f.api == nil {
		return nil
	}
	return a.mount(web, client, f, api, log)
}

// listen serves the metrics of the process, and the API if there is one, if it is said where; else
// the server is nil.
func (a verbs) listen(ctx context.Context, f *settings, said bool) (*listen.Server, error) {
	if f.api != nil {
		return a.listenForAPI(ctx, f, said)
	}
	if f.listen == "" && !said {
		return nil, nil //nolint:nilnil // there is none
	}
	s, err := a.listenOn(ctx, f.listen)
	if err != nil {
		return nil, err
	}
	s.Serve()
	a.Notef("Serving /metrics, /healthz and /readyz on %s.", s.URL())
	return s, nil
}

// checkAddress is why an address is none.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q must be HOST:PORT, such as 127.0.0.1:9464", address)
	}
	return nil
}

func (a verbs) listenOn(ctx context.Context, address string) (*listen.Server, error) {
	s, err := listen.On(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.NameOf(flagListen), err)
	}
	return s, nil
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

// nodesOf returns a client for each namespace, with the handlers of its node, and starts the
// processes of these.
func (a verbs) nodesOf(client *holdfast.Client, s *serving, f *settings, log *slog.Logger) ([]*holdfast.Client, error) {
	if err := f.outside.start(log); err != nil {
		return nil, err
	}
	nodes := make([]*holdfast.Client, len(a.Namespaces))
	for i, namespace := range a.Namespaces {
		node, err := client.In(namespace)
		if err != nil {
			return nil, err
		}
		if err := s.register(node); err != nil {
			return nil, err
		}
		nodes[i] = node
	}
	return nodes, nil
}

func register(client *holdfast.Client, f *settings) error {
	err := builtin.RegisterHTTP(client)
	if err == nil && f.allowExec {
		err = builtin.RegisterExec(client)
	}
	if err != nil {
		return err
	}
	return f.outside.register(client)
}

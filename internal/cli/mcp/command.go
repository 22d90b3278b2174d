package mcp

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

// flagPayloads is the flag that shows args and results.
const flagPayloads = "payloads"

type verb struct {
	*app.App

	writes, payloads bool
}

// Command is the verb.
func Command(a *app.App) *cobra.Command {
	v := verb{App: a}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Give assistants tools that look after jobs",
		Long: `Serve the API as tools of the Model Context Protocol, over standard input and output, until the
input ends and what was asked is answered. A client of the protocol, such as an assistant, starts
this command.

Without --` + app.FlagAllowWrites + ` the tools change nothing, and without --` + flagPayloads + ` they show no args, results
and what else jobs carry. With --server the token says what they may do and see, and --` + flagPayloads + `
has no effect. The current context does not count: name it by --context.`,
		Example: `  holdfast mcp --database postgres://localhost/app
  holdfast mcp --database jobs.db --payloads --allow-writes
  HOLDFAST_TOKEN="$token" holdfast mcp --server https://jobs.example.com`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Reads(app.OwnPlace(app.Uses(app.FlagDatabase, app.FlagNamespace)), app.EnvToken),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if a.Server != "" {
				return v.onServer(ctx)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return v.onDatabase(ctx, client) })
		}),
	}
	cmd.Flags().BoolVar(&v.writes, app.FlagAllowWrites, false, "add tools that change something")
	cmd.Flags().BoolVar(&v.payloads, flagPayloads, false, "show what jobs carry, such as args and results")
	return cmd
}

// onServer serves the API of a server.
func (v *verb) onServer(ctx context.Context) error {
	url, client, err := v.API()
	if err != nil {
		return err
	}
	client.CheckRedirect = noRedirects
	c := &caller{url: url, client: client}
	if v.Namespace != app.DefaultNamespace { // else it is that of the token
		c.namespace = v.Namespace
	}
	return v.serve(ctx, c)
}

// onDatabase serves the API of a client.
func (v *verb) onDatabase(ctx context.Context, client *holdfast.Client) error {
	scopes := v.scopes()
	handler, err := server.Handler(client, server.Options{
		Authenticate: func(*http.Request) (access.Principal, error) {
			return access.Principal{Name: "mcp", Scopes: scopes}, nil
		},
		ReadOnly: !v.writes, Stopping: ctx.Done(),
	})
	if err != nil {
		return err
	}
	return v.serve(ctx, &caller{
		url: "http://localhost", namespace: v.Namespace,
		client: &http.Client{Transport: inProcess{handler}, CheckRedirect: noRedirects},
	})
}

// scopes are what the tools may do on a database.
func (v *verb) scopes() (scopes []access.Scope) {
	for _, s := range access.Scopes {
		reads, writes := strings.HasSuffix(string(s), ":read"), strings.HasSuffix(string(s), ":write")
		if s == access.PayloadsRead && v.payloads || s != access.PayloadsRead && reads || writes && v.writes {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

const instructions = "Tools of Holdfast, which runs durable jobs. job-list finds jobs, job-why says why one does not start, " +
	"go on or end, and queue-list says what waits. Lists have pages: give next_cursor as cursor. Payloads may be left out or hidden."

func (v *verb) instructions() string {
	if v.writes {
		return instructions
	}
	return instructions + " These tools only read: those that change something are there if it was started with --allow-writes."
}

// serve serves the tools until standard input ends, and all requests are answered.
func (v *verb) serve(ctx context.Context, c *caller) error {
	found, schemas, err := operations(v.writes)
	if err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "holdfast", Title: "Holdfast", Version: version()}, &mcp.ServerOptions{
		Instructions: v.instructions(), Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	c.hide = func(data []byte) []byte { return v.Hide(data, 0) }
	for _, o := range found {
		s.AddTool(o.tool(schemas), c.handler(o))
	}
	if v.Env.Terminal(v.Env.Stdin) {
		v.Notef("A client of the Model Context Protocol is to start this command; it reads JSON-RPC from standard input. Ctrl-C ends it.")
	}
	err = s.Run(ctx, &transport{in: v.Env.Stdin, out: v.Env.Stdout})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the connection to the client: %w", err)
	}
	return nil
}

// version is that of the program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

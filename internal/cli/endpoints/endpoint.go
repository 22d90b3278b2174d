package endpoints

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// toldEndpoint prints a secret.
func (a verbs) toldEndpoint(e *endpoint.Entry[endpoint.Push], secret string) error {
	a.Notef("This is the secret of the endpoint of kind %s, which cannot be shown again:", output.OneLine(e.Name))
	return a.Object(views.CreatedEndpoint{Endpoint: views.NewEndpoint(e), Secret: secret}, func() { a.Printf("%s", secret) })
}

// checkCallback refuses 0, which would be the default: the flag is left out for that.
func checkCallback(callback time.Duration) error {
	if callback <= 0 {
		return arg.Usagef("--callback %v is not positive", callback)
	}
	return nil
}

// addCallback adds the flag of callbacks.
func addCallback(cmd *cobra.Command, callback *time.Duration) {
	cmd.Flags().DurationVar(callback, "callback", endpoint.DefaultCallback,
		"fail a job that was answered 202 and not called back within this `DURATION`")
}

func (a verbs) createCommand() *cobra.Command {
	var to targetFlags
	var callback time.Duration
	cmd := &cobra.Command{
		Use:   "create KIND",
		Short: "Make an endpoint the handler of a kind, and print its secret",
		Long: `Make an HTTP endpoint the handler of a kind, and print the secret by which requests are signed,
which cannot be shown again. Servers send it the jobs of the kind within seconds.`,
		Example: `  holdfast endpoint create mail --url https://example.com/jobs
  holdfast endpoint create report --url https://example.com/reports --callback 2h --header 'Authorization: Bearer t'`,
		Args:        arg.Takes(1, 1),
		Annotations: usesSecret(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			p := endpoint.Push{Callback: callback}
			if err := checkCallback(callback); err != nil {
				return err
			}
			if err := to.apply(cmd, &p.Target); err != nil {
				return err
			}
			if err := p.Check(); err != nil { // before a database is opened, or made
				return arg.InvalidIsUsage(err)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				e, secret, err := endpoint.CreatePush(ctx, client, args[0], p)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.toldEndpoint(&e, secret)
			})
		}),
	}
	to.add(cmd)
	addCallback(cmd, &callback)
	return cmd
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:         "list",
		Short:       "List endpoints, without their secrets",
		Long:        "List the push endpoints of the namespace, by kind.",
		Example:     "  holdfast endpoint list",
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				err := each(ctx, client, func(e *endpoint.Entry[endpoint.Push]) error {
					return out.Add(views.NewEndpoint(e), func() []string { return views.EndpointRow(a.Env.Now(), e) })
				})
				if err != nil {
					return out.BreakOff(err)
				}
				if out.Count == 0 && out.Format == output.FormatTable {
					a.Notef("No endpoints; \"holdfast endpoint create\" makes one.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Endpoint{}, views.EndpointHeader...)
	return cmd
}

func (a verbs) show(e *endpoint.Entry[endpoint.Push]) error {
	v := views.NewEndpoint(e)
	return a.Object(v, func() {
		a.Printf("kind      %s", output.OneLine(e.Name))
		a.printTarget(&e.Set.Target)
		a.Printf("callback  within %v", e.Set.Callback)
	})
}

// printTarget prints where something is sent.
func (a verbs) printTarget(t *endpoint.Target) {
	a.Printf("url       %s", output.OneLine(t.URL))
	for name := range t.Headers {
		a.Printf("header    %s", name)
	}
	a.Printf("timeout   %v", t.Timeout)
}

func (a verbs) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "get KIND",
		Short:       "Show an endpoint, without its secret",
		Long:        "Show the push endpoint of a kind. Of its headers the names are shown, and not the values.",
		Example:     "  holdfast endpoint get mail",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				e, err := endpoint.Get[endpoint.Push](ctx, client, args[0])
				if err != nil {
					return explain(client, "endpoint", args[0], err)
				}
				return a.show(&e)
			})
		}),
	}
}

func (a verbs) updateCommand() *cobra.Command {
	var to targetFlags
	var callback time.Duration
	cmd := &cobra.Command{
		Use:         "update KIND",
		Short:       "Change an endpoint",
		Long:        "Change what flags say of the endpoint of a kind; the rest stays. Servers know of it within seconds.",
		Example:     "  holdfast endpoint update mail --url https://example.com/new --timeout 10s",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := checkCallback(callback); err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				e, err := endpoint.Update(ctx, client, args[0], func(e *endpoint.Entry[endpoint.Push]) error {
					if cmd.Flags().Changed("callback") {
						e.Set.Callback = callback
					}
					return to.apply(cmd, &e.Set.Target)
				})
				if err != nil {
					return explain(client, "endpoint", args[0], err)
				}
				return a.show(&e)
			})
		}),
	}
	to.add(cmd)
	addCallback(cmd, &callback)
	return cmd
}

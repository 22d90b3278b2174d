package endpoints

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/rules"
)

// Events are those of which webhooks are told, for completions.
var Events = arg.Words(endpoint.Events)

// toldWebhook prints a secret.
func (a verbs) toldWebhook(e *endpoint.Entry[endpoint.Webhook], secret string) error {
	a.Notef("This is the secret of the webhook %s, which cannot be shown again:", output.OneLine(e.Name))
	return a.Object(views.CreatedWebhook{Webhook: views.NewWebhook(e), Secret: secret}, func() { a.Printf("%s", secret) })
}

// filterFlags say of what a webhook is told.
type filterFlags struct {
	events, queues, kinds []string
	where                 string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	arg.TextsVar(flags, &f.events, "event", nil, "tell it of `EVENT`, such as job.failed; repeatable (default: of jobs that have finished)")
	arg.TextsVar(flags, &f.queues, "queue", nil, "only of jobs in `QUEUE`; repeatable (default: in all)")
	arg.TextsVar(flags, &f.kinds, "kind", nil, "only of jobs of `KIND`; repeatable (default: of all)")
	flags.StringVar(&f.where, "filter", "", "only of events of which `EXPRESSION` is true, such as event.data.kind.startsWith('mail')")
}

// expression is the filter; a * takes it away.
func (f *filterFlags) expression() string {
	if f.where == "*" {
		return ""
	}
	return f.where
}

// check refuses an expression that does not compile.
func (f *filterFlags) check() error {
	if err := rules.CheckEvent(f.expression()); err != nil {
		return arg.Usagef("--filter: %v", err)
	}
	return nil
}

// apply changes what flags say.
func (f *filterFlags) apply(cmd *cobra.Command, to *endpoint.Filter) {
	flags := cmd.Flags()
	if flags.Changed("event") {
		to.Events = nil
		for _, e := range given(f.events) {
			to.Events = append(to.Events, endpoint.Event(e))
		}
	}
	if flags.Changed("queue") {
		to.Queues = given(f.queues)
	}
	if flags.Changed("kind") {
		to.Kinds = given(f.kinds)
	}
	if flags.Changed("filter") {
		to.Where = f.expression()
	}
}

// given are the values of a flag but *, by which a filter is taken away.
func given(all []string) (some []string) {
	for _, one := range all {
		if one != "*" {
			some = append(some, one)
		}
	}
	return some
}

func (a verbs) createWebhookCommand() *cobra.Command {
	var to targetFlags
	var filter filterFlags
	cmd := &cobra.Command{
		Use:   "create WEBHOOK",
		Short: "Make a webhook, and print its secret",
		Long: `Make a webhook, which is told of what happens from now on, and print the secret by which requests
are signed, which cannot be shown again. The feed of changes has to be on (see "event on").

The events:
` + events(),
		Example: `  holdfast webhook create crm --url https://example.com/hook
  holdfast webhook create alerts --url https://example.com/alert --event job.failed --queue mail
  holdfast webhook create late --url https://example.com/late --filter "event.data.kind.startsWith('mail.')"`,
		Args:        arg.Takes(1, 1),
		Annotations: usesSecret(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			var w endpoint.Webhook
			if err := to.apply(cmd, &w.Target); err != nil {
				return err
			}
			if err := filter.check(); err != nil {
				return err
			}
			filter.apply(cmd, &w.Filter)
			if err := w.Check(); err != nil { // before a database is opened, or made
				return arg.InvalidIsUsage(err)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				e, secret, err := endpoint.CreateWebhook(ctx, client, args[0], w)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.toldWebhook(&e, secret)
			})
		}),
	}
	to.add(cmd)
	filter.add(cmd)
	return cmd
}

// events are all events, in lines.
func events() string {
	var b strings.Builder
	for i, e := range endpoint.Events {
		if i%4 == 0 && i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "  %-14s", e)
	}
	return b.String()
}

func (a verbs) listWebhooksCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:         "list",
		Short:       "List webhooks, without their secrets",
		Long:        "List the webhooks of the namespace, by name.",
		Example:     "  holdfast webhook list",
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				err := each(ctx, client, func(e *endpoint.Entry[endpoint.Webhook]) error {
					return out.Add(views.NewWebhook(e), func() []string { return views.WebhookRow(e) })
				})
				if err != nil {
					return out.BreakOff(err)
				}
				if out.Count == 0 && out.Format == output.FormatTable {
					a.Notef("No webhooks; \"holdfast webhook create\" makes one.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Webhook{}, views.WebhookHeader...)
	return cmd
}

func (a verbs) showWebhook(e *endpoint.Entry[endpoint.Webhook]) error {
	return a.Object(views.NewWebhook(e), func() {
		row := views.WebhookRow(e)
		a.Printf("name      %s", output.OneLine(e.Name))
		a.printTarget(&e.Set.Target)
		for i, word := range []string{"events", "queues", "kinds", "state"} {
			a.Printf("%-9s %s", word, row[i+2])
		}
		if where := e.Set.Filter.Where; where != "" {
			a.Printf("filter    %s", output.OneLine(where))
		}
	})
}

// find calls f with a webhook.
func (a verbs) find(ctx context.Context, name string, f func(*holdfast.Client, *endpoint.Entry[endpoint.Webhook]) error) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		e, err := endpoint.Get[endpoint.Webhook](ctx, client, name)
		if err != nil {
			return explain(client, "webhook", name, err)
		}
		return f(client, &e)
	})
}

func (a verbs) getWebhookCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "get WEBHOOK",
		Short:       "Show a webhook, without its secret",
		Long:        "Show a webhook. Of its headers the names are shown, and not the values.",
		Example:     "  holdfast webhook get crm",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.find(ctx, args[0], func(_ *holdfast.Client, e *endpoint.Entry[endpoint.Webhook]) error { return a.showWebhook(e) })
		}),
	}
}

func (a verbs) updateWebhookCommand() *cobra.Command {
	var to targetFlags
	var filter filterFlags
	var enabled bool
	cmd := &cobra.Command{
		Use:   "update WEBHOOK",
		Short: "Change a webhook",
		Long: `Change what flags say of a webhook; the rest stays. A * as --event, --queue, --kind or --filter
takes that part away. With --enabled=false it is told of nothing; with --enabled it is told of what
happens from then on.`,
		Example: `  holdfast webhook update crm --event job.failed --event job.cancelled
  holdfast webhook update crm --enabled`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := filter.check(); err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				e, err := endpoint.Update(ctx, client, args[0], func(e *endpoint.Entry[endpoint.Webhook]) error {
					filter.apply(cmd, &e.Set.Filter)
					if err := to.apply(cmd, &e.Set.Target); err != nil || !cmd.Flags().Changed("enabled") {
						return err
					}
					if enabled {
						return endpoint.Enable(ctx, client, &e.Set)
					}
					if e.Set.Disabled == "" {
						e.Set.Disabled = "by " + client.Actor()
					}
					return nil
				})
				if err != nil {
					return explain(client, "webhook", args[0], err)
				}
				return a.showWebhook(&e)
			})
		}),
	}
	to.add(cmd)
	filter.add(cmd)
	cmd.Flags().BoolVar(&enabled, "enabled", false, "tell it of events; =false: of none")
	return cmd
}

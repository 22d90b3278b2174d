// Package endpoints has the verbs on push endpoints and on webhooks.
//
// # Imports
//
// Of ours, the root package, endpoint and store, and of internal/cli the base of all verbs.
package endpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// verbs has the verbs of this package.
type verbs struct{ *app.App }

// page is how many are read at once.
const page = 500

// uses are the global flags of the verbs.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
}

// usesSecret are those of the verbs that print a secret once: never only an id instead.
func usesSecret() map[string]string {
	return app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)
}

// Names are the names of the webhooks that are not in args.
func Names(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	return names[endpoint.Webhook](ctx, client, args)
}

// PushNames finds those of endpoints, which are kinds.
func PushNames(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	return names[endpoint.Push](ctx, client, args)
}

func names[T endpoint.Push | endpoint.Webhook](ctx context.Context, client *holdfast.Client, args []string) (found []string, err error) {
	if len(args) > 0 {
		return nil, nil
	}
	all, err := endpoint.List[T](ctx, client, "", page)
	for i := range all {
		found = append(found, all[i].Name)
	}
	return found, err
}

// explain says what to do about an error.
func explain(client *holdfast.Client, group, name string, err error) error {
	if errors.Is(err, holdfast.ErrNotFound) {
		return fmt.Errorf("no such %s in namespace %q: %s; \"holdfast %s list\" lists them", group,
			client.Namespace(), output.OneLine(name), group)
	}
	return arg.InvalidIsUsage(err)
}

// each calls f with each entry of the namespace.
func each[T endpoint.Push | endpoint.Webhook](ctx context.Context, client *holdfast.Client, f func(e *endpoint.Entry[T]) error) error {
	for after := ""; ; {
		all, err := endpoint.List[T](ctx, client, after, page)
		if err != nil {
			return err
		}
		for i := range all {
			if err := f(&all[i]); err != nil {
				return err
			}
		}
		if len(all) < page {
			return nil
		}
		after = all[len(all)-1].Name
	}
}

// targetFlags say where something is sent.
type targetFlags struct {
	url     string
	headers []string
	timeout time.Duration
}

func (f *targetFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "send to this http or https `URL`")
	arg.TextsVar(flags, &f.headers, "header", nil,
		"send the header `NAME: VALUE` besides, or instead of an earlier one; repeatable; \"NAME:\" leaves it out")
	flags.DurationVar(&f.timeout, "timeout", endpoint.DefaultTimeout, "wait for an answer for this `DURATION`")
}

// apply changes what flags say.
func (f *targetFlags) apply(cmd *cobra.Command, t *endpoint.Target) error {
	if cmd.Flags().Changed("url") {
		t.URL = f.url
	}
	if cmd.Flags().Changed("timeout") {
		if f.timeout <= 0 {
			return arg.Usagef("--timeout %v is not positive", f.timeout)
		}
		t.Timeout = f.timeout
	}
	for _, header := range f.headers {
		name, value, found := strings.Cut(header, ":")
		if !found {
			return arg.Usagef("--header needs a name and a value, such as 'Authorization: Bearer …'")
		}
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		if value = strings.TrimSpace(value); value == "" {
			delete(t.Headers, name)
		} else {
			t.Headers[name] = value
		}
	}
	return nil
}

// rotateCommand is the verb that makes a new secret; told shows it.
func rotateCommand[T endpoint.Push | endpoint.Webhook](
	a verbs, of *cobra.Command, takes string, told func(e *endpoint.Entry[T], secret string) error,
) *cobra.Command {
	group := of.Name()
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate " + takes,
		Short: "Make a new secret, and print it",
		Long: `Make a new secret, and print it: it cannot be shown again. For a while requests are signed by the
old one, too, so that the receiver can change to the new one.`,
		Example:     "  holdfast " + group + " rotate mail --overlap 1h",
		Args:        arg.Takes(1, 1),
		Annotations: usesSecret(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if overlap < 0 {
				return arg.Usagef("--overlap %v is negative", overlap)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				e, secret, err := endpoint.Rotate[T](ctx, client, args[0], overlap)
				if err != nil {
					return explain(client, group, args[0], err)
				}
				return told(&e, secret)
			})
		}),
	}
	cmd.Flags().DurationVar(&overlap, "overlap", endpoint.DefaultOverlap, "sign by the old secret, too, for this `DURATION`; 0: not at all")
	return cmd
}

// deleteCommand is the verb that deletes.
func deleteCommand[T endpoint.Push | endpoint.Webhook](a verbs, of *cobra.Command, takes string) *cobra.Command {
	group := of.Name()
	long := `Delete an endpoint. Jobs of its kind wait for another handler; those that wait for a callback are
woken by it when there is one.`
	if takes == "WEBHOOK" {
		long = "Delete a webhook. Deliveries that were not made yet fail."
	}
	return &cobra.Command{
		Use: "delete " + takes, Short: "Delete one", Long: long, Example: "  holdfast " + group + " delete mail",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if err := endpoint.Delete[T](ctx, client, args[0]); err != nil {
					return explain(client, group, args[0], err)
				}
				return a.Object(deleted{group, args[0]}, func() { a.Printf("deleted %s %s", group, output.OneLine(args[0])) })
			})
		}),
	}
}

// deleted says what is gone.
type deleted struct {
	What string `json:"deleted"`
	Name string `json:"name"`
}

// Identity is that of what is gone.
func (d deleted) Identity() (kind, id string) { return d.What, d.Name }

// Package access has the verbs on namespaces and on API keys.
//
// # Imports
//
// Of ours, the root package, apikey, namespace and store, and of internal/cli the base of all
// verbs.
package access

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// verbs are the verbs of this package.
type verbs struct{ *app.App }

// Roles are those that keys may have, for completions.
var Roles = arg.Words(apikey.Roles)

// Scopes are what a key may be given besides those of its role, for completions.
var Scopes = arg.Words(apikey.Scopes)

// roles are the roles, in words.
const roles = string(apikey.Viewer) + ", " + string(apikey.Operator) + " or " + string(apikey.Admin)

// page is how many are read at once.
const page = 1000

// Commands are the commands on API keys and on namespaces.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	keys := app.Group("key", "Create, list and revoke API keys",
		`Create, list and revoke the keys by which programs and people come in through "holdfast server
--auth keys". A key has the scopes of its role (`+roles+`), and those that it is
given besides, in one namespace or in all.`,
		`  holdfast key create ci --role viewer --in shop --expires 90d
  holdfast key revoke Kp3vX9aQ`)
	keys.AddCommand(v.createKeyCommand(), v.listKeysCommand(), v.revokeKeyCommand())
	return []*cobra.Command{keys, v.namespaceCommand()}
}

// uses are the global flags of the verbs, which are about the whole database.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet))
}

func (a verbs) createKeyCommand() *cobra.Command {
	var params apikey.Params
	var role, expires string
	var scopes []string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API key, and print its secret",
		Long: `Create an API key, and print its secret, which cannot be shown again: the database has only its
hash. NAME is for people, such as what uses the key.

The roles: viewer sees everything but payloads; ` + string(apikey.Operator) + ` sees payloads, too, and changes everything
but keys and namespaces; admin may do everything. The scopes:
` + columnsOf(apikey.Scopes),
		Example: `  holdfast key create ci --role viewer --in shop --expires 90d
  holdfast key create producer --scope jobs:write --in shop
  holdfast key create ops --role admin --output json | jq -r .secret`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			params.Name, params.Role = args[0], apikey.Role(role)
			for _, s := range scopes {
				params.Scopes = append(params.Scopes, apikey.Scope(s))
			}
			if cmd.Flags().Changed("expires") {
				t, err := arg.ParseFromNow(expires, a.Env.Now())
				if err != nil {
					return fmt.Errorf("--expires: %w", err)
				}
				params.ExpiresAt = t
			}
			if _, _, err := apikey.New(params); err != nil { // before a database is opened, or made
				return arg.InvalidIsUsage(err)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				key, secret, err := apikey.Create(ctx, client, params)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				a.Notef("Created the API key %s. This is its secret, which cannot be shown again:", key.ID)
				return a.Object(views.CreatedAPIKey{APIKey: views.NewAPIKey(&key), Secret: secret}, func() { a.Printf("%s", secret) })
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&role, "role", "", "give it the scopes of `ROLE`: "+roles)
	arg.TextsVar(flags, &scopes, "scope", nil, "give it `SCOPE` besides; repeatable")
	flags.StringVar(&params.Namespace, "in", "", "let it be used in `NAMESPACE` alone (default: in all)")
	flags.StringVar(&expires, "expires", "", "let it expire at `TIME`, or after a duration such as 90d (default: never)")
	return cmd
}

// columnsOf lists words in four columns.
func columnsOf[T ~string](list []T) string {
	var lines []string
	for row := range slices.Chunk(list, 4) {
		var line strings.Builder
		for _, word := range row {
			fmt.Fprintf(&line, "  %-18s", word)
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return strings.Join(lines, "\n")
}

func (a verbs) listKeysCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var in string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List API keys, without their secrets",
		Long: `List the API keys of the database by their ids, also those that are revoked or have expired, for 90
days. The id of a key is the first part of its secret, behind hf_.`,
		Example: `  holdfast key list
  holdfast key list --in shop`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				for after := ""; ; {
					keys, err := apikey.List(ctx, client, in, after, page)
					if err != nil {
						return out.BreakOff(err)
					}
					for i := range keys {
						row := func() []string { return views.APIKeyRow(a.Env.Now(), &keys[i]) }
						if err := out.Add(views.NewAPIKey(&keys[i]), row); err != nil {
							return err
						}
					}
					if len(keys) < page {
						break
					}
					after = keys[len(keys)-1].ID
				}
				if out.Count == 0 && out.Format == output.FormatTable {
					a.Notef("No API keys; \"holdfast key create\" makes one.")
				}
				return out.End()
			})
		}),
	}
	cmd.Flags().StringVar(&in, "in", "", "only keys of `NAMESPACE` alone")
	columns.Add(cmd, views.APIKey{}, views.APIKeyHeader...)
	return cmd
}

// KeyIDs finds the ids of keys.
func KeyIDs(ctx context.Context, client *holdfast.Client, _ []string) (found []string, err error) {
	keys, err := apikey.List(ctx, client, "", "", page)
	for i := range keys {
		found = append(found, keys[i].ID+"\t"+keys[i].Name)
	}
	return found, err
}

func (a verbs) revokeKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY",
		Short: "Revoke an API key for good",
		Long: `Revoke an API key for good. Servers may let it in for 10 seconds more. It is listed for 90 days. KEY
is its id, or the secret.`,
		Example:     "  holdfast key revoke Kp3vX9aQ",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id := args[0]
			if of, err := apikey.Parse(id); err == nil {
				id = of
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				key, err := apikey.Revoke(ctx, client, id)
				if err != nil {
					return err
				}
				return a.Object(views.NewAPIKey(&key), func() { a.Printf("revoked API key %s (%s)", key.ID, output.OneLine(key.Name)) })
			})
		}),
	}
}

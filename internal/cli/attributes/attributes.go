// Package attributes has the verbs on search attributes.
//
// This package imports the root package, search and store, and of internal/cli the base of all
// verbs.
package attributes

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/store"
)

// verbs are the verbs of this package.
type verbs struct{ *app.App }

// uses are the global flags of the verbs.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
}

// Command is the command on search attributes.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("attribute", "Declare values by which jobs are found",
		`Declare, list and delete the search attributes of a namespace: names and types of values that jobs
may have, and by which they are found, however many others there are. "job enqueue --attr" and
programs set values, and the filters of jobs take them: "job list --attr customer=acme".`,
		`  holdfast attribute declare customer --type keyword
  holdfast job enqueue order --args '{"id":7}' --attr customer=acme
  holdfast job list --attr customer=acme`)
	cmd.AddCommand(v.declareCommand(), v.listCommand(), v.deleteCommand())
	return cmd
}

func (a verbs) declareCommand() *cobra.Command {
	var typ string
	cmd := &cobra.Command{
		Use:   "declare NAME...",
		Short: "Declare search attributes",
		Long: `Declare search attributes of one type in the namespace. Those that are declared with that type stay
as they are; of those with another one none is changed, and it is said which type they have. A
namespace may have 100.`,
		Example: `  holdfast attribute declare customer region --type keyword
  holdfast attribute declare amount --type int`,
		Args:        arg.Takes(1, -1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			t, err := store.ParseAttributeType(typ)
			if err != nil {
				return arg.Usagef("--type %q: must be keyword, int, float, bool or time", output.Clip(typ, output.MaxName))
			}
			all := make([]search.Attribute, len(args))
			for i, name := range args {
				all[i] = named{name, t}
			}
			declare := func(ctx context.Context, client *holdfast.Client) error { return search.Declare(ctx, client, all...) }
			if err := a.Rehearse(ctx, declare); err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if err := declare(ctx, client); err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.showDeclared(ctx, client, args)
			})
		}),
	}
	cmd.Flags().StringVar(&typ, "type", store.AttributeKeyword.String(), "`TYPE` of the values: keyword, int, float, bool or time")
	return cmd
}

// named is an attribute that a person names.
type named struct {
	name string
	typ  store.AttributeType
}

func (n named) Name() string { return n.name }

func (n named) Type() store.AttributeType { return n.typ }

// showDeclared prints those of some names.
func (a verbs) showDeclared(ctx context.Context, client *holdfast.Client, names []string) error {
	out, err := a.List(&app.ColumnsFlag{})
	if err != nil {
		return err
	}
	all, err := search.List(ctx, client)
	if err != nil {
		return out.BreakOff(err)
	}
	return a.print(out, client, all, func(a *store.DeclaredAttribute) bool {
		return slices.Contains(names, a.Name)
	})
}

func (a verbs) print(
	out *output.List, client *holdfast.Client, all []store.DeclaredAttribute, shown func(*store.DeclaredAttribute) bool,
) error {
	for i := range all {
		one := &all[i]
		if !shown(one) {
			continue
		}
		row := func() []string { return views.AttributeRow(a.Env.Now(), one) }
		if err := out.Add(views.NewAttribute(client.Namespace(), one), row); err != nil {
			return err
		}
	}
	return out.End()
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the search attributes of the namespace",
		Long:  `List the search attributes that the namespace has declared, by name, with their types.`,
		Example: `  holdfast attribute list
  holdfast attribute list --output json | jq -r '.[].name'`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				all, err := search.List(ctx, client)
				if err != nil {
					return out.BreakOff(err)
				}
				if len(all) == 0 && out.Format == output.FormatTable {
					a.Notef("No search attributes; \"holdfast attribute declare\" makes some.")
				}
				return a.print(out, client, all, func(*store.DeclaredAttribute) bool { return true })
			})
		}),
	}
	columns.Add(cmd, views.Attribute{}, views.AttributeHeader...)
	return cmd
}

func (a verbs) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a search attribute, with all values that jobs have for it",
		Long: `Delete a search attribute from the namespace, with all values that jobs have for it, a thousand at a
time. From the beginning no job is found by it, and values that programs set are dropped. If it is
interrupted, running it again goes on. Stop what sets the attribute first: afterwards it is an error
there.`,
		Example:     `  holdfast attribute delete region`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if err := search.Delete(ctx, client, args[0]); err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.Object(views.DeletedAttribute{Namespace: client.Namespace(), Name: args[0], Deleted: true}, func() {
					a.Printf("deleted attribute %s", output.OneLine(args[0]))
				})
			})
		}),
	}
}

// Names are the names of the search attributes of the namespace, whatever was given before.
func Names(ctx context.Context, client *holdfast.Client, _ []string) (found []string, err error) {
	all, err := search.List(ctx, client)
	for i := range all {
		found = append(found, all[i].Name)
	}
	return found, err
}

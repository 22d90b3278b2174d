package access

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/namespace"
)

func (a verbs) namespaceCommand() *cobra.Command {
	cmd := app.Group("namespace", "Create, list and delete namespaces",
		`Create, list, show and delete namespaces. A namespace need not be created: one is there as soon as
something is in it. Creating one keeps a note of what it is for, and who has made it.`,
		`  holdfast namespace create shop --note "the web shop; ask Ann"
  holdfast namespace list`)
	cmd.AddCommand(a.createNamespaceCommand(), a.listNamespacesCommand(), a.getNamespaceCommand(), a.deleteNamespaceCommand())
	return cmd
}

func (a verbs) createNamespaceCommand() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:         "create NAME",
		Short:       "Create a namespace",
		Long:        `Create a namespace, or say what one that is in use is for.`,
		Example:     `  holdfast namespace create shop --note "the web shop; ask Ann"`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				n, err := namespace.Create(ctx, client, args[0], note)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.Object(views.NewNamespace(&n), func() { a.Printf("created namespace %s", output.OneLine(n.Name)) })
			})
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "keep this `TEXT` with it, of up to 1000 bytes")
	return cmd
}

func (a verbs) listNamespacesCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List namespaces",
		Long: `List the namespaces that were created, and those in use: with a queue, a schedule, a limit, a node
that lives, or an API key.`,
		Example:     "  holdfast namespace list",
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				for after := ""; ; {
					all, err := namespace.List(ctx, client, after, page)
					if err != nil {
						return out.BreakOff(err)
					}
					for i := range all {
						row := func() []string { return views.NamespaceRow(a.Env.Now(), &all[i]) }
						if err := out.Add(views.NewNamespace(&all[i]), row); err != nil {
							return err
						}
					}
					if len(all) < page {
						return out.End()
					}
					after = all[len(all)-1].Name
				}
			})
		}),
	}
	columns.Add(cmd, views.Namespace{}, views.NamespaceHeader...)
	return cmd
}

// NamespaceNames finds those of namespaces.
func NamespaceNames(ctx context.Context, client *holdfast.Client, _ []string) (found []string, err error) {
	all, err := namespace.List(ctx, client, "", page)
	for i := range all {
		found = append(found, all[i].Name)
	}
	return found, err
}

func (a verbs) getNamespaceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get NAME",
		Short: "Show a namespace, and how much is in it",
		Long: `Show a namespace, and how much is in it: jobs by state, queues, schedules, limits, nodes that live
and API keys. It counts up to 10,000 jobs of a state, and a thousand schedules and keys.`,
		Example:     "  holdfast namespace get shop",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				d, err := namespace.Get(ctx, client, args[0])
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.Object(views.NewNamespaceDetails(&d), func() {
					for _, line := range views.NamespaceLines(a.Env.Now(), &d) {
						a.Printf("%-10s %s", line[0], output.OneLine(line[1]))
					}
				})
			})
		}),
	}
}

func (a verbs) deleteNamespaceCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a namespace that is empty",
		Long: `Delete a namespace, with its queues. While there are jobs in it (finished ones as well), schedules,
limits, nodes that live or API keys that are valid, it is refused, and said what is there.`,
		Example:     "  holdfast namespace delete shop",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if err := namespace.Delete(ctx, client, args[0]); err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.Object(views.DeletedNamespace{Namespace: args[0], Deleted: true}, func() {
					a.Printf("deleted namespace %s", output.OneLine(args[0]))
				})
			})
		}),
	}
}

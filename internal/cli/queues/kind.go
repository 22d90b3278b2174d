package queues

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) kindCommand() *cobra.Command {
	kind := app.Group("kind", "List and describe kinds of jobs",
		"List the kinds of jobs, and which of them no node serves; and show what code tells of them.",
		"  holdfast kind list\n  holdfast kind get send-mail")
	kind.Aliases = []string{"kinds"}
	kind.AddCommand(a.kindListCommand(), a.kindGetCommand(), a.kindForgetCommand())
	return kind
}

func (a verbs) kindListCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var watch app.WatchFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List kinds of jobs",
		Long: `List the kinds of jobs of the namespace: those that live nodes serve, those of jobs that are
available and that no live node claims, and those that code has described. Kinds of other jobs are
not known; "job list --kind" finds their jobs.`,
		Example: `  holdfast kind list
  holdfast kind list --output json | jq -r '.[] | select(.unserved != []).name'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ShowList(ctx, &watch, &columns, func(client *holdfast.Client, out *output.List) error {
				nodes, err := client.Nodes(ctx)
				if err != nil {
					return err
				}
				unserved, err := client.Unserved(ctx)
				if err != nil {
					return err
				}
				described, err := describedKinds(ctx, client)
				if err != nil {
					return err
				}
				now := a.Env.Now()
				kinds := views.KindsOf(client.Namespace(), nodes, unserved, described, now)
				for i := range kinds {
					if err := out.Add(kinds[i], func() []string { return views.KindRow(now, &kinds[i]) }); err != nil {
						return err
					}
				}
				if len(kinds) == 0 && out.Format == output.FormatTable {
					a.Notef("No kinds: no node is alive, no job waits for one, and none is described.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Kind{}, views.KindHeader...)
	watch.Add(a.App, cmd)
	return cmd
}

// describedKinds are the kinds of which code has told.
func describedKinds(ctx context.Context, client *holdfast.Client) (names []string, err error) {
	for after := ""; ; {
		page, err := describe.List(ctx, client, store.SubjectKind, after, app.MaxPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			after = page[i].Name
			names = append(names, after)
		}
		if len(page) < app.MaxPage {
			return names, nil
		}
	}
}

// toldOf is what code tells of a queue or a kind; nil: nothing.
func (a verbs) toldOf(ctx context.Context, client *holdfast.Client, subject store.Subject, name string) (*describe.Described, error) {
	told, err := describe.Get(ctx, client, subject, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil //nolint:nilnil // nothing is told
	case err != nil:
		return nil, err
	}
	told.Info.Example = a.Hide(told.Info.Example, 0)
	return &told, nil
}

func (a verbs) kindGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get KIND",
		Short: "Show a kind of jobs",
		Long: `Show a kind of jobs: which live nodes serve it, in which queues jobs of it wait in vain, and what
code tells of it: who owns it, where it is documented, and the JSON Schemas of its args and of its
result.`,
		Example: `  holdfast kind get send-mail
  holdfast kind get send-mail --output json | jq .descriptor.args`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				nodes, err := client.Nodes(ctx)
				if err != nil {
					return err
				}
				unserved, err := client.Unserved(ctx)
				if err != nil {
					return err
				}
				told, err := a.toldOf(ctx, client, store.SubjectKind, args[0])
				if err != nil {
					return err
				}
				view, known := views.WholeKindOf(args[0], views.KindsOf(client.Namespace(), nodes, unserved, nil, a.Env.Now()), told)
				if !known {
					return fmt.Errorf("kind %q of namespace %q is not known: no live node serves it, no job of it waits in vain, and no code tells of it",
						output.OneLine(args[0]), client.Namespace())
				}
				return a.Object(view, func() { views.PrintKind(&a.Printer, a.Env.Now(), &view.Kind, told) })
			})
		}),
	}
}

func (a verbs) kindForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forget KIND...",
		Short: "Forget what code has told of kinds of jobs",
		Long: `Forget what code has told of kinds of jobs, such as of those that there are no more. The next node
to start tells again what its code describes. Jobs are not touched.`,
		Example:     `  holdfast kind forget send-fax`,
		Args:        arg.Takes(1, -1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				out := a.NewList()
				for _, name := range args {
					forgotten, err := describe.Forget(ctx, client, store.SubjectKind, name)
					if err != nil {
						return errors.Join(err, out.End())
					}
					view := views.ForgottenKind{Namespace: client.Namespace(), Kind: name, Forgotten: forgotten}
					switch {
					case out.Format != output.FormatTable:
						if err := out.Add(view, nil); err != nil {
							return err
						}
					case forgotten:
						a.Printf("forgot what code has told of kind %s", output.OneLine(name))
					default:
						a.Printf("nothing is told of kind %s", output.OneLine(name))
					}
				}
				return out.End()
			})
		}),
	}
}

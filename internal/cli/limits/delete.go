package limits

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) deleteCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "delete LIMIT...",
		Short: "Delete limits",
		Long: `Delete limits: their jobs are without them. Nodes give back the slots that they do not use; if after
two seconds jobs still run under a limit it is not deleted, and the nodes are named, unless --force
is given. A limit per key is deleted while its jobs run, without --force. A limit that code declares
comes back when the program starts the next time; one that a person has raised with "limit set"
stays as it is.`,
		Example: `  holdfast limit delete slack
  holdfast limit delete slack --force`,
		Args:        arg.Takes(1, -1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.deleteAll(ctx, client, names, force) })
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "also while jobs run under the limit")
	return cmd
}

// deleteAll deletes those that it can, and names the others.
func (a verbs) deleteAll(ctx context.Context, client *holdfast.Client, names []string, force bool) error {
	out := a.NewList()
	var failed []error
	for _, name := range names {
		l, err := limit.Get(ctx, client, name)
		if err == nil {
			err = limit.Delete(ctx, client, name, force)
		}
		_, held := errors.AsType[*store.HeldError](err)
		if err != nil && !held && !errors.Is(err, holdfast.ErrNotFound) {
			return errors.Join(err, out.End())
		}
		view := views.DeletedLimit{Namespace: client.Namespace(), Limit: name, Deleted: err == nil}
		if err != nil {
			err = explain(client, name, err)
			view.Error = views.Text(app.Explain(err))
			failed = append(failed, err)
		} else {
			a.noteDeclared(&l)
		}
		switch {
		case out.Format != output.FormatTable:
			if err := out.Add(view, nil); err != nil {
				return err
			}
		case err == nil:
			a.Printf("deleted limit %s", output.OneLine(name))
		}
	}
	if err := out.End(); err != nil || len(failed) < 2 {
		return errors.Join(append(failed, err)...)
	}
	for _, err := range failed {
		a.Complain(err)
	}
	return fmt.Errorf("%d of %d limits were not deleted", len(failed), len(names))
}

// noteDeclared says that a limit which was deleted comes back, if code declares it.
func (a verbs) noteDeclared(l *store.Limit) {
	if l.Declared != "" {
		a.Notef("Code declares limit %s, which comes back when that starts the next time; to be without it, "+
			"raise it with \"holdfast limit set %s\".", output.OneLine(l.Name), output.Quote(l.Name))
	}
}

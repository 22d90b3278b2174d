package operations

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// mostHere is how many jobs are changed by a command itself. If there are more, nodes do it.
const mostHere = 1000

// Place says where the jobs are changed that filters of a verb select.
type Place struct{ here, detach bool }

// Add adds the flags to a verb.
func (p *Place) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.here, "foreground", false,
		fmt.Sprintf("with filters: change the jobs here, even if there are more than %d", mostHere))
	cmd.Flags().BoolVar(&p.detach, "detach", false, "with filters: start an operation, and do not wait for it")
}

// Check refuses what does not go together. filtered: jobs are selected by flags.
func (p *Place) Check(filtered, dryRun bool) error {
	switch {
	case p.here && p.detach:
		return arg.Usagef("--foreground and --detach exclude each other")
	case p.detach && dryRun:
		return arg.Usagef("--detach and --dry-run exclude each other")
	case (p.here || p.detach) && !filtered:
		return arg.Usagef("--foreground and --detach require a filter, such as --state failed")
	}
	return nil
}

// IsNode reports whether a node is to change the jobs, of which there are total if that is known
// and -1 if not. It returns how many there are, as far as is known then.
func (p *Place) IsNode(ctx context.Context, client *holdfast.Client, filter store.Filter, total int) (bool, int, error) {
	if p.here {
		return false, total, nil
	}
	if total < 0 {
		count, err := client.Count(ctx, filter)
		if err != nil {
			return false, total, err
		}
		if !count.More {
			total = count.N
		}
	}
	return p.detach || total < 0 || total > mostHere, total, nil
}

// Start starts an operation and follows it, or prints it if the user does not want to wait.
func (p *Place) Start(ctx context.Context, a *app.App, client *holdfast.Client, op operation.Operation) error {
	served, err := isServed(ctx, client)
	if err != nil {
		return err
	}
	if !served && !p.detach {
		return app.ExitWith(app.ExitError, fmt.Sprintf("there are more than %d jobs, and no live node of namespace %s that would change them; "+
			"start one, or use --foreground to change them here, or --detach to leave them to a node that starts later",
			mostHere, client.Namespace()))
	}
	id, err := operation.Start(ctx, client, op)
	if err != nil {
		return arg.InvalidIsUsage(err)
	}
	if p.detach {
		o, err := operation.Get(ctx, client, id)
		if err != nil {
			return err
		}
		return a.Object(views.NewOperation(&o), func() { a.Printf("started operation %s", id) })
	}
	a.Notef("Operation %s has started; it goes on if this command ends.", id)
	return Follow(ctx, a, client, id)
}

// isServed reports whether a live node works on operations of the client's namespace.
func isServed(ctx context.Context, client *holdfast.Client) (bool, error) {
	nodes, err := client.Nodes(ctx)
	return slices.ContainsFunc(nodes, func(n store.Node) bool {
		return n.DeadAt.IsZero() && (n.Info.Namespace == "" || n.Info.Namespace == client.Namespace()) &&
			slices.Contains(n.Info.Kinds, operation.Kind)
	}), err
}

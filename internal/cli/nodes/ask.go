package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// Names finds the numbers of living nodes, but for those among the args.
func Names(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	nodes, err := client.Nodes(ctx)
	var found []string
	for i := range nodes {
		n := &nodes[i]
		if id := strconv.FormatInt(n.ID, 10); n.DeadAt.IsZero() && !slices.Contains(args, id) {
			found = append(found, id+"\t"+output.OneLine(n.Info.Name))
		}
	}
	return found, err
}

func (a verbs) askCommand(verb, short, long string, mode store.NodeMode) *cobra.Command {
	return &cobra.Command{
		Use:         verb + " NODE...",
		Short:       short,
		Long:        long,
		Example:     "  holdfast node " + verb + " 7\n  holdfast node " + verb + " shop-1 shop-2",
		Args:        arg.Takes(1, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				nodes, err := client.Nodes(ctx)
				if err != nil {
					return err
				}
				ids := make([]int64, len(names))
				for i, name := range names {
					if ids[i], err = numberOf(name, nodes); err != nil {
						return err
					}
				}
				return a.askNodes(ctx, client, ids, mode)
			})
		}),
	}
}

// numberOf returns the number of a node that is named by its number or by its name, as one that
// lives; if several live under that name it says which.
func numberOf(name string, nodes []store.Node) (int64, error) {
	if id, err := strconv.ParseInt(strings.TrimPrefix(name, "node/"), 10, 64); err == nil {
		return id, nil
	}
	var found []string
	id := int64(0)
	for i := range nodes {
		if n := &nodes[i]; n.Info.Name == name && n.DeadAt.IsZero() {
			id = n.ID
			found = append(found, strconv.FormatInt(id, 10))
		}
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf(`no live node has the name %s; "holdfast node list" lists the nodes`, output.OneLine(name))
	case 1:
		return id, nil
	}
	return 0, fmt.Errorf("several nodes have the name %s: %s; name them by their numbers", output.OneLine(name), strings.Join(found, ", "))
}

// askNodes asks those that it can, and names the others.
func (a verbs) askNodes(ctx context.Context, client *holdfast.Client, ids []int64, mode store.NodeMode) error {
	ask, word := client.ResumeNode, "resumed"
	switch mode {
	case store.NodeQuiet:
		ask, word = client.QuietNode, "quiet"
	case store.NodeDrains:
		ask, word = client.DrainNode, "draining"
	default:
	}
	out := a.NewList()
	var failed []error
	for _, id := range ids {
		err := ask(ctx, id)
		view := views.AskedNode{Node: views.Big(id), Mode: mode.String()}
		switch {
		case errors.Is(err, holdfast.ErrNotFound):
			err = fmt.Errorf(`no such node: %d; "holdfast node list" lists the nodes`, id)
		case errors.Is(err, store.ErrNodeDead):
			err = fmt.Errorf(`node %d has ended; if its process goes on, it has joined again: "holdfast node list" lists the nodes`, id)
		case errors.Is(err, holdfast.ErrConflict):
			err = fmt.Errorf("node %d is draining: it stops when its jobs have ended, and cannot be asked for anything else", id)
		case err != nil:
			return errors.Join(err, out.End())
		}
		if err != nil {
			failed = append(failed, err)
			view.Error = views.Text(app.Explain(err))
		}
		switch {
		case out.Format != output.FormatTable:
			if err := out.Add(view, nil); err != nil {
				return err
			}
		case err == nil:
			a.Printf("node %d: %s", id, word)
		}
	}
	if err := out.End(); err != nil || len(failed) < 2 {
		return errors.Join(append(failed, err)...)
	}
	for _, err := range failed {
		a.Complain(err)
	}
	return fmt.Errorf("%d of %d nodes were not asked", len(failed), len(ids))
}

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// withIDs returns the arguments of a verb with the ids of the jobs that they name: by the beginning
// of an id, or by a business key.
func (a *App) withIDs(ctx context.Context, cmd *cobra.Command, args []string) ([]string, error) {
	key, given, err := arg.KeyOf(cmd, args)
	if err != nil {
		return args, err
	}
	if given {
		id, err := a.FindKey(ctx, key)
		if err != nil {
			return args, err
		}
		args = slices.Insert(slices.Clone(args), 0, id.String())
	}
	return a.wholeIDs(ctx, cmd, args)
}

// FindKey returns the id of the job that has a business key.
func (a *App) FindKey(ctx context.Context, key arg.JobKey) (holdfast.ID, error) {
	client, err := a.keep(ctx)
	if err != nil {
		return holdfast.ID{}, err
	}
	id, err := client.FindKey(ctx, key.Kind, key.Key)
	if errors.Is(err, holdfast.ErrNotFound) {
		return id, fmt.Errorf("no such job in namespace %q: no job of kind %q has the key %q", client.Namespace(), key.Kind, key.Key)
	}
	return id, arg.InvalidIsUsage(err)
}

// keep opens the database before the work of a verb does, which uses it then.
func (a *App) keep(ctx context.Context) (*holdfast.Client, error) {
	if a.kept != nil {
		return a.kept, nil
	}
	client, err := a.open(ctx)
	if err == nil {
		a.kept = client
	}
	return client, err
}

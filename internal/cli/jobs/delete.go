package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/operation"
)

func (a verbs) jobDeleteCommand() *cobra.Command {
	var reason string
	all := bulk{
		doing: "deletes", done: "deleted", others: wouldBeRefused, action: operation.Delete, reason: &reason,
		otherwise: arg.Finished, accepts: arg.Finished,
		change: func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
			results, err := client.Delete(ctx, reason, ids...)
			changes := make([]changed, len(results))
			for i, r := range results {
				changes[i] = changed{state: r.State, err: r.Err, words: "is deleted"}
				if errors.Is(r.Err, holdfast.ErrConflict) && !r.State.Finished() {
					changes[i].err = fmt.Errorf("it is %s; only finished jobs are deleted, and \"holdfast job cancel\" ends it", r.State)
				}
			}
			return changes, err
		},
	}
	cmd := &cobra.Command{
		Use:   "delete [ID...]",
		Short: "Delete finished jobs",
		Long: `Delete finished jobs before their retention is over, with their journals, results, messages and
keys. Jobs that have not finished, or that have children which have not, are refused.

Select jobs by id, by a business key (--kind and --key alone), or with the filters of "job list";
without --state, filters select all finished jobs. They are deleted 500 at a time, the newest first.
If there are more than 100, you are asked to type their number; scripts use --yes. More than 1000
are deleted by an operation, which goes on whatever becomes of the command: see "operation".`,
		Example: `  holdfast job delete ` + arg.ExampleID + ` --reason "holds a password"
  holdfast job delete --state completed --kind report --finished-before 7d --dry-run`,
		Args:        arg.Takes(0, -1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.changeSome(ctx, cmd, args, &all)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record as the reason")
	all.add(cmd)
	return cmd
}

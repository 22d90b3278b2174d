package limits

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) resumeCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "resume LIMIT",
		Short: "Take back that a limit is drained",
		Long: `Take back a drain of a limit that has not ended: jobs start again at once, one by one as the rate
says. If some started just before the drain the first one comes as late after those as the rate
says. A limit that is not drained is left alone.`,
		Example: `  holdfast limit resume slack
  holdfast limit resume slack --reason "they are well again"`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				before, err := limit.Get(ctx, client, args[0])
				if err != nil {
					return explain(client, args[0], err)
				}
				return a.tellNow(ctx, client, args[0], limit.Resume(ctx, client, args[0], reason), func(l *store.Limit) {
					if l.Resumed == before.Resumed {
						a.Printf("limit %s is not drained", output.OneLine(l.Name))
						return
					}
					until := before.DrainedUntil.UTC().Format(time.RFC3339)
					a.Printf("limit %s: permits come again now, not at %s", output.OneLine(l.Name), until)
				})
			})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record as the reason")
	return cmd
}

// tellNow tells what a limit is after a change, whose error is given, unless that has failed. text
// prints it.
func (a verbs) tellNow(ctx context.Context, client *holdfast.Client, name string, changed error, text func(*store.Limit)) error {
	if changed != nil {
		return explain(client, name, changed)
	}
	l, err := limit.Get(ctx, client, name)
	if err != nil {
		return explain(client, name, err)
	}
	return a.Object(views.NewLimit(&l), func() { text(&l) })
}

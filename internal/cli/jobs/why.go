package jobs

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) jobWhyCommand() *cobra.Command {
	return arg.ByKey(&cobra.Command{
		Use:   "why ID",
		Short: "Explain why a job is not running",
		Long: `Explain why a job does not start, continue or end: what holds it up, the nearest cause first, each
with a code for programs and a sentence that says what to do about it.`,
		Example: `  holdfast job why ` + arg.ExampleID + `
  holdfast job why ` + arg.ExampleID + ` --output json | jq -r '.why[].code'`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				e, err := client.Why(ctx, id)
				if err != nil {
					return err
				}
				return a.Object(views.NewWhy(&e), func() { views.PrintWhy(&a.Printer, a.Env.Now(), &e) })
			})
		}),
	})
}

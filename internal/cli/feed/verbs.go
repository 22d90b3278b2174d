package feed

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// verbs has the verbs on the feed.
type verbs struct{ *app.App }

// Command is the command on the feed.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("event", "Follow every change of a job's state",
		`Switch on, off and read the feed of changes: every change of a job's state, without gaps, and causes
before their effects. It is off at first.`,
		`  holdfast event on
  holdfast event list --queue mail --state failed --follow`)
	cmd.Aliases = []string{"events"}
	cmd.AddCommand(v.listCommand(),
		v.switching("on", "Switch the feed on",
			`Switch the feed on, for all processes of the database. It tells whatever is changed by transactions
that begin to write afterwards. On PostgreSQL it waits, up to 30 seconds, for transactions that use
the tables of jobs, and the user has to own these.`, events.On),
		v.switching("off", "Switch the feed off",
			`Switch the feed off, for all processes of the database, and remove all changes that it keeps.
Switched on again it has other positions.`, events.Off),
		v.switching("status", "Show whether the feed is on", `Show whether the feed is on, since when, and between which positions it keeps
changes.`, events.Look))
	return cmd
}

// switching is a verb that answers with the status of the feed.
func (a verbs) switching(
	name, short, long string, do func(context.Context, *holdfast.Client) (events.Status, error),
) *cobra.Command {
	return &cobra.Command{
		Use:         name,
		Short:       short,
		Long:        long,
		Example:     `  holdfast event ` + name,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				status, err := do(ctx, client)
				if err != nil {
					return err
				}
				return a.Object(views.NewFeed(&status), func() {
					if !status.On {
						a.Printf("the feed is off")
						return
					}
					a.Printf("the feed is on since %s; kept are %d changes, after %s up to %s",
						output.Clock(status.Since), status.Newest.Count-status.Oldest.Count, status.Oldest, status.Newest)
				})
			})
		}),
	}
}

package schedules

import (
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// Command is the command on schedules.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("schedule", "Enqueue jobs at times: by cron expressions, at intervals, once",
		`Make, show, preview, change, pause, trigger, backfill and delete schedules. A schedule enqueues a
job at times: by a cron expression in a time zone, at an interval, or once. The node that leads
fires it.`,
		`  holdfast schedule create nightly report --cron '30 2 * * *' --tz Europe/Berlin
  holdfast schedule list`)
	cmd.Aliases = []string{"schedules"}
	cmd.AddCommand(v.createCommand(), v.listCommand(), v.getCommand(), v.nextCommand(), v.runsCommand(), v.updateCommand(),
		v.pauseCommand(), v.resumeCommand(), v.triggerCommand(), v.backfillCommand(), v.deleteCommand())
	return cmd
}

package jobs

import (
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/joblogs"
)

// Commands are the commands on jobs, and on their signals, updates and callbacks.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	return []*cobra.Command{v.jobCommand(), v.signalCommand(), v.updateCommand(), v.callbackCommand()}
}

func (a verbs) jobCommand() *cobra.Command {
	job := app.Group("job", "Enqueue, inspect, wait for and change jobs",
		`Enqueue, inspect, count, wait for, cancel, retry, pause, resume, change, fork, complete, fail and
delete jobs.

A job is named by its id. The first 8 or more characters will do if no other job of the namespace
begins with them. A job with a business key may be named by it instead, with --kind and --key.`,
		`  holdfast job enqueue exec '{"command":["echo","hello"]}'
  holdfast job list --state failed --kind exec`)
	job.Aliases = []string{"jobs"}
	job.AddCommand(a.enqueueCommand(), a.jobListCommand(), a.jobCountCommand(), a.jobGetCommand(), a.jobWhyCommand(), a.jobWaitCommand(),
		a.jobCancelCommand(), a.jobSkipCommand(), a.jobRetryCommand(), a.jobPauseCommand(), a.jobResumeCommand(), a.jobSetCommand(),
		a.jobTagCommand(), a.jobRetagCommand(), a.jobMoveCommand(), a.jobPrioritizeCommand(),
		a.jobDependCommand(), a.jobDeleteCommand(), a.jobForkCommand(), a.jobContinueAsNewCommand(),
		a.jobCompleteCommand(), a.jobFailCommand(),
		a.jobJournalCommand(), joblogs.Command(a.App), a.jobPublishedCommand(), a.jobStreamCommand())
	return job
}

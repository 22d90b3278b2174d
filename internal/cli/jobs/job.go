package jobs

import (
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// Commands are the commands on jobs, and on their queues, signals and callbacks.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	return []*cobra.Command{v.jobCommand(), v.queueCommand(), v.signalCommand(), v.callbackCommand()}
}

func (a verbs) jobCommand() *cobra.Command {
	job := app.Group("job", "Enqueue, inspect, wait for and change jobs",
		"Enqueue, inspect, wait for, cancel, retry, pause, resume, fork, complete and fail jobs.",
		`  holdfast job enqueue exec '{"command":["echo","hello"]}'
  holdfast job list --state failed --kind exec`)
	job.Aliases = []string{"jobs"}
	job.AddCommand(a.enqueueCommand(), a.jobListCommand(), a.jobGetCommand(), a.jobWaitCommand(),
		a.jobCancelCommand(), a.jobRetryCommand(), a.jobPauseCommand(), a.jobResumeCommand(), a.jobForkCommand(),
		a.jobCompleteCommand(), a.jobFailCommand(),
		a.jobJournalCommand(), a.jobPublishedCommand(), a.jobStreamCommand())
	return job
}

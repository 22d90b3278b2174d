package schedules

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) triggerCommand() *cobra.Command {
	var traced app.TraceFlag
	cmd := &cobra.Command{
		Use:   "trigger SCHEDULE",
		Short: "Enqueue a job of a schedule now",
		Long: `Enqueue a job of a schedule now, beside what the clock does, also if it is paused. Its overlap
policy applies: if a job of it is in the way nothing is enqueued, and the exit code is 1.`,
		Example: `  holdfast schedule trigger nightly
  holdfast schedule trigger nightly -q | xargs holdfast job wait`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			trace, err := traced.Of(a.App, cmd)
			if err != nil {
				return err
			}
			ctx = access.InTrace(ctx, trace.TraceParent, trace.TraceState)
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.trigger(ctx, client, args[0]) })
		}),
	}
	traced.Add(cmd)
	return cmd
}

func (a verbs) trigger(ctx context.Context, client *holdfast.Client, name string) error {
	run, err := schedule.Trigger(ctx, client, name)
	if err != nil {
		return explain(client, name, err)
	}
	fired := run.State == store.RunFired
	err = a.Object(views.NewScheduleRun(&run), func() {
		if fired {
			a.Printf("enqueued job %s", run.Job)
		}
	})
	if err != nil || fired {
		return err
	}
	s, err := schedule.Get(ctx, client, name)
	if err != nil {
		return explain(client, name, err)
	}
	return fmt.Errorf("schedule %s: job %s is in the way, as the overlap policy is %s; nothing was enqueued",
		output.OneLine(name), run.Job, s.Overlap)
}

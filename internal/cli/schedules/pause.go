package schedules

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) pauseCommand() *cobra.Command {
	var note string
	cmd := &cobra.Command{
		Use:   "pause SCHEDULE...",
		Short: "Stop schedules from firing",
		Long: `Stop schedules from firing, on all nodes. Their jobs are not affected; "schedule trigger" and
"schedule backfill" still work. Pausing a paused schedule replaces its note.`,
		Example: `  holdfast schedule pause nightly --note "the printer is away"
  holdfast schedule pause nightly weekly --namespace staging`,
		Args:        arg.Takes(1, -1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			pause := func(ctx context.Context, client *holdfast.Client, name string) (store.Schedule, error) {
				return schedule.Pause(ctx, client, name, note)
			}
			err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				_, err := pause(ctx, client, names[0])
				return err
			})
			if err != nil {
				return err
			}
			return a.eachSchedule(ctx, names, "paused", pause)
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "`TEXT` that says why")
	return cmd
}

func (a verbs) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume SCHEDULE...",
		Short: "Let paused schedules fire again",
		Long: `Let paused schedules fire again. The times that have passed meanwhile are missed ones: the policy of
--missed says what becomes of them. Resuming a schedule that is not paused is not an error.`,
		Example:     "  holdfast schedule resume nightly",
		Args:        arg.Takes(1, -1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			return a.eachSchedule(ctx, names, "resumed", schedule.Resume)
		}),
	}
}

// eachSchedule changes schedules one by one, and prints each.
func (a verbs) eachSchedule(
	ctx context.Context, names []string, done string, change func(context.Context, *holdfast.Client, string) (store.Schedule, error),
) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		out := a.newChanged()
		for _, name := range names {
			s, err := change(ctx, client, name)
			var view any
			switch {
			case err == nil:
				view = views.NewSchedule(&s, a.Env.Now())
			case errors.Is(err, holdfast.ErrNotFound), errors.Is(err, holdfast.ErrConflict):
			default:
				return errors.Join(err, out.out.End())
			}
			words := done + " schedule " + output.OneLine(name)
			if err := out.add(view, words, explain(client, name, err)); err != nil {
				return err
			}
		}
		return out.end(len(names), done)
	})
}

func (a verbs) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete SCHEDULE...",
		Short: "Delete schedules",
		Long: `Delete schedules, with the lists of their runs. Their jobs stay. A schedule that code declares comes
back when the program starts the next time; "schedule pause" stops it for good.`,
		Example: `  holdfast schedule delete nightly
  holdfast schedule list --output json | jq -r '.[] | select(.next == null).name' | xargs -r holdfast schedule delete`,
		Args:        arg.Takes(1, -1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, names []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.deleteAll(ctx, client, names) })
		}),
	}
}

// deleteAll deletes those that it can, and names the others.
func (a verbs) deleteAll(ctx context.Context, client *holdfast.Client, names []string) error {
	out := a.newChanged()
	for _, name := range names {
		s, err := schedule.Get(ctx, client, name)
		if err == nil {
			err = schedule.Delete(ctx, client, name)
		}
		if err != nil && !errors.Is(err, holdfast.ErrNotFound) {
			return errors.Join(err, out.out.End())
		}
		err = explain(client, name, err)
		view := views.DeletedSchedule{Namespace: client.Namespace(), Schedule: name, Deleted: err == nil}
		if err != nil {
			view.Error = views.Text(app.Explain(err))
		} else if s.Declared != "" {
			a.Notef("Code declares schedule %s, which comes back when that starts the next time; to stop it, pause it.", output.OneLine(name))
		}
		if err := out.add(view, "deleted schedule "+output.OneLine(name), err); err != nil {
			return err
		}
	}
	return out.end(len(names), "deleted")
}

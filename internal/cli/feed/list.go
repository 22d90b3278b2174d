package feed

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// asked is what a list is asked for.
type asked struct {
	from   string
	states []string
	limit  int
	follow bool
	filter events.Filter
}

func (a verbs) listCommand() *cobra.Command {
	var q asked
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Show changes of the states of jobs",
		Long: `Show changes of the states of jobs, in their order: those after --from, or all that are kept. Those
of jobs that have been removed have neither queue nor kind, and pass all filters but --state.

With --follow, print what happens from now on too, until you press Ctrl-C, as a table or as lines of
JSON. If changes after --from are not kept any more, that is an error.`,
		Example: `  holdfast event list --kind send --state failed --state cancelled
  holdfast event list --from n1b3k2x7q4-1204 --follow --output jsonl | jq -r .job`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			if q.follow && cmd.Flags().Changed("limit") {
				return arg.Usagef("--follow prints all changes; it goes without --limit")
			}
			from, err := events.ParsePosition(q.from)
			if err != nil {
				return arg.Usagef("--from %q is no position; they look like n1b3k2x7q4-1204", q.from)
			}
			if q.limit < 1 {
				return arg.Usagef("--limit is %d; it must be at least 1", q.limit)
			}
			if q.filter.States, err = arg.ParseStates("state", q.states); err != nil {
				return err
			}
			if q.follow {
				return a.followFeed(ctx, from, q.filter)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.list(ctx, client, from, &q) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.from, "from", "", "begin after this `POSITION` (default: the oldest change that is kept)")
	arg.TextsVar(flags, &q.filter.Queues, "queue", nil, "only of jobs of this `QUEUE`; repeatable")
	arg.TextsVar(flags, &q.filter.Kinds, "kind", nil, "only of jobs of this `KIND`; repeatable")
	arg.TextsVar(flags, &q.states, "state", nil, "only to this `STATE`; repeatable")
	flags.IntVar(&q.limit, "limit", 100, "show at most `N` changes, unless they are followed")
	flags.BoolVar(&q.follow, "follow", false, "print what happens from now on too")
	return cmd
}

// list prints the changes that there are.
func (a verbs) list(ctx context.Context, client *holdfast.Client, from events.Position, q *asked) error {
	var header []string
	for _, c := range views.EventColumns {
		header = append(header, c.Name)
	}
	out := a.NewList(header...)
	more := true
	for more && out.Count < q.limit {
		page, err := events.List(ctx, client, from, q.filter, 1000)
		if err != nil {
			return explain(err)
		}
		for i := range page.Events {
			if out.Count == q.limit {
				break
			}
			e := &page.Events[i]
			from = e.Position
			if err := out.Add(e, func() []string { return views.EventRow(e) }); err != nil {
				return err
			}
		}
		more = page.More
		if out.Count < q.limit {
			from = page.Next
		}
	}
	if out.Count == q.limit {
		a.Notef("There may be more: --from %s shows it.", from)
	}
	return out.End()
}

// followFeed prints changes until ctx ends. It goes on after an outage where it was.
func (a verbs) followFeed(ctx context.Context, from events.Position, filter events.Filter) error {
	out := a.NewTail(views.EventColumns...)
	if out == nil {
		return arg.Usagef("--follow cannot write %s, which is one value; use --output jsonl", a.Asked)
	}
	filter.Marks = true
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		for down := a.NewOutage(); ; {
			for e, err := range events.Read(ctx, client, from, filter) {
				if down.Passes(ctx, err) {
					break
				}
				if err != nil {
					return explain(err)
				}
				down.Over()
				if from = e.Position; e.State == 0 {
					continue
				}
				if err := out.Add(&e, func() []string { return views.EventRow(&e) }); err != nil {
					return err
				}
			}
		}
	})
}

// explain says what to do about an error of the feed.
func explain(err error) error {
	if errors.Is(err, events.ErrOff) {
		return errors.New("the feed is off; \"holdfast event on\" switches it on")
	}
	if reset, ok := errors.AsType[*events.ResetError](err); ok {
		return fmt.Errorf("changes after %s are not kept any more, or the feed was switched off since: "+
			"--from %s shows what is kept, and %s is where it ends", reset.After, reset.Oldest, reset.Newest)
	}
	return err
}

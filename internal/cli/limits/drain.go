package limits

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

func (a verbs) drainCommand() *cobra.Command {
	var until, within string
	cmd := &cobra.Command{
		Use:   "drain LIMIT",
		Short: "Let no job start by a rate before a time",
		Long: `Let no job that counts in a limit with a rate start before a time, and empty what was saved up by
then: for when the other side has had too much. Jobs that were claimed before run. A drain until a
later time stays; "limit resume" takes it back.

Nodes that hear of it start no more jobs at once; one that does not stops within 220 milliseconds.`,
		Example: `  holdfast limit drain slack --for 30s
  holdfast limit drain slack --until 2026-12-24T18:00:00Z`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			end, err := a.endOf(until, within)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				wanted := end()
				return a.tellNow(ctx, client, args[0], limit.Drain(ctx, client, args[0], wanted), func(l *store.Limit) {
					longer := ""
					if l.DrainedUntil.After(wanted) {
						longer = "; an earlier drain lasts longer"
					}
					a.Printf("limit %s: no permit comes before %s%s", output.OneLine(l.Name), l.DrainedUntil.UTC().Format(time.RFC3339), longer)
				})
			})
		}),
	}
	cmd.Flags().StringVar(&until, "until", "", "let no job start before this `TIME`, such as 2026-12-24T18:00:00Z or \"2026-12-24 18:00\"")
	cmd.Flags().StringVar(&within, "for", "", "let no job start for this `DURATION`, such as 30s")
	cmd.MarkFlagsMutuallyExclusive("until", "for")
	return cmd
}

// endOf reads when a drain ends, which counts from the moment of the call.
func (a verbs) endOf(until, within string) (func() time.Time, error) {
	switch {
	case until != "":
		at, err := arg.ParseTime(until)
		if err != nil {
			return nil, err
		}
		if !at.After(a.Env.Now()) {
			return nil, arg.Usagef("--until %s is in the past", output.OneLine(until))
		}
		return func() time.Time { return at }, nil
	case within != "":
		d, err := arg.ParseDuration(within)
		if err != nil || d <= 0 {
			return nil, arg.Usagef("--for %s is no duration above 0, such as 30s", output.OneLine(within))
		}
		return func() time.Time { return a.Env.Now().Add(d) }, nil
	}
	return nil, arg.Usagef("say for how long, such as --for 30s, or --until when")
}

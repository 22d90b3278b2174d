// Package audits has the verb on what people did.
//
// # Imports
//
// Of ours, the root package, audit and store, and of internal/cli the base of all verbs.
package audits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/audit"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

type verbs struct{ *app.App }

// Kinds are the kinds of targets.
var Kinds = audit.Kinds()

// page is how many entries are read at once.
const page = 500

// Command is the command on what people did.
func Command(a *app.App) *cobra.Command {
	group := app.Group("audit", "See what people did",
		`See what people did: who changed what, when, and what it was before and after. It is written by the
transaction that makes the change, and kept for 90 days, or as nodes are told (--audit); that of a
job for as long as the job is there.`,
		`  holdfast audit list --since 1d
  holdfast audit list --target limit/partner`)
	group.AddCommand(verbs{a}.listCommand())
	return group
}

// asked is what a list is asked for.
type asked struct {
	filter                   audit.Filter
	target, job, since, upto string
	limit                    int
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	q := asked{limit: 100}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what people did, newest first",
		Long: `List what people did in the database, newest first. What was done to the whole database, such as to
nodes and classes of retention, is in no namespace.

--target is a kind, or a kind and a name such as limit/partner. The kinds are
` + strings.Join(Kinds[:6], ", ") + `,
` + output.Or(Kinds[6:]) + `.`,
		Example: `  holdfast audit list --since 1d --actor ada@laptop
  holdfast audit list --target limit/partner
  holdfast audit list --job 0198c0de-7b1c-7d3a-9f00-0123456789ab
  holdfast audit list --in shop --action delete --output json | jq '.[].before'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if err := q.parse(a.Env.Now()); err != nil {
				return err
			}
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error { return a.list(ctx, client, &q, out) })
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&q.filter.Namespace, "in", "", "only what was done in `NAMESPACE`")
	flags.StringVar(&q.filter.Actor, "actor", "", "only what `NAME` did")
	flags.StringVar(&q.filter.Action, "action", "", "only `ACTION`, such as create, update, delete, pause or cancel")
	flags.StringVar(&q.target, "target", "", "only what was done to `KIND`, or to KIND/NAME")
	flags.StringVar(&q.job, "job", "", "only what was done to the job `ID`")
	flags.StringVar(&q.since, "since", "", "only what was done at `TIME` or later, or within a duration such as 2h")
	flags.StringVar(&q.upto, "until", "", "only what was done before `TIME`, or longer ago than a duration")
	flags.IntVar(&q.limit, "limit", q.limit, "show at most `N` entries")
	columns.Add(cmd, views.AuditEntry{}, views.AuditHeader...)
	return cmd
}

// parse reads the flags.
func (q *asked) parse(now time.Time) (err error) {
	if q.limit < 1 {
		return arg.Usagef("--limit is %d; it must be at least 1", q.limit)
	}
	q.filter.Target.Kind, q.filter.Target.Name, _ = strings.Cut(q.target, "/")
	if kind := q.filter.Target.Kind; q.target != "" && !slices.Contains(Kinds, kind) {
		return arg.Usagef("--target: there is no kind %q; there are %s", kind, output.Or(Kinds))
	}
	if q.job != "" && q.target != "" {
		return arg.Usagef("--job is a target; it goes without --target")
	}
	if q.job != "" {
		if q.filter.Job, err = arg.ParseID(q.job); err != nil {
			return fmt.Errorf("--job: %w", err)
		}
	}
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"since", q.since, &q.filter.Since}, {"until", q.upto, &q.filter.Until}} {
		if t.text == "" {
			continue
		}
		if *t.to, err = arg.ParseAgo(t.text, now); err != nil {
			return fmt.Errorf("--%s: %w", t.flag, err)
		}
	}
	if !q.filter.Since.IsZero() && !q.filter.Until.IsZero() && q.filter.Until.Before(q.filter.Since) {
		return arg.Usagef("--until is earlier than --since: no entry fits both")
	}
	return nil
}

func (a verbs) list(ctx context.Context, client *holdfast.Client, q *asked, out *output.List) error {
	for after, left := "", q.limit; left > 0; {
		want := min(left, page)
		all, err := audit.List(ctx, client, q.filter, after, want)
		if err != nil {
			return out.BreakOff(arg.InvalidIsUsage(err))
		}
		for i := range all {
			e := &all[i]
			if err := out.Add(views.NewAuditEntry(e), func() []string { return views.AuditRow(a.Env.Now(), e) }); err != nil {
				return err
			}
			after = audit.Cursor(e)
		}
		if left -= len(all); len(all) < want {
			return out.End()
		}
	}
	a.Notef("There may be more: --limit shows them.")
	return out.End()
}

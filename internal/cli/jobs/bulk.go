package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// bulk is a change of all jobs that a filter selects.
type bulk struct {
	filterFlags

	dryRun bool
	// otherwise are the states without --state; if empty, --state is required.
	otherwise []store.State
	change    func(context.Context, *holdfast.Client, []holdfast.ID) ([]changed, error)
}

func (b *bulk) add(cmd *cobra.Command) {
	b.filterFlags.add(cmd)
	cmd.Flags().BoolVar(&b.dryRun, "dry-run", false, "with filters: list the jobs without changing them")
}

// asked reports whether jobs are selected by flags, not by ids.
func (b *bulk) asked(cmd *cobra.Command, ids []string) (bool, error) {
	filtered := slices.ContainsFunc(filterNames, cmd.Flags().Changed)
	switch {
	case len(ids) == 0 && !filtered:
		return false, arg.Usagef("%s needs job ids, or filters such as --state failed --queue mail", cmd.CommandPath())
	case len(ids) > 0 && filtered:
		return false, arg.Usagef("%s takes job ids or filters, not both", cmd.CommandPath())
	case len(ids) > 0 && b.dryRun:
		return false, arg.Usagef("--dry-run requires a filter, such as --state failed")
	case filtered && len(b.otherwise) == 0 && !cmd.Flags().Changed("state"):
		return false, arg.Usagef("--state is required to select jobs, such as --state failed")
	}
	return filtered, nil
}

// changeSome changes the jobs given by id, or those that flags select.
func (a verbs) changeSome(ctx context.Context, cmd *cobra.Command, ids []string, b *bulk) error {
	filtered, err := b.asked(cmd, ids)
	switch {
	case err != nil:
		return err
	case filtered:
		return a.changeAll(ctx, b)
	}
	return a.change(ctx, ids, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) { return b.change(ctx, client, ids) })
}

// bulkSize is how many jobs one call changes.
const bulkSize = 100

// changeAll changes all jobs that the filter selects, page by page, and prints how many.
func (a verbs) changeAll(ctx context.Context, b *bulk) error {
	filter, err := b.parse()
	if err != nil {
		return err
	}
	if len(filter.States) == 0 {
		filter.States = b.otherwise
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if b.dryRun {
			out := a.NewList(views.JobHeader...)
			err := a.listJobs(ctx, client, out, filter, 0)
			if err == nil {
				a.Notef("%s would be changed.", output.Plural(out.Count, "job"))
			}
			return err
		}
		return a.changePages(ctx, client, filter, b)
	})
}

func (a verbs) changePages(ctx context.Context, client *holdfast.Client, filter store.Filter, b *bulk) error {
	out := a.NewList()
	counts := map[string]int{}
	failed := 0
	for after := ""; ; {
		page, err := client.List(ctx, filter, after, bulkSize)
		var changes []changed
		if err == nil && len(page.Jobs) > 0 {
			ids := make([]holdfast.ID, len(page.Jobs))
			for i := range page.Jobs {
				ids[i] = page.Jobs[i].ID
			}
			changes, err = b.change(ctx, client, ids)
		}
		if err != nil {
			a.printCounts(counts)
			return out.BreakOff(err)
		}
		for i, c := range changes {
			view := views.Changed{ID: page.Jobs[i].ID.String(), State: views.Text(c.state.String())}
			if c.err != nil {
				failed++
				view.Error = views.Text(app.Explain(c.err))
				a.Complain(fmt.Errorf("job %s was not changed: %w", view.ID, c.err))
			} else {
				counts[c.words]++
			}
			if out.Format == output.FormatTable {
				continue // a table has no line for each of a million jobs
			}
			if err := out.Add(view, nil); err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	a.printCounts(counts)
	if len(counts) == 0 && failed == 0 {
		a.Notef("No jobs found.")
	}
	if err := out.End(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s not changed", areNot(failed))
	}
	return nil
}

func areNot(n int) string {
	if n == 1 {
		return "1 job was"
	}
	return fmt.Sprintf("%d jobs were", n)
}

// printCounts prints how many jobs ended up in which state.
func (a verbs) printCounts(counts map[string]int) {
	words := make([]string, 0, len(counts))
	for w := range counts {
		words = append(words, w)
	}
	slices.Sort(words)
	for _, w := range words {
		n, said := counts[w], w
		if rest, ok := strings.CutPrefix(w, "is "); ok && n > 1 {
			said = "are " + rest
		}
		a.Notef("%s %s.", output.Plural(n, "job"), said)
	}
}

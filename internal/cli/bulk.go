package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

// filterFlags are the flags that select jobs.
type filterFlags struct {
	filter holdfast.Filter
	states []string
	parent string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.states, "state", nil, "only jobs in `STATE`; repeatable")
	flags.StringArrayVar(&f.filter.Queues, "queue", nil, "only jobs in `QUEUE`; repeatable")
	flags.StringArrayVar(&f.filter.Kinds, "kind", nil, "only jobs of `KIND`; repeatable")
	flags.StringArrayVar(&f.filter.Tags, "tag", nil, "only jobs with `TAG`; repeatable")
	flags.StringVar(&f.parent, "parent", "", "only children of job `ID`")
}

var filterNames = []string{"state", "queue", "kind", "tag", "parent"}

// parse returns the filter that the flags ask for.
func (f *filterFlags) parse() (holdfast.Filter, error) {
	for _, name := range f.states {
		state, err := holdfast.ParseState(name)
		if err != nil {
			return f.filter, usagef("--state %q: must be one of %s", name, strings.Join(stateNames(everyState), ", "))
		}
		f.filter.States = append(f.filter.States, state)
	}
	if f.parent != "" {
		var err error
		if f.filter.Parent, err = parseID(f.parent); err != nil {
			return f.filter, fmt.Errorf("--parent: %w", err)
		}
	}
	return f.filter, nil
}

// bulk is a change of all jobs that a filter selects.
type bulk struct {
	filterFlags

	dryRun bool
	// otherwise are the states where --state says none; if there are none it has to.
	otherwise []holdfast.State
	change    func(context.Context, *holdfast.Client, []holdfast.ID) ([]changed, error)
}

func (b *bulk) add(cmd *cobra.Command) {
	b.filterFlags.add(cmd)
	cmd.Flags().BoolVar(&b.dryRun, "dry-run", false, "with filters: list the jobs without changing them")
}

// asked reports whether jobs are selected by flags, and not by their ids.
func (b *bulk) asked(cmd *cobra.Command, ids []string) (bool, error) {
	filtered := slices.ContainsFunc(filterNames, cmd.Flags().Changed)
	switch {
	case len(ids) == 0 && !filtered:
		return false, usagef("%s needs job ids, or filters such as --state failed --queue mail", cmd.CommandPath())
	case len(ids) > 0 && filtered:
		return false, usagef("%s takes job ids or filters, not both", cmd.CommandPath())
	case len(ids) > 0 && b.dryRun:
		return false, usagef("--dry-run requires a filter, such as --state failed")
	case filtered && len(b.otherwise) == 0 && !cmd.Flags().Changed("state"):
		return false, usagef("--state is required to select jobs, such as --state failed")
	}
	return filtered, nil
}

// changeSome changes the jobs that are named, or those that flags select.
func (a *app) changeSome(ctx context.Context, cmd *cobra.Command, ids []string, b *bulk) error {
	filtered, err := b.asked(cmd, ids)
	switch {
	case err != nil:
		return err
	case filtered:
		return a.changeAll(ctx, b)
	}
	return a.change(ctx, ids, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) { return b.change(ctx, client, ids) })
}

// bulkSize is how many jobs are changed at a time.
const bulkSize = 100

// changeAll changes all jobs that the filter selects, page by page, and says how many.
func (a *app) changeAll(ctx context.Context, b *bulk) error {
	filter, err := b.parse()
	if err != nil {
		return err
	}
	if len(filter.States) == 0 {
		filter.States = b.otherwise
	}
	return a.withClient(ctx, func(client *holdfast.Client) error {
		if b.dryRun {
			n, err := a.listJobs(ctx, client, filter, 0, true)
			if err == nil {
				a.notef("%s would be changed.", plural(n, "job"))
			}
			return err
		}
		return a.changePages(ctx, client, filter, b)
	})
}

func (a *app) changePages(ctx context.Context, client *holdfast.Client, filter holdfast.Filter, b *bulk) error {
	out := a.newList()
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
			a.tellCounts(counts)
			return out.breakOff(err)
		}
		for i, c := range changes {
			view := changedView{ID: page.Jobs[i].ID.String(), State: text(c.state.String())}
			if c.err != nil {
				failed++
				view.Error = text(explain(c.err))
				a.complain(fmt.Errorf("job %s was not changed: %w", view.ID, c.err))
			} else {
				counts[c.words]++
			}
			if out.format == formatTable {
				continue // a line for each of a million jobs is for programs
			}
			if err := out.add(view, nil); err != nil {
				return err
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	a.tellCounts(counts)
	if len(counts) == 0 && failed == 0 {
		a.notef("No jobs found.")
	}
	if err := out.end(); err != nil {
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

// tellCounts says how many jobs became what.
func (a *app) tellCounts(counts map[string]int) {
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
		a.notef("%s %s.", plural(n, "job"), said)
	}
}

// retryJobs retries jobs and says what became of each.
func retryJobs(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
	results, err := client.Retry(ctx, ids...)
	changes := make([]changed, len(results))
	for i, r := range results {
		changes[i] = changed{state: r.State, err: r.Err, words: "is " + r.State.String()}
		if errors.Is(r.Err, holdfast.ErrConflict) {
			changes[i].err = whyNotRetried(r)
		}
	}
	return changes, err
}

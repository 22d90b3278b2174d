package jobs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/operations"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// bulk is a change of all jobs that a filter selects.
type bulk struct {
	filterFlags

	doing  string // what it does, as in "cancels 5 jobs"
	done   string // as in "5 jobs would be cancelled"
	dryRun bool
	// accepts are the states of jobs that it changes, and others what becomes of those in other
	// states, as in "2 jobs of other states would be refused".
	accepts []store.State
	others  string
	confirm app.Confirmation
	// otherwise are the states without --state; if empty, --state is required.
	otherwise []store.State
	place     operations.Place
	// action and reason are those of the operation that does it if there are many jobs.
	action func() operation.Action
	reason *string
	change func(context.Context, *holdfast.Client, []holdfast.ID) ([]changed, error)
}

func (b *bulk) add(cmd *cobra.Command) {
	b.filterFlags.add(cmd)
	cmd.Flags().BoolVar(&b.dryRun, "dry-run", false, "with filters: list the jobs that would be changed")
	b.place.Add(cmd)
	b.confirm.Add(cmd, fmt.Sprintf("before more than %d jobs are changed", mostUnasked))
}

// asked reports whether jobs are selected by flags, not by ids.
func (b *bulk) asked(cmd *cobra.Command, ids []string) (bool, error) {
	filtered := slices.ContainsFunc(filterNames, cmd.Flags().Changed)
	switch {
	case len(ids) == 0 && !filtered:
		return false, arg.Usagef("%s needs job ids, or filters such as --state failed --queue mail", arg.Verb(cmd))
	case len(ids) > 0 && filtered:
		return false, arg.Usagef("%s takes job ids or filters, not both", arg.Verb(cmd))
	case len(ids) > 0 && b.dryRun:
		return false, arg.Usagef("--dry-run requires a filter, such as --state failed")
	case filtered && len(b.otherwise) == 0 && !cmd.Flags().Changed("state") && !b.byQuery.Changed && !b.byKey(cmd):
		return false, arg.Usagef("--state is required to select jobs, such as --state failed")
	}
	return filtered, b.place.Check(filtered, b.dryRun)
}

// byKey reports whether the flags are the business key of one job, and no filter beside it.
func (b *bulk) byKey(cmd *cobra.Command) bool {
	return cmd.Flags().Changed("key") && len(b.filter.Kinds) == 1 && !slices.ContainsFunc(filterNames, func(name string) bool {
		return name != "kind" && name != "key" && cmd.Flags().Changed(name)
	})
}

// changeSome changes the jobs given by id, the one that a business key names, or those that flags
// select.
func (a verbs) changeSome(ctx context.Context, cmd *cobra.Command, ids []string, b *bulk) error {
	filtered, err := b.asked(cmd, ids)
	if err != nil {
		return err
	}
	if b.byKey(cmd) {
		id, err := a.FindKey(ctx, arg.JobKey{Kind: b.filter.Kinds[0], Key: b.filter.Key})
		if err != nil {
			return err
		}
		if !b.dryRun {
			ids, filtered = []string{id.String()}, false
		}
	}
	if !filtered {
		return a.change(ctx, ids, func(client *holdfast.Client, ids []holdfast.ID) ([]changed, error) { return b.change(ctx, client, ids) })
	}
	filter, err := b.parse(a.Env.Now())
	if err != nil {
		return err
	}
	if len(filter.States) == 0 && !b.byKey(cmd) {
		if len(b.otherwise) == 0 {
			return arg.Usagef("--query has to say which states, such as state:failed")
		}
		filter.States = b.otherwise
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error { return a.changeAll(ctx, client, filter, b) })
}

const (
	// bulkSize is how many jobs one call changes.
	bulkSize = 500
	// mostUnasked is how many jobs are changed without the user being asked.
	mostUnasked = 100
)

// changeAll changes all jobs that the filter selects, page by page, and prints how many.
func (a verbs) changeAll(ctx context.Context, client *holdfast.Client, filter store.Filter, b *bulk) error {
	if b.dryRun {
		return a.rehearseAll(ctx, client, filter, b)
	}
	total, err := a.confirmMany(ctx, client, filter, b)
	if err != nil {
		return err
	}
	if b.action != nil {
		isNode, total, err := b.place.IsNode(ctx, client, filter, total)
		if err != nil {
			return err
		}
		if isNode {
			op := operation.Operation{Filter: filter, Action: b.action(), Note: *b.reason, Expected: max(total, 0)}
			return b.place.Start(ctx, a.App, client, op)
		}
	}
	a.Env.OutlivePipes() // a reader that goes away is to stop it between two pages, and to be told how far it came
	r := &bulkRun{app: a, out: a.NewList(), counts: map[string]int{}}
	if r.out.Format == output.FormatTable {
		r.progress = a.NewCount(total, "jobs")
	}
	return r.run(ctx, client, filter, b)
}

// rehearseAll lists the jobs that would be changed, and says how many others there are.
func (a verbs) rehearseAll(ctx context.Context, client *holdfast.Client, filter store.Filter, b *bulk) error {
	out, refused := a.NewList(views.JobHeader...), 0
	var unprinted error
	_, err := a.eachJob(ctx, client, listing{filter: filter}, func(r *store.Record) error {
		if isSpared(&filter, r) {
			return nil
		}
		if !slices.Contains(b.accepts, r.State) {
			refused++
			return nil
		}
		unprinted = out.Add(views.NewJob(r), func() []string { return views.JobRow(a.Env.Now(), r) })
		return unprinted
	})
	if err := listError(out, unprinted, err); err != nil {
		return err
	}
	text := output.Plural(out.Count, "job") + " would be " + b.done
	if refused > 0 {
		text += fmt.Sprintf("; %d of other states %s", refused, b.others)
	}
	a.Notef("%s.", text)
	return out.End()
}

// wouldBeRefused is what becomes of jobs in other states.
const wouldBeRefused = "would be refused"

// confirmMany asks if there are many jobs, and returns how many; -1 if that is not known.
func (a verbs) confirmMany(ctx context.Context, client *holdfast.Client, filter store.Filter, b *bulk) (int, error) {
	if b.confirm.Given() {
		return -1, nil
	}
	count, err := client.Count(ctx, filter)
	if err != nil || count.N <= mostUnasked {
		return count.N, err
	}
	source, err := a.Source()
	if err != nil {
		return count.N, err
	}
	n, number := count.N, strconv.Itoa(count.N)
	if count.More {
		n, number = -1, number+"+"
	}
	what := fmt.Sprintf("this %s %s jobs of namespace %s in %s", b.doing, number, output.OneLine(client.Namespace()), source)
	return n, a.Confirm(ctx, &b.confirm, what, number)
}

// bulkRun is a bulk on its way.
type bulkRun struct {
	app      verbs
	out      *output.List
	progress *app.Progress // nil: it is not shown

	counts map[string]int // of what became of the jobs, in words
	failed int
}

// run goes through the jobs from the newest to the oldest, as they were when it came to them. Each
// job is changed once at the most, whatever states they move to meanwhile.
func (r *bulkRun) run(ctx context.Context, client *holdfast.Client, filter store.Filter, b *bulk) error {
	err := r.pages(ctx, client, filter, b)
	if r.progress != nil {
		r.progress.Close()
	}
	r.printCounts()
	if err != nil {
		return r.out.BreakOff(err)
	}
	if len(r.counts) == 0 && r.failed == 0 {
		r.app.Notef("No jobs found.")
	}
	if err := r.out.End(); err != nil {
		return err
	}
	if r.failed > 0 {
		return fmt.Errorf("%s not changed", areNot(r.failed))
	}
	return nil
}

func (r *bulkRun) pages(ctx context.Context, client *holdfast.Client, filter store.Filter, b *bulk) error {
	done := 0
	for after := ""; ; {
		page, err := client.List(ctx, filter, after, bulkSize)
		if err != nil {
			return err
		}
		page.Jobs = slices.DeleteFunc(page.Jobs, func(r store.Record) bool { return isSpared(&filter, &r) })
		if len(page.Jobs) > 0 {
			ids := make([]holdfast.ID, len(page.Jobs))
			for i := range page.Jobs {
				ids[i] = page.Jobs[i].ID
			}
			changes, err := b.change(ctx, client, ids)
			if err != nil {
				return err
			}
			if err := r.note(ids, changes); err != nil {
				return err
			}
		}
		if done += len(page.Jobs); r.progress != nil {
			r.progress.Done(done)
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

// isSpared reports that a job is that of an operation, and the filter is not about operations: it
// is left alone, as by an operation.
func isSpared(filter *store.Filter, r *store.Record) bool {
	return r.Kind == operation.Kind && !slices.Contains(filter.Kinds, operation.Kind) && len(filter.IDs) == 0
}

// note counts what became of jobs, and writes it.
func (r *bulkRun) note(ids []holdfast.ID, changes []changed) error {
	why := make([]error, len(ids))
	for i, c := range changes {
		if c.err == nil {
			r.counts[c.words]++
			continue
		}
		why[i] = whyNot(ids[i].String(), c.err)
		r.failed++
		if r.progress != nil {
			r.progress.Clear()
		}
		r.app.Complain(fmt.Errorf("job %s was not changed: %w", ids[i], why[i]))
	}
	if r.out.Format == output.FormatTable {
		return nil // a table has no line for each of a million jobs
	}
	for i, c := range changes {
		view := views.Changed{ID: ids[i].String()}
		if c.state != 0 {
			view.State = views.Text(c.state.String())
		}
		if why[i] != nil {
			view.Error = views.Text(app.Explain(why[i]))
		}
		if err := r.out.Add(view, nil); err != nil {
			return err
		}
	}
	return r.app.Flush() // what has happened is told, whatever comes
}

func areNot(n int) string {
	if n == 1 {
		return "1 job was"
	}
	return fmt.Sprintf("%d jobs were", n)
}

// printCounts prints how many jobs ended up in which state.
func (r *bulkRun) printCounts() {
	words := make([]string, 0, len(r.counts))
	for w := range r.counts {
		words = append(words, w)
	}
	slices.Sort(words)
	for _, w := range words {
		n, said := r.counts[w], w
		if rest, ok := strings.CutPrefix(w, "is "); ok && n > 1 {
			said = "are " + rest
		}
		r.app.Notef("%s %s.", output.Plural(n, "job"), said)
	}
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

func (a *app) jobCommand() *cobra.Command {
	job := group("job", "Enqueue, inspect, wait for and change jobs",
		"Enqueue, inspect, wait for, cancel, retry, pause, resume and fork jobs.",
		`  holdfast job enqueue exec '{"command":["echo","hello"]}'
  holdfast job list --state failed --kind exec`)
	job.Aliases = []string{"jobs"}
	job.AddCommand(a.enqueueCommand(), a.jobListCommand(), a.jobGetCommand(), a.jobWaitCommand(),
		a.jobCancelCommand(), a.jobRetryCommand(), a.jobPauseCommand(), a.jobResumeCommand(), a.jobForkCommand(),
		a.jobJournalCommand(), a.jobPublishedCommand(), a.jobStreamCommand())
	return job
}

const exampleID = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"

// anyKind is a kind of which only the payloads' being JSON is known.
func anyKind(name string) holdfast.Kind[json.RawMessage, json.RawMessage] {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](name)
}

func (a *app) jobListCommand() *cobra.Command {
	var (
		f     filterFlags
		limit int
		all   bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List jobs, newest first",
		Long: `List jobs, newest first. Filters combine: a job must match one of the values of --state, of --queue
and of --kind, and all values of --tag.

The list omits results, attempts and actions; "job get" shows them.`,
		Example: `  holdfast job list
  holdfast job list --state failed --state cancelled --queue mail --limit 20
  holdfast job list --all --output jsonl | jq -r 'select(.attempt > 3).id'`,
		Args:        takes(0, 0),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			filter, err := f.parse()
			if err != nil {
				return err
			}
			if limit < 1 {
				return usagef("--limit %d is not positive", limit)
			}
			return a.withClient(ctx, func(client *holdfast.Client) error {
				_, err := a.listJobs(ctx, client, filter, limit, all)
				return err
			})
		}),
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.IntVar(&limit, "limit", 50, "list at most `N` jobs")
	flags.BoolVar(&all, "all", false, "list all jobs")
	cmd.MarkFlagsMutuallyExclusive("limit", "all")
	return cmd
}

const maxPage = 1000

// listJobs lists jobs and returns how many.
func (a *app) listJobs(ctx context.Context, client *holdfast.Client, filter holdfast.Filter, limit int, all bool) (int, error) {
	out := a.newList("ID", "STATE", "KIND", "QUEUE", "ATTEMPT", "WHEN", "ERROR")
	for after := ""; all || out.count < limit; {
		size := maxPage
		if !all {
			size = min(size, limit-out.count)
		}
		page, err := client.List(ctx, filter, after, size)
		if err != nil {
			return out.count, out.breakOff(err)
		}
		for i := range page.Jobs {
			r := &page.Jobs[i]
			if err := out.add(viewJob(r), func() []string { return jobRow(a.env.Now(), r) }); err != nil {
				return out.count, err
			}
		}
		after = page.Next
		if after == "" {
			break
		}
		if !all && out.count == limit {
			a.notef("Showing the newest %d; use --limit or --all for more.", limit)
		}
	}
	if out.count == 0 && out.format == formatTable {
		a.notef("No jobs found.")
	}
	return out.count, out.end()
}

func jobRow(now time.Time, r *holdfast.Record) []string {
	state, why := r.State.String(), r.Error
	if r.State == holdfast.Completed {
		why = "" // of an attempt that did not complete it
	}
	if w := r.Wait; w != nil && w.Held {
		state += " (" + string(w.Reason) + ")"
		why = w.Error
	} else if text := waitsFor(r); text != "" {
		state += " (" + clip(text, 40) + ")"
	}
	if r.Blocked {
		state += " (blocked)"
	}
	if r.CancelRequested {
		state += " (stopping)"
	}
	if r.PauseRequested {
		state += " (pausing)"
	}
	if r.Closing && !r.State.Finished() {
		state += " (compensating)"
	}
	return []string{r.ID.String(), state, clip(r.Kind, maxName), clip(r.Queue, maxName), attempts(r), when(now, r), clip(why, 60)}
}

// attempts is how often a job was tried, out of how many if it says.
func attempts(r *holdfast.Record) string {
	if r.MaxAttempts == 0 {
		return strconv.Itoa(r.Attempt)
	}
	return fmt.Sprintf("%d/%d", r.Attempt, r.MaxAttempts)
}

// when is the time that matters in a job's state.
func when(now time.Time, r *holdfast.Record) string {
	switch {
	case r.State.Finished():
		return ago(now, r.FinishedAt)
	case r.State == holdfast.Running:
		return "since " + rough(max(now.Sub(r.ClaimedAt), 0))
	case r.Wait != nil && (r.Wait.Held || r.Wait.Until.IsZero()):
		return "since " + rough(max(now.Sub(r.Wait.Since), 0))
	case r.Wait != nil:
		return "due " + ago(now, r.Wait.Until)
	}
	return "due " + ago(now, r.RunAt)
}

func (a *app) jobGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "get ID",
		Short: "Show a job",
		Long: `Show a job: its state, why it is not running, its args and result, its failed attempts with their
errors and stacks, and what people did to it: who, when and why.`,
		Example: `  holdfast job get ` + exampleID + `
  holdfast job get ` + exampleID + ` --output json | jq .attempts`,
		Args:        takes(1, 1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := parseID(args[0])
			if err != nil {
				return err
			}
			return a.withClient(ctx, func(client *holdfast.Client) error {
				r, err := a.find(ctx, client, id)
				if err != nil {
					return err
				}
				why, err := client.Why(ctx, id)
				if errors.Is(err, holdfast.ErrNotFound) {
					return fmt.Errorf("no such job: %s; it has just been removed", id)
				} else if err != nil {
					return err
				}
				return a.object(viewWholeJob(&r, why.Causes), func() { a.printJob(&r, why.Causes) })
			})
		}),
	}
}

func (a *app) jobCancelCommand() *cobra.Command {
	var (
		reason    string
		terminate bool
		all       bulk
	)
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel jobs",
		Long: `Cancel jobs. A job that is not running is cancelled at once; a running job when its handler returns.
A durable job that has started runs once more, to compensate what it has done. Cancelling a finished
job does nothing and is not an error.

Select jobs by id, or with the filters of "job list"; without --state, filters select all unfinished
jobs.

With --terminate, jobs end at once: their handlers lose the lease, and nothing is compensated.`,
		Example: `  holdfast job cancel ` + exampleID + ` --reason "wrong customer"
  holdfast job cancel --queue mail --state scheduled --dry-run`,
		Args:        takes(0, -1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			all.change = func(ctx context.Context, client *holdfast.Client, ids []holdfast.ID) ([]changed, error) {
				end := client.Cancel
				if terminate {
					end = client.Terminate
				}
				results, err := end(ctx, reason, ids...)
				changes := make([]changed, len(results))
				for i, r := range results {
					changes[i] = changed{state: r.State, err: r.Err, words: cancelWords(r.State)}
				}
				return changes, err
			}
			return a.changeSome(ctx, cmd, args, &all)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	cmd.Flags().BoolVar(&terminate, "terminate", false, "end jobs at once, without compensation")
	all.otherwise = []holdfast.State{
		holdfast.Scheduled, holdfast.Available, holdfast.Running, holdfast.Retryable, holdfast.Waiting,
	}
	all.add(cmd)
	return cmd
}

func cancelWords(state holdfast.State) string {
	switch state {
	case holdfast.Cancelled:
		return "is cancelled"
	case holdfast.Running:
		return "is running and was told to stop"
	case holdfast.Available:
		return "is durable and ends once a node has run its compensations"
	default:
		return "had already " + state.String()
	}
}

func (a *app) jobRetryCommand() *cobra.Command {
	all := bulk{change: retryJobs}
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Run jobs again, at once",
		Long: `Run jobs again, at once. A failed or cancelled job starts over at attempt 1; a durable one continues
after its last completed step. A job that is waiting for a retry or for its run time keeps its
attempt count. Running and completed jobs cannot be retried.

Select jobs by id, or with the filters of "job list", of which --state is required.`,
		Example: `  holdfast job retry ` + exampleID + `
  holdfast job retry --state failed --queue mail --dry-run
  holdfast job list --all -o jsonl | jq -r 'select(.reason == "timeout").id' | xargs -r holdfast job retry`,
		Args:        takes(0, -1),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.changeSome(ctx, cmd, args, &all)
		}),
	}
	all.add(cmd)
	return cmd
}

// whyNotRetried says what can be done about a job instead.
func whyNotRetried(r holdfast.RetryResult) error {
	var unique *holdfast.UniqueError
	switch {
	case errors.As(r.Err, &unique):
		return r.Err
	case r.State == holdfast.Waiting:
		return errors.New(`it is waiting; if it was paused, use "holdfast job resume"`)
	case r.State == holdfast.Completed:
		return errors.New(`it has completed; to repeat a durable job from a step, use "holdfast job fork"`)
	}
	return fmt.Errorf("it is %s", r.State)
}

// changed is what became of one job that was to be changed.
type changed struct {
	state holdfast.State
	err   error
	words string
}

// change changes jobs and says what became of each. Those that cannot be changed do not keep the others from it.
func (a *app) change(
	ctx context.Context, args []string, work func(*holdfast.Client, []holdfast.ID) ([]changed, error),
) error {
	ids, err := parseIDs(args)
	if err != nil {
		return err
	}
	return a.withClient(ctx, func(client *holdfast.Client) error {
		changes := make([]changed, len(ids))
		places, here := []int(nil), []holdfast.ID(nil)
		for i, id := range ids {
			if _, err := a.find(ctx, client, id); err == nil {
				places, here = append(places, i), append(here, id)
			} else if changes[i].err = err; ctx.Err() != nil || errors.Is(err, holdfast.ErrUnavailable) {
				return err
			}
		}
		if len(here) > 0 {
			done, err := work(client, here)
			if err != nil {
				return err
			}
			for n, c := range done {
				changes[places[n]] = c
			}
		}
		return a.reportChanges(ids, changes)
	})
}

// whyNot is why a job is not changed, without its id: who says it has named the job.
func whyNot(id string, err error) error {
	said := strings.TrimPrefix(err.Error(), holdfast.ErrConflict.Error()+": ")
	switch is, about := strings.CutPrefix(said, "job "+id+" "); {
	case errors.Is(err, holdfast.ErrNotFound):
		return &withoutIDError{err, "there is no such job"}
	case about:
		return &withoutIDError{err, "it " + is}
	}
	return err
}

// withoutIDError is an error in other words.
type withoutIDError struct {
	error

	text string
}

func (e *withoutIDError) Error() string { return e.text }

func (e *withoutIDError) Unwrap() error { return e.error }

func (a *app) reportChanges(ids []holdfast.ID, changes []changed) error {
	out := a.newList()
	var failed []error
	for i, c := range changes {
		view := changedView{ID: ids[i].String()}
		if c.state != 0 {
			view.State = text(c.state.String())
		}
		if c.err != nil {
			why := whyNot(view.ID, c.err)
			failed = append(failed, fmt.Errorf("job %s was not changed: %w", view.ID, why))
			view.Error = text(explain(why))
			if out.format == formatTable {
				continue
			}
		}
		if err := out.add(view, func() []string { return []string{"job " + view.ID + " " + c.words} }); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		a.complain(err)
	}
	return fmt.Errorf("%d of %d jobs were not changed", len(failed), len(ids))
}

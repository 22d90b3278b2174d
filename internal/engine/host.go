package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// *Run implements replay.Host.

// Main returns the strand of the handler itself.
func (r *Run) Main() *replay.Strand { return r.replay.Main() }

// Now returns the time of the store's clock.
func (r *Run) Now() time.Time { return r.node.store.Now() }

// MaxJournal is the size limit of the journal.
func (r *Run) MaxJournal() replay.JournalLimit { return r.node.engine.cfg.MaxJournal }

// Journal loads the journal and the inbox of the job.
func (r *Run) Journal(ctx context.Context) (store.Journal, error) {
	j, err := r.node.engine.journals.Load(ctx, jobOf{r.claimed.Job.Namespace, r.claimed.Job.ID})
	if err == nil {
		err = r.lacking(missingIn(&j))
	}
	return j, err
}

// Updates loads the open requests to the job after a number.
func (r *Run) Updates(ctx context.Context, after int64) ([]store.Update, error) {
	updates, err := r.node.engine.updates.Load(ctx, store.UpdatesAfter{Job: r.claimed.Job.ID, Seq: after})
	for i := range updates {
		if err == nil {
			err = r.lacking(missing(updates[i].Data, updates[i].Codec))
		}
	}
	return updates, err
}

// Append appends to the journal, and returns when that is durable or the run has ended.
func (r *Run) Append(a *store.Append) error {
	a.Namespace = r.claimed.Job.Namespace
	if r.appending == nil {
		r.appending = commit.NewCall()
	}
	return r.node.engine.commit.Append(r.replay.Life(), a, r.appending)
}

// AppendLast is Append for entries that are written together with the outcome of the run.
func (r *Run) AppendLast(a *store.Append) error {
	a.Namespace = r.claimed.Job.Namespace
	return r.node.engine.commit.Remember(a)
}

// AppendTx appends to the journal in a transaction of the user's, or in that which reserves a
// permit of a limit.
func (r *Run) AppendTx(ctx context.Context, tx store.Tx, a *store.Append) error {
	a.Namespace = r.claimed.Job.Namespace
	if v, reserves := tx.(*store.Reservation); reserves {
		v.Append = a
		return r.node.store.Reserve(ctx, v)
	}
	return r.node.store.AppendTx(ctx, tx, a)
}

// EntryAt returns an entry of the journal when no transaction is open any more that appends to it.
func (r *Run) EntryAt(ctx context.Context, seq int64) (*store.Entry, error) {
	st, job := r.node.store, r.claimed.Job.ID
	if err := st.AwaitTx(ctx, job); err != nil {
		return nil, err
	}
	found, err := st.Entries(ctx, store.JournalParams{Namespace: r.claimed.Job.Namespace, Job: job, After: seq - 1, Limit: 1})
	if err != nil || len(found) == 0 || found[0].Seq != seq {
		return nil, err
	}
	return &found[0], nil
}

var unfinished = slices.DeleteFunc(slices.Clone(store.States), store.State.Finished)

// CancelChildren cancels the children of the job that have not ended and whose policy is
// CancelAndWait, and returns how many have not ended yet.
func (r *Run) CancelChildren(ctx context.Context) (open int64, err error) {
	job := &r.claimed.Job
	list := store.ListParams{
		Filter: store.Filter{Namespace: job.Namespace, Parent: job.ID, States: unfinished}, Limit: 1000,
	}
	for {
		page, err := r.node.store.List(ctx, list)
		if err != nil {
			return 0, err
		}
		var ids []store.ID
		for i := range page.Jobs {
			if page.Jobs[i].OnParentClose == store.CancelAndWait {
				ids = append(ids, page.Jobs[i].ID)
			}
		}
		if len(ids) > 0 {
			results, err := r.node.engine.Cancel(ctx, store.CancelParams{
				Jobs: ids, Reason: "its parent is ending", Actor: "parent " + job.ID.String(), Unrecorded: true,
			})
			if err != nil {
				return 0, err
			}
			for _, result := range results {
				if result.Err == nil && !result.State.Finished() || errors.Is(result.Err, store.ErrBusy) {
					open++
				}
			}
		}
		list.After = page.Next
		if list.After == "" {
			return open, nil
		}
	}
}

// Ended starts the time limit of a handler that ignores the end of its context.
func (r *Run) Ended(cause error) { r.node.abandonLater(r.execution, cause) }

// GiveUpLater gives up a transaction that is still open, and the strand that is in it, if any,
// after StuckAfter.
func (r *Run) GiveUpLater(giveUp func() bool) (stop func()) {
	timer := time.AfterFunc(r.node.cfg.StuckAfter, func() {
		defer r.node.engine.guard.Catch("giving up a stuck transaction")
		stack := stackOf(r.execution.worker) // before giveUp lets the goroutine end
		if !giveUp() {
			return
		}
		r.node.lines.Say(slog.LevelError, r.about(),
			"a transaction of the handler's is still open after its run has ended; it is left behind, as is a goroutine that is stuck in it",
			slog.String(logs.KeyStack, stack))
	})
	return func() { timer.Stop() }
}

// Say logs a line about the job, asynchronously.
func (r *Run) Say(level slog.Level, msg string, attrs ...slog.Attr) {
	r.node.lines.SayLater(level, r.about(), msg, attrs...)
}

// Catch is deferred by goroutines that work for the run beside its handler: a panic ends the run,
// so that its job is retried.
func (r *Run) Catch(part string) {
	p := recover()
	if p == nil {
		return
	}
	r.node.engine.guard.Report(part, p, false)
	r.node.settleElsewhere(r.execution, r.execution.panicked(p))
}

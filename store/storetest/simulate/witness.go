package simulate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Apply implements store.Writer.
func (w *witness) Apply(ctx context.Context, batch *store.Batch) error {
	w.begin("Apply")
	if len(batch.Fires) > 0 {
		return w.applyFires(ctx, batch)
	}
	err := w.Store.Apply(ctx, batch)
	if errors.Is(err, store.ErrRefused) {
		w.sawRefusal(batch)
		w.look(ctx)
		return err
	}
	must("Apply", err)
	for _, c := range batch.Checkpoints {
		if !w.repeats(batch, c) {
			w.sawCheckpoint(c)
		}
	}
	for _, a := range batch.Appends {
		w.sawAppend(a)
	}
	for _, q := range batch.Sends {
		w.sawSend(q)
	}
	for _, o := range batch.Outcomes {
		w.sawOutcome(o)
	}
	for _, q := range batch.Enqueues {
		w.sawEnqueue(q)
	}
	if batch.Start != nil {
		w.sawStart(batch)
	}
	w.look(ctx)
	return nil
}

// sawRefusal checks that operations are refused whose lease is lost, and no others. That nothing of
// the batch is written is seen when its jobs are looked at.
func (w *witness) sawRefusal(batch *store.Batch) {
	refusals := 0
	saw := func(what string, lease store.Lease, err error) {
		if known := w.jobs[lease.Job]; known != nil {
			w.touched(known)
		}
		if err == nil {
			return
		}
		refusals++
		refused(what, err, store.ErrLeaseLost)
		if j := w.live(lease); j != nil {
			play.Brokenf("OneOwner", "%s of %v under its live lease %d is refused with %v", what, j, lease.Number, err)
		}
	}
	for _, c := range batch.Checkpoints {
		saw("a checkpoint", c.Lease, c.Err)
	}
	for _, a := range batch.Appends {
		if j := w.live(a.Lease); j != nil && a.Err != nil && a.Entries[0].Seq <= j.lastEntry() {
			refused("an append over an entry", a.Err, store.ErrLeaseLost)
			refusals++
			continue
		}
		saw("an append", a.Lease, a.Err)
	}
	for _, o := range batch.Outcomes {
		saw("the outcome "+o.State.String(), o.Lease, o.Err)
		if known := w.jobs[o.Lease.Job]; o.Err != nil && o.Repeat && known != nil {
			if final, applied := known.endings[o.Lease.Number]; applied {
				play.Brokenf("Once", "the outcome %v of %v led to %v, and its repetition is refused: %v", o.State, known, final, o.Err)
			}
		}
	}
	for _, q := range batch.Sends {
		if j := w.jobs[q.Job]; j != nil {
			w.touched(j)
		}
	}
	if refusals == 0 {
		play.Brokenf("Contract", "a batch is refused, and none of its operations")
	}
}

// repeats says that a checkpoint was written before, with the outcome that is repeated in the same
// batch.
func (w *witness) repeats(batch *store.Batch, c *store.CheckpointWrite) bool {
	j := w.jobs[c.Lease.Job]
	return c.Err == nil && w.live(c.Lease) == nil && j != nil && slices.ContainsFunc(batch.Outcomes, func(o *store.Outcome) bool {
		_, applied := j.endings[o.Lease.Number]
		return o.Lease == c.Lease && o.Repeat && applied
	})
}

// sawLease checks that a write is refused whose lease is lost, and no other, and returns the job if
// the write was accepted.
func (w *witness) sawLease(what string, lease store.Lease, err error) *job {
	j := w.live(lease)
	switch {
	case err == nil && j == nil:
		play.Brokenf("OneOwner", "%s of %v lands under the lease %d, which is over", what, w.jobs[lease.Job], lease.Number)
	case err != nil && j != nil:
		play.Brokenf("OneOwner", "%s of %v under its live lease %d is answered with %v", what, j, lease.Number, err)
	case err != nil:
		refused(what, err, store.ErrLeaseLost)
	}
	if stale := w.jobs[lease.Job]; stale != nil {
		w.touched(stale)
	}
	return j
}

func (w *witness) sawCheckpoint(c *store.CheckpointWrite) {
	if j := w.sawLease("a checkpoint", c.Lease, c.Err); j != nil {
		j.checkpoint = c.Checkpoint.Value
	}
}

func (w *witness) sawAppend(a *store.Append) {
	known, first := w.jobs[a.Lease.Job], a.Entries[0].Seq
	if known != nil && a.Repeat {
		if e := known.entry(first); e != nil && e.LeaseNumber == a.Lease.Number {
			if a.Err != nil && w.live(a.Lease) != nil {
				play.Brokenf("Remembered", "a repeated append to %v is answered with %v", known, a.Err)
			}
			w.touched(known)
			return
		}
	}
	if j := w.live(a.Lease); j != nil && first <= j.lastEntry() {
		refused("an append over an entry", a.Err, store.ErrLeaseLost)
		return
	}
	if known != nil && a.Repeat && w.live(a.Lease) == nil && known.wrote[written{first, a.Lease.Number}] {
		// It was done, and since then a person or the run itself took it away: to say so is as good
		// as to refuse it.
		return
	}
	j := w.sawLease("an append", a.Lease, a.Err)
	if j == nil {
		return
	}
	for _, e := range a.Entries {
		e.LeaseNumber = a.Lease.Number
		j.journal = append(j.journal, e)
		j.wrote[written{e.Seq, e.LeaseNumber}] = true
	}
	if a.Closing && !j.body.Closing {
		j.body.Closing, j.decided = true, a.LastSeq()
	}
	for _, q := range a.Enqueues {
		w.sawEnqueue(q)
	}
}

func (w *witness) sawSend(q *store.Send) {
	j := w.jobs[q.Job]
	if j == nil {
		refused("a message for no job", q.Err, store.ErrNotFound)
		return
	}
	w.touched(j)
	if i := slices.IndexFunc(j.inbox, func(m message) bool { return q.Key != "" && m.key == q.Key }); i >= 0 {
		if q.Err != nil || !q.Result.Duplicate || q.Result.Seq != j.inbox[i].Seq {
			play.Brokenf("Once", "a message that is repeated to %v is answered with %+v, %v", j, q.Result, q.Err)
		}
		return
	}
	callback := q.Message.Kind != store.MessageSignal
	switch {
	case j.finished():
		refused("a message for a finished job", q.Err, store.ErrConflict)
		return
	case callback && !j.opened(q.Message.Name):
		refused("an answer that nobody waits for", q.Err, store.ErrNotFound)
		return
	case callback && j.answered(q.Message.Name):
		refused("a second answer", q.Err, store.ErrConflict)
		return
	case q.Err != nil:
		play.Brokenf("NoLoss", "a message for %v is answered with %v", j, q.Err)
	}
	seq := j.lastMessage() + 1
	woken := w.deliver(j, message{q.Message, q.Key})
	if q.Result.Duplicate || q.Result.Seq != seq || q.Result.Woken != woken {
		play.Brokenf("NoLoss", "message %d for %v, which wakes it: %v, is answered with %+v", seq, j, woken, q.Result)
	}
}

func (w *witness) sawOutcome(o *store.Outcome) {
	known := w.jobs[o.Lease.Job]
	if known != nil && o.Repeat && w.live(o.Lease) == nil {
		final, applied := known.endings[o.Lease.Number]
		w.touched(known)
		switch {
		case applied && (o.Err != nil || o.Final != final):
			play.Brokenf("Once", "the outcome %v of %v led to %v, and its repetition to %v, %v", o.State, known, final, o.Final, o.Err)
		case applied:
			return
		}
	}
	j := w.sawLease("the outcome "+o.State.String(), o.Lease, o.Err)
	if j == nil {
		return
	}
	lease := j.lease
	cancelled, paused := j.cancel, j.pause
	final, due := w.end(j, w.endingOf(o))
	if o.Final != final || !o.Due.Equal(due) {
		play.Brokenf("Atomic", "%v ends as %v, due at %v, but should be %v, due at %v (asked to cancel: %v, to pause: %v)",
			j, o.Final, o.Due, final, due, cancelled, paused)
	}
	j.endings[lease.Number] = final
	if (o.State == store.Waiting || o.Continue != nil) && !final.Finished() {
		j.endings[lease.Number] = o.State
	}
}

func (w *witness) sawEnqueue(q *store.Enqueue) {
	if known := w.jobs[q.Job.ID]; known != nil {
		w.touched(known)
		if q.Err != nil || !q.Result.Existing || q.Result.ID != q.Job.ID {
			play.Brokenf("Once", "%v, which is there, is enqueued again: %+v, %v", known, q.Result, q.Err)
		}
		return
	}
	runAt := q.Job.RunAt.Truncate(time.Microsecond)
	if q.Job.RunAt.IsZero() {
		runAt = w.now.Add(max(q.Delay, 0))
	}
	if len(q.Job.UniqueKey) > 0 {
		if holder := w.keyHolder(q.Job.UniqueKey); holder != nil {
			w.sawConflict(q, holder, runAt)
			return
		}
	}
	if q.Err != nil || q.Result.Existing || q.Result.ID != q.Job.ID {
		play.Brokenf("NoLoss", "a new job is enqueued, and the answer is %+v, %v", q.Result, q.Err)
	}
	j := w.add(q.Job, runAt)
	if q.Result.State != j.state && (q.Result.State != store.Running || !q.Start) {
		play.Brokenf("Atomic", "%v is %v, and told to be %v", j, j.state, q.Result.State)
	}
}

// add notes a job that is new.
func (w *witness) add(body store.Job, runAt time.Time) *job {
	j := &job{body: body, endings: map[int64]store.State{}, wrote: map[written]bool{}, holds: len(body.UniqueKey) > 0}
	j.body.LeaseNumber, j.body.Attempt, j.body.Closing = 0, 0, false
	j.body.Options.Deadline = body.Options.Deadline.Truncate(time.Microsecond)
	w.jobs[body.ID] = j
	w.order = append(w.order, j)
	w.queues[body.Queue] = true
	w.put(j, runAt)
	return j
}

// sawConflict checks what became of an enqueue whose unique key is held.
func (w *witness) sawConflict(q *store.Enqueue, holder *job, runAt time.Time) {
	w.touched(holder)
	if q.OnConflict == store.Reject {
		var conflict *store.UniqueError
		if !errors.As(q.Err, &conflict) || conflict.Holder != holder.body.ID {
			play.Brokenf("Unique", "%v holds the key, and an enqueue that is to be rejected is answered with %+v, %v", holder, q.Result, q.Err)
		}
		return
	}
	fresh := (holder.state == store.Available || holder.state == store.Scheduled) && holder.body.LeaseNumber == 0
	replaces := q.OnConflict == store.Replace && fresh && q.Job.Kind == holder.body.Kind
	if q.Err != nil || !q.Result.Existing || q.Result.ID != holder.body.ID || q.Result.Replaced != replaces {
		play.Brokenf("Unique", "%v holds the key, and an enqueue is answered with %+v, %v", holder, q.Result, q.Err)
	}
	if replaces {
		holder.body.Args = q.Job.Args
		w.put(holder, runAt)
	}
}

package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Get implements store.Reader.
func (v viewVerbs) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	var record store.Record
	err := v.d.read(ctx, "get job "+id.String(), func(t *tx) error {
		r, found, err := t.fullRecord(id, t.runningJob)
		if err != nil {
			return err
		}
		if !found || namespace != "" && r.Namespace != namespace {
			return store.NoJob(id)
		}
		record = r
		if record.Attempts, err = t.attempts(id); err != nil {
			return err
		}
		if record.Actions, err = t.actions(id); err != nil {
			return err
		}
		g, err := t.generation(id)
		if err != nil {
			return err
		}
		last, err := t.lastEntry(id)
		if err != nil {
			return err
		}
		record.Journal = last - max(g.first-1, 0) // it has no gaps
		record.Messages, err = t.countMessages(id, g)
		return err
	})
	return record, err
}

// fullRecord returns what is known of a job, but for its attempts. find looks for the run of a job that runs.
func (t *tx) fullRecord(id store.ID, find func(store.ID) (runningJob, bool, error)) (store.Record, bool, error) {
	b, found, err := t.body(id)
	if err != nil || !found {
		return store.Record{}, false, err
	}
	r := store.Record{Job: b.Job}
	if r.Checkpoint, err = t.checkpoint(id); err != nil {
		return r, false, err
	}
	f, ended, err := t.finished(id)
	if err != nil {
		return r, false, err
	}
	switch {
	case ended:
		err = t.endedRecord(&r, b, f)
	default:
		if r.State, r.Blocked, err = t.pointerState(b); err != nil {
			return r, false, err
		}
		if r.State != 0 {
			err = t.waitingRecord(&r, b)
		} else {
			err = t.runningRecord(&r, find)
		}
	}
	return r, true, err
}

// endedRecord completes the record of a finished job. The run that ended it is counted; the body does not know of it.
func (t *tx) endedRecord(r *store.Record, b *body, f finished) (err error) {
	r.State, r.Reason, r.FinishedAt, r.Result = f.state, f.reason, timeOf(f.finishedAt), f.result
	r.StartedAt, r.ResultCodec, r.Fingerprint = f.startedAt, f.codec, f.fingerprint
	ranLast := f.lease != 0
	if ranLast {
		r.Attempt++
		r.LeaseNumber = f.lease
		r.Lease = store.Lease{Number: f.lease, Node: f.node}
		r.ClaimedAt = timeOf(f.claimedAt)
	} else if err := t.lastRun(r, b); err != nil {
		return err
	}
	r.Error = f.err
	if f.state == store.Completed && f.lease > 1 {
		r.Error, err = t.lastError(r.ID)
	}
	return err
}

// waitingRecord completes the record of a job that has a pointer.
func (t *tx) waitingRecord(r *store.Record, b *body) error {
	if r.State == store.Waiting {
		w, err := t.waiter(b)
		if err != nil {
			return err
		}
		r.Wait = &w.WaitInfo
		if w.Held {
			r.RunAt = time.Time{} // the body keeps the time by which the job was found before
		}
	}
	if b.LeaseNumber > 0 || b.forked {
		asked, err := t.requests(r.ID)
		if err != nil {
			return err
		}
		r.CancelRequested = asked.cancel != nil
	}
	return t.lastRun(r, b)
}

// lastRun tells of the last run of a job that does not run now.
func (t *tx) lastRun(r *store.Record, b *body) (err error) {
	if r.LeaseNumber == 0 {
		return nil
	}
	if b.claimedAt != 0 {
		r.ClaimedAt = timeOf(b.claimedAt)
		r.Error, err = t.lastError(r.ID)
		return err
	}
	s := t.stmt("attempt_last_claimed_at")
	bindID(s, r.ID)
	found, err := s.next()
	if err != nil {
		return err
	}
	if found {
		r.ClaimedAt = readTime(s)
		s.done()
	}
	r.Error, err = t.lastError(r.ID)
	return err
}

func (t *tx) runningRecord(r *store.Record, find func(store.ID) (runningJob, bool, error)) error {
	run, found, err := find(r.ID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: job %v has no pointer", store.ErrInvalid, r.ID)
	}
	r.State = store.Running
	r.Attempt++
	r.LeaseNumber = run.lease.Number
	r.Lease, r.ClaimedAt = run.lease, timeOf(run.claimedAt)
	if run.lease.Number > 1 {
		if r.Error, err = t.lastError(r.ID); err != nil {
			return err
		}
	}
	asked, err := t.requests(r.ID)
	r.CancelRequested, r.PauseRequested = asked.cancel != nil, asked.pause != nil
	return err
}

// lastError returns the error of the attempt that failed last.
func (t *tx) lastError(id store.ID) (string, error) {
	s := t.stmt("attempt_last_error")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return "", err
	}
	defer s.done()
	return readOptText(s), nil
}

func (t *tx) attempts(id store.ID) ([]store.Attempt, error) {
	var attempts []store.Attempt
	s := t.stmt("attempts")
	bindID(s, id)
	return attempts, each(s, func() error {
		attempts = append(attempts, store.Attempt{
			LeaseNumber: s.readInt(), Number: int(s.readInt()), Node: s.readInt(),
			ClaimedAt: readTime(s), StartedAt: readOptTime(s), EndedAt: readTime(s),
			Outcome: store.State(s.readInt()), Reason: store.Reason(readOptText(s)),
			Error: readOptText(s), Trace: readOptText(s),
		})
		return nil
	})
}

// actions returns what people did to a job.
func (t *tx) actions(id store.ID) ([]store.Action, error) {
	var actions []store.Action
	s := t.stmt("actions")
	bindID(s, id)
	s.bindInt(store.ActionBound)
	err := each(s, func() error {
		actions = append(actions, store.Action{
			At: readTime(s), Kind: store.ActionKind(s.readText()), Actor: s.readText(), Reason: readOptText(s),
		})
		return nil
	})
	slices.Reverse(actions)
	return actions, err
}

// Ended implements store.Reader.
func (v viewVerbs) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	var ended []store.Ended
	err := v.d.read(ctx, "read ended jobs", func(t *tx) error {
		ended = nil
		for _, id := range ids {
			if own, err := t.isIn(namespace, id); err != nil {
				return err
			} else if !own {
				ended = append(ended, store.Ended{ID: id})
				continue
			}
			st := t.stmt("ended")
			bindID(st, id)
			found, err := st.next()
			if err != nil {
				return err
			}
			if found {
				ended = append(ended, store.Ended{
					ID: id, State: store.State(st.readInt()), Reason: store.Reason(readOptText(st)),
					Error: readOptText(st), Result: readOptBlob(st), Codec: int(readOptInt(st)),
				})
				st.done()
				continue
			}
			st = t.stmt("job_run_at")
			bindID(st, id)
			known, err := exists(st)
			if err != nil {
				return err
			}
			if !known {
				ended = append(ended, store.Ended{ID: id})
			}
		}
		return nil
	})
	return ended, err
}

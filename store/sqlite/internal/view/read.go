package view

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/remains"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// Get implements store.Reader.
func (v Verbs) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	var record store.Record
	err := v.d.Read(ctx, "get job "+id.String(), func(t *core.Tx) error {
		r, found, err := fullRecord(t, id, t.RunningJob)
		if err != nil {
			return err
		}
		if !found || namespace != "" && r.Namespace != namespace {
			return remains.NoJob(t, namespace, id)
		}
		record = r
		if record.Attempts, err = attempts(t, id); err != nil {
			return err
		}
		builds, err := remains.Builds(t, record.Nodes())
		if err != nil {
			return err
		}
		record.SetBuilds(builds)
		if record.Actions, err = actions(t, id); err != nil {
			return err
		}
		g, err := generations.Of(t, id)
		if err != nil {
			return err
		}
		last, err := work.LastEntry(t, id)
		if err != nil {
			return err
		}
		record.Journal = last - max(g.First-1, 0) // it has no gaps
		if record.Messages, err = work.CountMessages(t, id, g); err == nil && record.State == store.Waiting {
			record.Predecessors, err = edges.Predecessors(t, id)
		}
		return err
	})
	return record, err
}

// fullRecord returns what is known of a job, but for its attempts. find looks for the run of a job
// that runs.
func fullRecord(t *core.Tx, id store.ID, find func(store.ID) (core.RunningJob, bool, error)) (store.Record, bool, error) {
	b, found, err := t.Body(id)
	if err != nil || !found {
		return store.Record{}, false, err
	}
	r := store.Record{Job: b.Job}
	if r.Attributes, err = attributes.Of(t, id); err != nil {
		return r, false, err
	}
	if r.Checkpoint, err = work.Checkpoint(t, id); err != nil {
		return r, false, err
	}
	f, ended, err := t.Finished(id)
	if err != nil {
		return r, false, err
	}
	switch {
	case ended:
		err = endedRecord(t, &r, b, f)
	default:
		if r.State, r.Blocked, err = t.PointerState(b); err != nil {
			return r, false, err
		}
		if r.State != 0 {
			err = waitingRecord(t, &r, b)
		} else {
			err = runningRecord(t, &r, find)
		}
	}
	return r, true, err
}

// endedRecord completes the record of a finished job. The run that ended it is counted; the body
// does not know of it.
func endedRecord(t *core.Tx, r *store.Record, b *core.Body, f core.Finished) (err error) {
	r.State, r.Reason, r.FinishedAt, r.Result = f.State, f.Reason, db.TimeOf(f.FinishedAt), f.Result
	r.StartedAt, r.ResultCodec, r.Fingerprint = f.StartedAt, f.Codec, f.Fingerprint
	ranLast := f.Lease != 0
	if ranLast {
		r.Attempt++
		r.LeaseNumber = f.Lease
		r.Lease = store.Lease{Number: f.Lease, Node: f.Node}
		r.ClaimedAt = db.TimeOf(f.ClaimedAt)
	} else if err := lastRun(t, r, b); err != nil {
		return err
	}
	r.Error = f.Err
	if f.State == store.Completed && r.LeaseNumber > 1 {
		r.Error, err = lastError(t, r.ID)
	}
	return err
}

// waitingRecord completes the record of a job that has a pointer.
func waitingRecord(t *core.Tx, r *store.Record, b *core.Body) error {
	if r.State == store.Waiting {
		w, err := work.WaiterOf(t, b)
		if err != nil {
			return err
		}
		r.Wait = &w.WaitInfo
		if w.Held {
			r.RunAt = time.Time{} // the body keeps the time by which the job was found before
		}
	}
	if b.LeaseNumber > 0 || b.Forked {
		asked, err := work.RequestsOf(t, r.ID)
		if err != nil {
			return err
		}
		r.CancelRequested = asked.Cancel != nil
	}
	return lastRun(t, r, b)
}

// lastRun tells of the last run of a job that does not run now.
func lastRun(t *core.Tx, r *store.Record, b *core.Body) (err error) {
	if r.LeaseNumber == 0 {
		return nil
	}
	if b.ClaimedAt != 0 {
		r.ClaimedAt = db.TimeOf(b.ClaimedAt)
		r.Error, err = lastError(t, r.ID)
		return err
	}
	s := t.Stmt("attempt_last_claimed_at")
	db.BindID(s, r.ID)
	found, err := s.Next()
	if err != nil {
		return err
	}
	if found {
		r.ClaimedAt = db.ReadTime(s)
		s.Done()
	}
	r.Error, err = lastError(t, r.ID)
	return err
}

func runningRecord(t *core.Tx, r *store.Record, find func(store.ID) (core.RunningJob, bool, error)) error {
	run, found, err := find(r.ID)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%w: job %v has no pointer", store.ErrInvalid, r.ID)
	}
	r.State = store.Running
	r.Attempt++
	r.LeaseNumber = run.Lease.Number
	r.Lease, r.ClaimedAt = run.Lease, db.TimeOf(run.ClaimedAt)
	if run.Lease.Number > 1 {
		if r.Error, err = lastError(t, r.ID); err != nil {
			return err
		}
	}
	asked, err := work.RequestsOf(t, r.ID)
	r.CancelRequested, r.PauseRequested = asked.Cancel != nil, asked.Pause != nil
	return err
}

// lastError returns the error of the attempt that failed last.
func lastError(t *core.Tx, id store.ID) (string, error) {
	s := t.Stmt("attempt_last_error")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return "", err
	}
	defer s.Done()
	return db.ReadOptText(s), nil
}

func attempts(t *core.Tx, id store.ID) ([]store.Attempt, error) {
	var attempts []store.Attempt
	s := t.Stmt("attempts")
	db.BindID(s, id)
	return attempts, db.Each(s, func() error {
		attempts = append(attempts, store.Attempt{
			LeaseNumber: s.ReadInt(), Number: int(s.ReadInt()), Node: s.ReadInt(),
			ClaimedAt: db.ReadTime(s), StartedAt: db.ReadOptTime(s), EndedAt: db.ReadTime(s),
			Outcome: store.State(s.ReadInt()), Reason: store.Reason(db.ReadOptText(s)),
			Error: db.ReadOptText(s), Trace: db.ReadOptText(s),
		})
		return nil
	})
}

// actions returns what people did to a job.
func actions(t *core.Tx, id store.ID) ([]store.Action, error) {
	var actions []store.Action
	s := t.Stmt("actions")
	db.BindID(s, id)
	s.BindInt(store.ActionBound)
	err := db.Each(s, func() error {
		actions = append(actions, store.Action{
			At: db.ReadTime(s), Kind: store.ActionKind(s.ReadText()), Actor: s.ReadText(), Reason: db.ReadOptText(s),
		})
		return nil
	})
	slices.Reverse(actions)
	return actions, err
}

// Ended implements store.Reader.
func (v Verbs) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	var ended []store.Ended
	err := v.d.Read(ctx, "read ended jobs", func(t *core.Tx) error {
		ended = nil
		for _, id := range ids {
			if own, err := t.IsIn(namespace, id); err != nil {
				return err
			} else if !own {
				ended = append(ended, store.Ended{ID: id})
				continue
			}
			st := t.Stmt("ended")
			db.BindID(st, id)
			found, err := st.Next()
			if err != nil {
				return err
			}
			if found {
				ended = append(ended, store.Ended{
					ID: id, State: store.State(st.ReadInt()), Reason: store.Reason(db.ReadOptText(st)),
					Error: db.ReadOptText(st), Result: db.ReadOptBlob(st), Codec: int(db.ReadOptInt(st)),
				})
				st.Done()
				continue
			}
			st = t.Stmt("job_run_at")
			db.BindID(st, id)
			known, err := db.Exists(st)
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

package model

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/edits"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// Edit implements store.Editors.
func (s *Store) Edit(ctx context.Context, params store.EditParams) (State, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return 0, nil, err
	}
	j := s.in(params.Namespace, params.Job)
	if j == nil {
		return 0, nil, store.NoJob(params.Job)
	}
	if s.holder(j.ID) != nil {
		return 0, nil, store.ErrBusy
	}
	if params.Again != nil {
		return s.editAgain(j, &params, now)
	}
	if err := edits.Allowed(&params.Edit, &j.Job, j.state, j.durable(), j.cancel != nil); err != nil {
		return 0, nil, err
	}
	return s.edit(j, &params, now), s.woken, nil
}

// editAgain lets a job run again that has failed, and changes it.
func (s *Store) editAgain(j *job, params *store.EditParams, now time.Time) (State, []store.Wake, error) {
	switch again := params.Again; {
	case s.isKept(j.ID):
		return 0, nil, store.ErrBusy
	case j.state != store.Failed:
		return 0, nil, store.JobIs(j.ID, j.state)
	case again.Expect >= 0 && again.Expect != j.lastEntry():
		return 0, nil, refusal.JournalMoved(j.ID, j.lastEntry())
	}
	durable := j.durable()
	if keep := params.Again.Keep; keep >= 0 && durable {
		durable = j.journal[0].Seq <= keep || j.journal[0].Kind == store.EntryContinued
	}
	if err := edits.Allowed(&params.Edit, &j.Job, store.Available, durable, false); err != nil {
		return 0, nil, err
	}
	if err := s.restart(j, now); err != nil {
		return 0, nil, err
	}
	if params.Again.Keep >= 0 {
		j.cut(params.Again.Keep)
	}
	s.act(j, audited.Retried(params.Actor, params.Reason, store.Failed), now)
	return s.edit(j, params, now), s.woken, nil
}

// edit changes a job that lets itself be changed, and returns its state then.
func (s *Store) edit(j *job, params *store.EditParams, now time.Time) State {
	change, was, turn := &params.Edit, *j, j.keyName()
	change.Attributes = edits.Kept(change.Attributes, s.declared(j.Namespace))
	changed := edits.Apply(change, &j.Job)
	j.Job = copyof.Job(j.Job)
	if edits.OnlyWords(change) {
		if changed {
			s.acted(j, audited.JobEdited(params, &was.Job, &j.Job, time.Time{}, time.Time{}), now)
		}
		return j.state
	}
	state, due := j.state, j.RunAt
	if !j.held() {
		var until time.Time
		if j.state == store.Waiting {
			until = j.wait.Until
		}
		state, due = edits.Due(change, &j.Job, j.state, j.durable(), until, now)
	}
	if !changed && state == j.state && due.Equal(j.RunAt) {
		return j.state
	}
	s.acted(j, audited.JobEdited(params, &was.Job, &j.Job, was.due(), due), now)
	s.queues[was.queueName()].used = now
	s.touch(j.Namespace, j.Queue, now)
	moved := was.Queue != j.Queue || was.Priority != j.Priority || state != j.state || !due.Equal(j.RunAt)
	if j.RunAt = due; j.state == store.Waiting {
		if !j.held() {
			j.wait.due = due
		}
		if moved && !j.due().IsZero() {
			s.tell(store.Wake{Kind: store.WakeDeferred, Due: due})
		}
		return j.state
	}
	if turn != j.keyName() && s.turns[turn] == j.ID {
		delete(s.turns, turn)
		s.tellTurn(turn)
	}
	if moved {
		s.enter(j, state)
	}
	return state
}

// Delete implements store.Editors.
func (s *Store) Delete(ctx context.Context, params store.DeleteParams) (results []store.Result, wakes []store.Wake, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	for _, id := range params.Jobs {
		result := store.Result{Job: id}
		switch j := s.in(params.Namespace, id); {
		case j == nil:
			result.Err = store.NoJob(id)
		case !params.Takes(j.state):
			result.State, result.Err = j.state, store.JobIs(id, j.state)
		case s.holder(id) != nil, s.keys[j.Key()].job == id && s.isNaming(j.Key()), s.isUntold(id):
			result.State, result.Err = j.state, store.ErrBusy
		default:
			result.State = j.state
			alive := s.selected(func(c *job) bool { return c.Parent == id && !c.state.Finished() })
			if len(alive) > 0 {
				result.Err = store.HasChildren(id, alive[0].ID)
				break
			}
			delete(s.closed, id)
			s.freeKey(j)
			s.act(j, audited.Deleted(&params, j.state), now)
			s.remove(j)
			wakes = []store.Wake{{Kind: store.WakeAll}} // it may have kept a turn
		}
		results = append(results, result)
	}
	return results, wakes, nil
}

// say notes what a run says of its job.
func (s *Store) say(j *job, m *store.Meta) {
	if m.IsEmpty() {
		return
	}
	if m.Metadata != nil {
		j.Metadata = m.Metadata
	}
	if m.Tags != nil {
		j.Tags = m.Tags
	}
	s.search(j, m.Attributes)
	j.Job = copyof.Job(j.Job)
}

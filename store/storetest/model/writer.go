package model

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// Apply implements store.Writer: requests, checkpoints, appends, sends, outcomes, enqueues, fires,
// calls, each in the order given.
func (s *Store) Apply(ctx context.Context, batch *store.Batch) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.names = true
	if batch.Len() == 1 {
		s.write(batch, now) // an operation that is refused leaves nothing
		return batch.Refusal()
	}
	before := s.clone()
	s.write(batch, now)
	err = batch.Refusal()
	if err != nil {
		s.restore(before)
	}
	return err
}

func (s *Store) write(batch *store.Batch, now time.Time) {
	steps := s.requests.Judge(batch.Requests, now)
	for _, c := range batch.Checkpoints {
		c.Err = s.writeCheckpoint(c, now)
	}
	for _, a := range batch.Appends {
		a.Err = s.append(a, now)
	}
	for _, q := range batch.Sends {
		q.Result, q.Err = s.send(q, now)
	}
	for _, o := range batch.Outcomes {
		o.Final, o.Due, o.Err = s.endRun(o, now)
	}
	s.enqueueAll(batch, now)
	for _, f := range batch.Fires {
		f.Err = s.fire(f, now)
	}
	for _, c := range batch.Calls {
		c.Err = s.call(c)
	}
	s.requests.Note(steps, now)
	batch.Woken = append(slices.Clone(s.woken), s.turnsLeft(now)...)
}

// turnsLeft tells that Promote has turns of ordering keys to hand on, if there are any.
func (s *Store) turnsLeft(now time.Time) []store.Wake {
	for _, j := range s.waitingForTurns() {
		if _, taken := s.turns[j.keyName()]; !taken {
			return []store.Wake{{Kind: store.WakeDeferred, Namespace: j.Namespace, Queue: j.Queue, Due: now}}
		}
	}
	return nil
}

// enqueueAll inserts jobs, and lets those run at once that the batch's Start says.
func (s *Store) enqueueAll(batch *store.Batch, now time.Time) {
	start := batch.Start
	records := int64(store.ClaimRecords(batch.Starting()))
	mayStart := start != nil && s.mayStart(batch, now)
	n := 0
	for _, q := range batch.Enqueues {
		if q.Send != nil {
			q.Result, q.Err = s.enqueueSending(q, now)
		} else {
			q.Result, q.Err = s.enqueue(q, now)
		}
		if j := s.jobs[q.Job.ID]; mayStart && q.MayStart() && q.Err == nil && q.Result.State == store.Available {
			s.feedStart(j)
			s.start(j, start.Node, start.Seq+int64(n/store.MaxClaimSlots), n%store.MaxClaimSlots, now)
			q.Result.State = store.Running
			n++
		}
	}
	if start != nil {
		start.Claimed = nil
		if s.alive(start.Node) {
			start.Claimed = s.claimedBy(start.Node, start.Seq, start.Seq+records)
		}
	}
}

func (s *Store) writeCheckpoint(c *store.CheckpointWrite, now time.Time) error {
	j := s.live(c.Lease)
	if j == nil {
		return store.LostLease(c.Lease.Job)
	}
	if err := c.Check(); err != nil {
		return err
	}
	if !c.Meta.IsEmpty() && s.holder(j.ID) != nil {
		return store.ErrBusy
	}
	j.checkpoint = copyof.Checkpoint(&c.Checkpoint)
	j.checkpoint.UpdatedAt = now
	s.say(j, c.Meta)
	return nil
}

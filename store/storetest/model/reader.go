package model

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Record{}, err
	}
	defer s.mu.Unlock()
	j := s.in(namespace, id)
	if b, archived := s.stubs[id]; j == nil && archived && (namespace == "" || namespace == b.Namespace) {
		return store.Record{}, &store.ArchivedError{Stub: b}
	}
	if j == nil {
		return store.Record{}, store.NoJob(id)
	}
	record := s.record(j)
	record.Result = bytes.Clone(j.result)
	record.Attempts = slices.Clone(j.attempts)
	record.SetBuilds(s.builds(record.Nodes()))
	record.Actions = slices.Clone(j.actions[max(0, len(j.actions)-store.ActionBound):])
	record.Journal, record.Messages = int64(len(j.journal)), int64(len(j.inbox))
	record.Predecessors = s.predecessors(id)
	return record, nil
}

func (s *Store) record(j *job) store.Record {
	record := store.Record{
		Job:             copyof.Job(j.Job),
		State:           j.state,
		Reason:          j.reason,
		Error:           j.lastError(),
		ClaimedAt:       j.claimedAt,
		FinishedAt:      j.finishedAt,
		Blocked:         s.blocked(j),
		CancelRequested: j.cancel != nil,
		Checkpoint:      copyof.Checkpoint(j.checkpoint),
		PauseRequested:  j.pause != nil,
		Wait:            j.wait.info(),
	}
	record.RunAt, record.Attributes = j.due(), s.shown(j)
	switch {
	case j.state == store.Running:
		record.Lease = j.lease
	case j.state.Finished():
		record.Lease = store.Lease{Number: j.endedBy.Number, Node: j.endedBy.Node}
		record.StartedAt, record.ResultCodec, record.Fingerprint = j.startedAt, j.codec, j.likeness
	}
	return record
}

// lastError is the error of the attempt that failed last; of a cancelled job, the words of who
// cancelled it.
func (j *job) lastError() string {
	if j.state == store.Failed || j.state == store.Cancelled {
		return j.err
	}
	for _, a := range slices.Backward(j.attempts) {
		if a.Outcome == store.Retryable || a.Outcome == store.Failed {
			return a.Error
		}
	}
	return ""
}

// Obstacles implements store.Reader.
func (s *Store) Obstacles(ctx context.Context, namespace string, id store.ID) (store.Obstacles, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Obstacles{}, err
	}
	defer s.mu.Unlock()
	j := s.in(namespace, id)
	if j == nil {
		return store.Obstacles{}, store.NoJob(id)
	}
	var o store.Obstacles
	if q := s.queues[queueName{j.Namespace, j.Queue}]; q != nil {
		o.QueuePausedAt, o.QueuePausedBy = q.PausedAt, q.PausedBy
		if q.Rest.At(now) {
			o.QueueRest = q.Rest
		}
	}
	holder := s.turns[j.keyName()]
	if o.HasTurn = holder == j.ID; !o.HasTurn {
		o.Turn = holder
	}
	o.FairAhead = min(len(s.fairAhead(j)), store.MostFairAhead)
	return o, nil
}

// Queues implements store.Queues.
func (s *Store) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var queues []store.Queue
	for _, q := range s.queues {
		if q.Namespace != namespace || !s.isListed(q) {
			continue
		}
		queue := q.Queue
		queue.Counts = map[State]store.Count{}
		for _, j := range s.jobs {
			if j.Namespace != q.Namespace || j.Queue != q.Name || j.state.Finished() {
				continue
			}
			count := queue.Counts[j.state]
			if count.N == store.CountBound {
				count.More = true
			} else {
				count.N++
			}
			queue.Counts[j.state] = count
			if j.state == store.Available && (queue.OldestDue.IsZero() || j.RunAt.Before(queue.OldestDue)) {
				queue.OldestDue = j.RunAt
			}
		}
		queues = append(queues, queue)
	}
	slices.SortFunc(queues, func(a, b store.Queue) int { return cmp.Compare(a.Name, b.Name) })
	return queues, nil
}

// Busy implements store.Claims.
func (s *Store) Busy(ctx context.Context, namespace string) (queues []store.BusyQueue, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		if j.Namespace == namespace && j.state == store.Available && s.hasTurn(j) && !s.isPaused(j.queueName(), now) {
			if q := (store.BusyQueue{Name: j.Queue, Kind: j.ClaimKind()}); !slices.Contains(queues, q) {
				queues = append(queues, q)
			}
		}
	}
	return queues, nil
}

// Unserved implements store.Queues.
func (s *Store) Unserved(ctx context.Context, limit int) ([]store.Unserved, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	served := func(serves func(store.NodeInfo) bool) bool {
		for _, n := range s.nodes {
			if n.DeadAt.IsZero() && serves(n.Info) {
				return true
			}
		}
		return false
	}
	oldest := map[store.Unserved]time.Time{} // without OldestDue
	for _, j := range s.jobs {
		if j.state != store.Available || !s.hasTurn(j) || s.isPaused(j.queueName(), now) ||
			served(func(n store.NodeInfo) bool { return n.Claims(j.Namespace, j.Queue, j.lane()) }) {
			continue
		}
		u := store.Unserved{Namespace: j.Namespace, Queue: j.Queue, Kind: j.Kind, Version: j.Version}
		u.Known = served(func(n store.NodeInfo) bool { return n.Has(j.Namespace, j.lane()) })
		if due, found := oldest[u]; !found || j.RunAt.Before(due) {
			oldest[u] = j.RunAt
		}
	}
	var found []store.Unserved
	for u, due := range oldest {
		u.OldestDue = due
		found = append(found, u)
	}
	slices.SortFunc(found, func(a, b store.Unserved) int {
		return cmp.Or(a.OldestDue.Compare(b.OldestDue), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	return found[:min(limit, len(found))], nil
}

// Ended implements store.Reader.
func (s *Store) Ended(ctx context.Context, namespace string, ids []store.ID) ([]store.Ended, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var ended []store.Ended
	for _, id := range ids {
		j := s.in(namespace, id)
		switch {
		case j == nil:
			ended = append(ended, store.Ended{ID: id})
		case j.state.Finished():
			ended = append(ended, store.Ended{
				ID: id, State: j.state, Reason: j.reason, Error: j.err, Result: bytes.Clone(j.result), Codec: j.codec,
			})
		}
	}
	return ended, nil
}

// fairAhead are the jobs that are before one in the line of its key.
func (s *Store) fairAhead(j *job) []*job {
	if j.Options.FairKey == "" || j.state != store.Available || !s.hasTurn(j) {
		return nil
	}
	return s.selected(func(a *job) bool {
		return a.state == store.Available && s.hasTurn(a) && a.LaneName() == j.LaneName() && a.Namespace == j.Namespace &&
			a.Queue == j.Queue && a.Priority == j.Priority && cmp.Or(a.RunAt.Compare(j.RunAt), compareIDs(a.ID, j.ID)) < 0
	})
}

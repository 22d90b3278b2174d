package model

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// append adds to a journal, with the children, or does nothing.
func (s *Store) append(a *store.Append, now time.Time) error {
	if err := a.CheckEntries(); err != nil {
		return err
	}
	known := s.jobs[a.Lease.Job]
	if known != nil && a.Repeat && len(a.Entries) > 0 {
		if e, ok := known.entry(a.Entries[0].Seq); ok && e.LeaseNumber == a.Lease.Number {
			for _, q := range a.Enqueues {
				if child := s.jobs[q.Job.ID]; child != nil { // one that was removed since does not come back
					q.Result = store.EnqueueResult{ID: q.Job.ID, Existing: true, RunAt: child.RunAt}
				}
			}
			return nil
		}
	}
	j := s.live(a.Lease)
	if j == nil {
		return store.LostLease(a.Lease.Job)
	}
	held := s.holder(j.ID)
	if held != nil && (a.Closing || !a.Meta.IsEmpty() || held.isAppending(j.ID)) || slices.ContainsFunc(a.Enqueues, s.isTaken) {
		return store.ErrBusy
	}
	if last := j.lastEntry(); len(a.Entries) > 0 && a.Entries[0].Seq <= last {
		return store.LostLease(a.Lease.Job)
	} else if len(a.Entries) > 0 && a.Entries[0].Seq > last+1 {
		// A database need not look: the caller is the only writer. Here it is a mistake of the
		// engine that is found.
		return refusal.JournalGap(j.ID, a.Entries[0].Seq)
	}
	if err := a.CheckChildren(); err != nil {
		return err
	}
	for _, q := range a.Enqueues {
		q.Result, q.Err = s.enqueue(q, now) // which cannot fail any more
	}
	for _, entry := range a.Entries {
		entry.Data = bytes.Clone(entry.Data)
		entry.At, entry.LeaseNumber, entry.Took = now, a.Lease.Number, entry.Took.Truncate(time.Microsecond)
		j.journal = append(j.journal, entry)
	}
	j.answerUpdates(a.Answers, now)
	if a.Closing && !j.Closing {
		j.Closing, j.decided = true, a.LastSeq()
	}
	s.say(j, a.Meta)
	return nil
}

// keepEarlier keeps what the journal has published and streamed: of values the newest of each key.
func (j *job) keepEarlier() {
	newest := map[string]int64{}
	all := slices.Concat(j.earlier, j.journal)
	for _, entry := range all {
		if entry.Kind == store.EntryPublished {
			newest[entry.Name] = entry.Seq
		}
	}
	j.earlier = slices.DeleteFunc(all, func(e store.Entry) bool {
		return e.Kind != store.EntryStreamed && (e.Kind != store.EntryPublished || newest[e.Name] != e.Seq)
	})
}

// beginAnew replaces all that a job remembers.
func (s *Store) beginAnew(j *job, c *store.Continue, now time.Time) {
	var kept []message
	for _, m := range j.inbox {
		if m.Kind == store.MessageSignal && !received(j.journal, m.Seq) {
			m.Seq = int64(len(kept)) + 1
			kept = append(kept, m)
		}
	}
	j.inbox = kept
	j.keepEarlier()
	j.journal = []store.Entry{{
		Seq: j.lastEntry() + 1, Kind: store.EntryContinued, Data: bytes.Clone(c.Data), At: now, LeaseNumber: j.LeaseNumber,
	}}
	j.Args, j.Codec = bytes.Clone(c.Args), c.Codec
	j.Attempt, j.Closing = 0, false
}

// Fork implements store.Operators.
func (s *Store) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return nil, err
	}
	from := s.in(params.Namespace, params.From)
	if from == nil {
		return nil, store.NoJob(params.From)
	}
	if known := s.jobs[params.Job.ID]; known != nil {
		if known.Namespace != params.Job.Namespace {
			return nil, store.TakenID(params.Job.ID)
		}
		return nil, nil
	}
	if params.Next != nil {
		if next, found := from.entry(params.Keep + 1); !found || next.LeaseNumber != params.Next.LeaseNumber {
			return nil, refusal.JournalRewritten(params.From, params.Keep+1)
		}
	}
	if _, err := s.enqueue(&store.Enqueue{Job: params.Job}, now); err != nil {
		return nil, err
	}
	j := s.jobs[params.Job.ID]
	s.act(j, audited.Forked(&params), now)
	j.journal = copyof.Entries(from.upTo(params.Keep))
	if len(j.journal) > 0 {
		j.earlier = copyof.Entries(from.earlier)
	}
	for _, m := range from.inbox {
		if m.Kind != store.MessageSignal || received(j.journal, m.Seq) {
			m.Data = bytes.Clone(m.Data)
			j.inbox = append(j.inbox, m)
		}
	}
	return s.woken, nil
}

// Journals implements store.Journals.
func (s *Store) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var journals []store.Journal
	for _, id := range ids {
		journal := store.Journal{Job: id}
		if j := s.in(namespace, id); j != nil {
			for _, entry := range j.journal {
				entry.Data = bytes.Clone(entry.Data)
				journal.Entries = append(journal.Entries, entry)
			}
			for _, m := range j.inbox {
				m.Data = bytes.Clone(m.Data)
				journal.Messages = append(journal.Messages, m.Message)
			}
		}
		journals = append(journals, journal)
	}
	return journals, nil
}

// Entries implements store.Journals.
func (s *Store) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	j := s.in(params.Namespace, params.Job)
	if j == nil {
		return nil, nil
	}
	entries := slices.Clone(j.journal)
	if params.Earlier {
		entries = slices.Concat(j.earlier, j.journal)
	}
	if params.Newest {
		slices.Reverse(entries)
	}
	var page []store.Entry
	for _, entry := range entries {
		beyond := entry.Seq > params.After
		if params.Newest {
			beyond = params.After == 0 || entry.Seq < params.After
		}
		if beyond && len(page) < params.Limit && (params.Name == "" || params.Name == entry.Name) &&
			(params.Kinds == nil || slices.Contains(params.Kinds, entry.Kind)) {
			entry.Data = bytes.Clone(entry.Data)
			page = append(page, entry)
		}
	}
	return page, nil
}

// Messages implements store.Journals.
func (s *Store) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	j := s.in(params.Namespace, params.Job)
	if j == nil {
		return nil, nil
	}
	var page []store.Message
	for _, m := range j.inbox {
		if m.Seq > params.After && len(page) < params.Limit {
			m.Data = bytes.Clone(m.Data)
			page = append(page, m.Message)
		}
	}
	return page, nil
}

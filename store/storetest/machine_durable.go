package storetest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What the machine compares of jobs that remember.

// ownWords reports whether a text is the model's own, which says why a child was closed; a store has other words for it.
func (m *machine) ownWords(text string) bool { return text == "its parent has finished" }

// noteClosed remembers which jobs were ended, or asked to end, in such words.
func (m *machine) noteClosed(records []store.Record) {
	for _, r := range records {
		own := m.ownWords(r.Error)
		for _, a := range r.Attempts {
			own = own || m.ownWords(a.Error)
		}
		if own {
			m.closed[r.ID] = true
		}
	}
}

// tidyDurable makes what two sides say about a job that waits, or was closed, the same if it is the same.
func (m *machine) tidyDurable(r *store.Record) {
	k := m.find(r.ID)
	if k != nil && r.State.Finished() && (k.timeless || k.state == store.Waiting) {
		r.RunAt = time.Time{} // Reading: what it is of a job that finished while no time would have woken it is not promised
	}
	if r.State != store.Running {
		r.CancelRequested = false // Reading: so is whether a record tells of a request before the run that will answer it
	}
	if r.Wait != nil {
		wait := *r.Wait
		wait.Since, wait.Until = wait.Since.UTC(), wait.Until.UTC()
		if wait.Reason == store.ReasonPaused {
			wait.For = nil // Reading: so is what a paused job waited for
		}
		r.Wait = &wait
	}
	if m.closed[r.ID] {
		r.Error = ""
		for i := range r.Attempts {
			r.Attempts[i].Error = ""
		}
	}
}

// checkJournals compares what all jobs remember and what was sent to them, and looks whether one sleeps that should not.
func (m *machine) checkJournals(records []store.Record) {
	if !m.mode.durable || len(m.jobs) == 0 {
		return
	}
	var ids []store.ID
	for _, k := range m.jobs {
		ids = append(ids, k.enqueue.Job.ID)
	}
	got, err := m.store.Journals(m.ctx, ids)
	m.must("Journals", err)
	want, err := m.model.Journals(m.ctx, ids)
	m.must("Journals", nil, err)
	for i := range want {
		if i < len(got) {
			m.tidyJournal(m.jobs[i], &got[i], &want[i])
		}
	}
	m.same("Journals", got, want)
	for _, id := range ids {
		m.checkEarlier(id)
	}

	sleeping := map[store.ID]bool{}
	for _, r := range records {
		sleeping[r.ID] = r.State == store.Waiting && !r.Wait.Held
	}
	for i, journal := range got {
		if n := misnumbered(journal.Entries); n >= 0 {
			m.t.Fatalf("Remembered: entry %d of job %d has the number %d", n+1, i, journal.Entries[n].Seq)
		}
		for _, message := range journal.Messages {
			if sleeping[journal.Job] && m.jobs[i].wait.Wakes(&message) {
				m.t.Fatalf("NoLoss: job %d sleeps although message %d has come", i, message.Seq)
			}
		}
	}
}

// checkEarlier compares what a job has published and streamed, whether it has continued as new since or not. Of values that were replaced
// before it did, nothing is promised.
func (m *machine) checkEarlier(id store.ID) {
	for _, params := range []store.JournalParams{
		{Kinds: items, Limit: 1000},
		{Kinds: items, Name: "a", Limit: 1000},
		{Kinds: values, Name: "a", Newest: true, Limit: 1},
		{Kinds: values, Name: "b", Newest: true, Limit: 1},
	} {
		params.Job, params.Earlier = id, true
		got, err := m.store.Entries(m.ctx, params)
		m.must("Entries", err)
		want, err := m.model.Entries(m.ctx, params)
		m.must("Entries", nil, err)
		tidyEntries(got)
		tidyEntries(want)
		m.same(fmt.Sprintf("Entries of job %d, %v", m.names([]store.ID{id}), params), got, want)
	}
}

// tidyEntries leaves out when the entries of a fork were written.
func tidyEntries(entries []store.Entry) {
	for i := range entries {
		entry := &entries[i]
		if entry.At = entry.At.UTC(); entry.LeaseNumber == 0 {
			entry.At = time.Time{}
		}
	}
}

// tidyJournal leaves out what is not promised: when the entries of a fork were written, and the words of a rescue or of the end of
// a parent.
func (m *machine) tidyJournal(k *known, got, want *store.Journal) {
	for _, journal := range []*store.Journal{got, want} {
		tidyEntries(journal.Entries)
		for i := range journal.Messages {
			message := &journal.Messages[i]
			message.At = message.At.UTC()
			if k.forked {
				message.At = time.Time{}
			}
			if m.closed[message.From] {
				message.Error = ""
			}
		}
	}
	sortAnswers(got.Messages)
	sortAnswers(want.Messages)
	for i := range want.Messages {
		w := want.Messages[i]
		if m.ownWords(w.Error) || w.Error == "" && w.State == store.Failed {
			want.Messages[i].Error = ""
			if i < len(got.Messages) {
				got.Messages[i].Error = ""
			}
		}
	}
}

// sortAnswers puts answers that came at one time into one order: which of the children that one transaction finishes answers first is
// not promised.
func sortAnswers(messages []store.Message) {
	for first := 0; first < len(messages); first++ {
		last := first
		for last < len(messages) && messages[last].Kind == store.MessageChild && messages[last].At.Equal(messages[first].At) {
			last++
		}
		if last <= first+1 {
			continue
		}
		answers, seq := messages[first:last], messages[first].Seq
		slices.SortFunc(answers, func(a, b store.Message) int {
			return cmp.Or(bytes.Compare(a.From[:], b.From[:]), cmp.Compare(a.State, b.State), cmp.Compare(a.Reason, b.Reason))
		})
		for i := range answers {
			answers[i].Seq = seq + int64(i)
		}
		first = last - 1
	}
}

// closeAll closes the children of one side until nothing is left, and returns those that were ended.
func (m *machine) closeAll(s store.Store) []store.ID {
	var ended []store.ID
	for calls := 0; ; calls++ {
		closed, err := s.CloseChildren(m.ctx, 3)
		m.must("CloseChildren", err)
		ended = append(ended, closed.Ended...)
		if !closed.More {
			return sortedIDs(ended)
		}
		if calls > 1000 {
			m.t.Fatal("CloseChildren never comes to an end")
		}
	}
}

// related reports whether one of two jobs is the other's parent.
func (r *run) related(other *run) bool {
	a, b := r.store.Job, other.store.Job
	return a.Parent == b.ID || b.Parent == a.ID
}

// settleLives looks which runs are over since their jobs were terminated.
func (m *machine) settleLives() {
	for _, k := range m.jobs {
		if !k.live {
			continue
		}
		record, err := m.model.Get(m.ctx, k.enqueue.Job.ID)
		m.must("Get", nil, err)
		k.live = record.State == store.Running
	}
}

func sortedIDs(ids []store.ID) []store.ID {
	return slices.SortedFunc(slices.Values(ids), func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) })
}

// lengths returns the first and the last entry of a job, and how many messages it has; of a job that is gone, none.
func (m *machine) lengths(id store.ID) (first, last, messages int64) {
	journals, err := m.model.Journals(m.ctx, []store.ID{id})
	if err != nil || len(journals) == 0 {
		return 0, 0, 0
	}
	j := &journals[0]
	if len(j.Entries) > 0 {
		first = j.Entries[0].Seq
	}
	return first, j.LastSeq(), int64(len(j.Messages))
}

// key is one that no other send has.
func (m *machine) key() string {
	m.sends++
	return fmt.Sprint("send", m.sends)
}

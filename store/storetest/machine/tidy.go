package machine

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// tidy makes records of the two sides the same if they say the same: nodes by their index, leases
// without the place in the claim record, which is the store's choice. Times and empty slices are
// written in one way, so that most comparisons are quick ones.
func (m *machine) tidy(r store.Record, side func(node) int64) store.Record {
	if r.State != store.Running {
		r.Lease.Job = store.ID{}
	}
	for _, t := range []*time.Time{&r.CreatedAt, &r.RunAt, &r.ClaimedAt, &r.FinishedAt, &r.Options.Deadline} {
		*t = t.UTC()
	}
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	r.Lease.Claim, r.Lease.Slot = 0, 0
	if r.Lease.Node != 0 {
		r.Lease.Node = m.place(r.Lease.Node, side)
	}
	r.Attempts = slices.Clone(r.Attempts)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		a.Node = m.place(a.Node, side)
		if a.StartedAt.IsZero() {
			a.Error, a.Trace = "", "" // no node reported this run: the words are the store's
		}
	}
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].StartedAt.IsZero() {
		r.Error = ""
	}
	r.Error = m.asTold(r.ID, r.Error)
	for i := range r.Attempts {
		r.Attempts[i].Error = m.asTold(r.ID, r.Attempts[i].Error)
	}
	m.tidyDurable(&r)
	return r
}

// tidyDurable makes what two sides say about a job that waits, or was closed, the same if it is the
// same.
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

// tidyJournal leaves out what is not promised: when the entries of a fork were written, and the
// words of a rescue or of the end of a parent.
func (m *machine) tidyJournal(k *known, got, want *store.Journal) {
	for _, journal := range []*store.Journal{got, want} {
		tidyEntries(journal.Entries)
		for i := range journal.Messages {
			message := &journal.Messages[i]
			message.At, message.Error = message.At.UTC(), m.asTold(message.From, message.Error)
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

// tidyEntries leaves out when the entries of a fork were written, and the numbers of requests.
func tidyEntries(entries []store.Entry) {
	for i := range entries {
		entry := &entries[i]
		if entry.Kind == store.EntryUpdated {
			entry.Ref = 0 // each side's own
		}
		if entry.At = entry.At.UTC(); entry.LeaseNumber == 0 {
			entry.At = time.Time{}
		}
	}
}

// sortAnswers puts answers that came at one time into one order: which of the children that one
// transaction finishes answers first is not promised.
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

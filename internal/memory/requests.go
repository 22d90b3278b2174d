package memory

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Requests is what a run knows of the requests to its job. A nil Requests knows nothing.
type Requests struct {
	// Stale: more may have come since they were read.
	Stale bool

	open    []store.Update     // not taken, in the order of arrival
	taken   map[string]*update // by key
	seen    int64              // the number of the last one that was read
	answers []store.UpdateAnswer
	bytes   int // of the answers
}

// update is a request that was taken.
type update struct {
	seq    int64 // of the one that is open; 0: it is not, as far as was read
	done   bool
	answer store.UpdateAnswer // once it is done, of one that is not open: it may be sent again
}

// Seen is the number of the last request that was read.
func (r *Requests) Seen() int64 {
	if r == nil {
		return 0
	}
	return r.seen
}

// Receive takes in open requests that were read after Seen.
func (r *Requests) Receive(open []store.Update) {
	for _, u := range open {
		if u.Seq <= r.seen {
			continue // read twice
		}
		r.seen = u.Seq
		switch taken := r.taken[u.Key]; {
		case taken == nil:
			r.open = append(r.open, u)
		case taken.done:
			taken.answer.Seq = u.Seq
			r.answer(taken.answer)
		default:
			taken.seq = u.Seq
		}
	}
}

// Next takes out the first request whose name may be taken. The caller accepts or refuses it.
func (r *Requests) Next(may func(name string) bool) (u store.Update, found bool) {
	i := slices.IndexFunc(r.open, func(u store.Update) bool { return may(u.Name) })
	if i < 0 {
		return store.Update{}, false
	}
	u = r.open[i]
	r.open = slices.Delete(r.open, i, i+1)
	return u, true
}

// Refuse answers a request that was taken out.
func (r *Requests) Refuse(u store.Update, why string) {
	r.answer(store.UpdateAnswer{Seq: u.Seq, Verdict: store.UpdateRefused, Error: why})
}

func (r *Requests) answer(a store.UpdateAnswer) {
	r.answers = append(r.answers, a)
	r.bytes += len(a.Data) + len(a.Error)
}

// Accept notes that a request that was taken out is accepted.
func (r *Requests) Accept(u store.Update) { r.take(u.Key, u.Seq) }

// Recall notes that the journal has accepted a request.
func (r *Requests) Recall(key string) {
	seq := int64(0)
	if i := slices.IndexFunc(r.open, func(u store.Update) bool { return u.Key == key }); i >= 0 {
		seq = r.open[i].Seq
		r.open = slices.Delete(r.open, i, i+1)
	}
	r.take(key, seq)
}

func (r *Requests) take(key string, seq int64) {
	if r.taken == nil {
		r.taken = map[string]*update{}
	}
	r.taken[key] = &update{seq: seq}
}

// Done answers a request that was accepted: with a result, or with why it failed.
func (r *Requests) Done(key string, result []byte, why string) {
	a := store.UpdateAnswer{Verdict: store.UpdateDone}
	if why != "" {
		a.Verdict, a.Error = store.UpdateFailed, why
	} else {
		a.Data, a.Codec = journal.Pack(result)
	}
	u := r.taken[key]
	u.done = true
	if u.seq == 0 {
		u.answer = a
		return
	}
	a.Seq = u.seq
	r.answer(a)
}

// giveUp answers a request that the journal has accepted under a number, unless it is done: with
// why it failed.
func (r *Requests) giveUp(key string, seq int64, why string) {
	if u := r.taken[key]; u != nil {
		if u.done {
			return
		}
		if u.seq != 0 {
			seq = u.seq
		}
	}
	r.answer(store.UpdateAnswer{Seq: seq, Verdict: store.UpdateFailed, Error: why})
}

// GiveUp answers the requests that the journal has accepted and that are not done, as a new journal
// begins: what was done for them is not known there.
func (m *Memory) GiveUp(why string) {
	if !m.Accepted {
		return
	}
	if m.Requests == nil {
		m.Requests = &Requests{}
	}
	for _, entries := range m.byPath {
		for _, e := range entries {
			var u journal.Update
			if e.Kind == store.EntryUpdated && journal.Decode(e, &u) == nil {
				m.Requests.giveUp(u.Key, e.Ref, why)
			}
		}
	}
}

// HasAnswers reports whether there are answers to be stored.
func (r *Requests) HasAnswers() bool { return r != nil && len(r.answers) > 0 }

// Weight is how many answers are to be stored, and about how many bytes.
func (r *Requests) Weight() (count, bytes int) { return len(r.answers), r.bytes }

// TakeAnswers takes out the answers, to be stored.
func (r *Requests) TakeAnswers() []store.UpdateAnswer {
	if r == nil {
		return nil
	}
	answers := r.answers
	r.answers, r.bytes = nil, 0
	return answers
}

package updates

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

// Book is what a run knows of the requests to its job. A nil Book knows nothing.
type Book struct {
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
func (b *Book) Seen() int64 {
	if b == nil {
		return 0
	}
	return b.seen
}

// Add takes in open requests that were read after Seen, and reports whether there are some among
// them that may be taken.
func (b *Book) Add(open []store.Update) (news bool) {
	for _, u := range open {
		if u.Seq <= b.seen {
			continue // read twice
		}
		b.seen = u.Seq
		switch taken := b.taken[u.Key]; {
		case taken == nil:
			b.open = append(b.open, u)
			news = true
		case taken.done:
			taken.answer.Seq = u.Seq
			b.answer(taken.answer)
		default:
			taken.seq = u.Seq
		}
	}
	return news
}

// Next takes out the first request whose name may be taken. The caller accepts or refuses it.
func (b *Book) Next(may func(name string) bool) (u store.Update, found bool) {
	i := slices.IndexFunc(b.open, func(u store.Update) bool { return may(u.Name) })
	if i < 0 {
		return store.Update{}, false
	}
	u = b.open[i]
	b.open = slices.Delete(b.open, i, i+1)
	return u, true
}

// Refuse answers a request that was taken out.
func (b *Book) Refuse(u store.Update, why string) {
	b.answer(store.UpdateAnswer{Seq: u.Seq, Verdict: store.UpdateRefused, Error: why})
}

func (b *Book) answer(a store.UpdateAnswer) {
	b.answers = append(b.answers, a)
	b.bytes += len(a.Data) + len(a.Error)
}

// Accept notes that a request that was taken out is accepted.
func (b *Book) Accept(u store.Update) { b.take(u.Key, u.Seq) }

// Recall notes that the journal has accepted a request.
func (b *Book) Recall(key string) {
	seq := int64(0)
	if i := slices.IndexFunc(b.open, func(u store.Update) bool { return u.Key == key }); i >= 0 {
		seq = b.open[i].Seq
		b.open = slices.Delete(b.open, i, i+1)
	}
	b.take(key, seq)
}

func (b *Book) take(key string, seq int64) {
	if b.taken == nil {
		b.taken = map[string]*update{}
	}
	b.taken[key] = &update{seq: seq}
}

// Done answers a request that was accepted: with a result, or with why it failed.
func (b *Book) Done(key string, result []byte, why string) {
	a := store.UpdateAnswer{Verdict: store.UpdateDone}
	if why != "" {
		a.Verdict, a.Error = store.UpdateFailed, why
	} else {
		a.Data, a.Codec = journal.Pack(result)
	}
	u := b.taken[key]
	if u.done = true; u.seq == 0 {
		u.answer = a
		return
	}
	a.Seq = u.seq
	b.answer(a)
}

// GiveUp answers a request that a journal has accepted under a number, unless it is done: with why
// it failed.
func (b *Book) GiveUp(key string, seq int64, why string) {
	if u := b.taken[key]; u != nil {
		if u.done {
			return
		}
		if u.seq != 0 {
			seq = u.seq
		}
	}
	b.answer(store.UpdateAnswer{Seq: seq, Verdict: store.UpdateFailed, Error: why})
}

// HasAnswers reports whether there are answers to be stored.
func (b *Book) HasAnswers() bool { return b != nil && len(b.answers) > 0 }

// Weight is how many answers are to be stored, and about how many bytes.
func (b *Book) Weight() (count, bytes int) { return len(b.answers), b.bytes }

// TakeAnswers takes out the answers, to be stored.
func (b *Book) TakeAnswers() []store.UpdateAnswer {
	if b == nil {
		return nil
	}
	answers := b.answers
	b.answers, b.bytes = nil, 0
	return answers
}

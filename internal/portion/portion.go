// Package portion finds out how much to send to the database, or to ask of it, at once. Of ours, it
// imports only store.
package portion

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// Whole is how many bytes are sent or asked for at once where all is well. More in one go
	// makes nothing cheaper, and holds up what comes behind it.
	Whole = 1 << 20
	// lightPortion is so little that what takes long for it does so for another reason than its
	// size.
	lightPortion = 64 << 10
	// leastPortion is the smallest bound in bytes: from there on it is the number that shrinks.
	leastPortion = 16 << 10
	// SlowBatch is how long a batch may travel before the next one is made smaller.
	SlowBatch = store.CallTimeout / 10
	// SlowFailure is after how long a failure may be one of size. It is longer than a store waits
	// for a lock; a database that is away mostly says so sooner.
	SlowFailure = 3 * time.Second
)

// Portion is how much is sent to the database, or asked of it, at once: in number and in bytes.
// What took too long is halved, down to one, because behind a slow line the same again would take
// too long again, for ever. It is doubled as soon as what makes use of it goes well.
type Portion struct {
	most         int // where all is well
	Slow         time.Duration
	Count, Bytes int   // now
	Err          error // of the last try
}

// New returns a portion of at the most so many, all of them at first. What takes longer than slow
// is too much.
func New(most int, slow time.Duration) *Portion {
	return &Portion{most: most, Slow: slow, Count: most, Bytes: Whole}
}

// IsWhole reports whether nothing is held back.
func (p *Portion) IsWhole() bool { return p.Count == p.most && p.Bytes == Whole }

// Failed learns from what did not get through. It may have been too much, if it took long.
func (p *Portion) Failed(count, bytes int, took time.Duration) {
	if took >= SlowFailure {
		p.Halve(count, bytes)
	}
}

// Went learns from what got through.
func (p *Portion) Went(count, bytes int, took time.Duration) {
	switch {
	case took > p.Slow && bytes > lightPortion:
		p.Halve(count, bytes)
	case 2*count >= p.Count || 2*bytes >= p.Bytes:
		p.Count, p.Bytes = min(2*p.Count, p.most), min(2*p.Bytes, Whole)
	}
}

// Halve makes the portion half of what was tried.
func (p *Portion) Halve(count, bytes int) {
	p.Count = max(min(p.Count, count)/2, 1)
	p.Bytes = max(min(p.Bytes, bytes)/2, leastPortion)
}

// RowWeight is about what an operation weighs besides what a user gave it.
const RowWeight = 200

// WeightOf is about how many bytes of enqueues travel to the database.
func WeightOf(enqueues []*store.Enqueue) (n int) {
	for _, q := range enqueues {
		n += WeightOfJob(&q.Job)
		if q.Send != nil {
			n += WeightOfSend(q.Send)
		}
	}
	return n
}

// WeightOfSend is about how many bytes of a message travel to the database.
func WeightOfSend(q *store.Send) int {
	return RowWeight + len(q.Message.Name) + len(q.Message.Data) + len(q.Message.Error)
}

// WeightOfJob is about how many bytes of a job travel to or from it.
func WeightOfJob(j *store.Job) int {
	n := RowWeight + len(j.Args) + len(j.Metadata) + len(j.UniqueKey) + len(j.OrderingKey) + len(j.Options.Key)
	for _, t := range j.Tags {
		n += len(t)
	}
	return n
}

package engine

import "time"

const (
	// wholePortion is how many bytes are sent or asked for at once where all is well. More in one go
	// makes nothing cheaper, and holds up what comes behind it.
	wholePortion = 1 << 20
	// lightPortion is so little that what takes long for it does so for another reason than its size.
	lightPortion = 64 << 10
	// leastPortion is the smallest bound in bytes: from there on it is the number that shrinks.
	leastPortion = 16 << 10
	// slowBatch is how long a batch may travel before the next one is made smaller.
	slowBatch = storeTimeout / 10
	// slowFailure is after how long a failure may be one of size. It is longer than a store waits for
	// a lock; a database that is away mostly says so sooner.
	slowFailure = 3 * time.Second
)

// portion is how much is sent to the database, or asked of it, at once: in number and in bytes. What
// took too long is halved, down to one, because behind a slow line the same again would take too long
// again, for ever. It is doubled as soon as what makes use of it goes well.
type portion struct {
	most         int // where all is well
	slow         time.Duration
	count, bytes int   // now
	err          error // of the last try
}

func newPortion(most int, slow time.Duration) *portion {
	return &portion{most: most, slow: slow, count: most, bytes: wholePortion}
}

// isWhole reports whether nothing is held back.
func (p *portion) isWhole() bool { return p.count == p.most && p.bytes == wholePortion }

// fit is how many of the ops, from the first one on, make a portion: at least one, if there is one.
func (p *portion) fit(ops []*op) (n int) {
	count, bytes := 0, 0
	for _, o := range ops {
		count += o.size()
		bytes += o.weight()
		if n > 0 && (count > p.count || bytes > p.bytes) {
			break
		}
		n++
	}
	return n
}

// tried learns from a batch of ops.
func (p *portion) tried(ops []*op, took time.Duration, err error) {
	p.err = err
	if err == nil && took <= p.slow && p.isWhole() {
		return // as nearly always
	}
	count, bytes := measure(ops)
	if err != nil {
		p.failed(count, bytes, took)
	} else {
		p.went(count, bytes, took)
	}
}

// failed learns from what did not get through. It may have been too much, if it took long.
func (p *portion) failed(count, bytes int, took time.Duration) {
	if took >= slowFailure {
		p.halve(count, bytes)
	}
}

// went learns from what got through.
func (p *portion) went(count, bytes int, took time.Duration) {
	switch {
	case took > p.slow && bytes > lightPortion:
		p.halve(count, bytes)
	case 2*count >= p.count || 2*bytes >= p.bytes:
		p.count, p.bytes = min(2*p.count, p.most), min(2*p.bytes, wholePortion)
	}
}

func (p *portion) halve(count, bytes int) {
	p.count = max(min(p.count, count)/2, 1)
	p.bytes = max(min(p.bytes, bytes)/2, leastPortion)
}

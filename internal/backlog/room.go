package backlog

import "time"

// room is what is known of a place. It is read and written under the mutex of its Bounds.
type room struct {
	counted int       // at the last count
	since   int       // let through since that began, or not ended when it began
	next    int       // the same of a count that is under way
	open    int       // let through, and not ended
	fresh   time.Time // until then it is not counted again
	used    time.Time // when it was asked for last
	busy    bool      // a count is under way
}

// room returns that of a place. The mutex is held.
func (b *Bounds) room(at place) *room {
	r := b.rooms[at]
	if r == nil {
		r = &room{used: time.Now()}
		b.rooms[at] = r
		b.sweepLater()
	}
	return r
}

// sweepLater drops rooms that are of no use, after a while, as long as there are any. The mutex is
// held.
func (b *Bounds) sweepLater() {
	if b.sweeps || len(b.rooms) == 0 {
		return
	}
	b.sweeps = true
	time.AfterFunc(b.idle, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.sweeps = false
		b.sweep(time.Now())
		b.sweepLater()
	})
}

// sweep drops those rooms. A map never shrinks, so those that stay get a new one. The mutex is
// held.
func (b *Bounds) sweep(now time.Time) {
	stay := map[place]*room{}
	for at, r := range b.rooms {
		if r.open > 0 || r.busy || now.Before(r.fresh.Add(b.idle)) || now.Before(r.used.Add(b.idle)) {
			stay[at] = r
		}
	}
	b.rooms = stay
}

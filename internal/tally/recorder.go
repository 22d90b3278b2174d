package tally

import (
	"slices"
	"sync"
	"time"
)

// maxParts bounds what waits to be written while the database is away: about a day of minutes. Then
// the oldest are merged, so that nothing is lost but in which minute it was.
const maxParts = 1440

// Part is what a node counted in a minute, of the jobs of a namespace. Its key does not change, so
// that it can be written again and again.
type Part struct {
	Namespace string
	Minute    time.Time // when it begins
	Node      int64     // the membership in which the part began
	Number    int64     // of the parts of a recorder, from 1: a clock that is set back begins another one
	Set       *Set      // a copy
	Version   int64     // grows when the part has changed
	Gauges    []byte    // what was measured last in the minute, as Take was told

	part *part
}

// part is a Part that may still grow.
type part struct {
	key     Part
	set     Set
	changes uint64 // how often it has changed
	written uint64 // what of that was written
	tried   bool   // it was, or may have been, or is about to be written
	open    bool   // it is that of the current minute
}

// Recorder counts for a node. Its methods may be called by many goroutines. The hot path is one
// lock, two look-ups if the queue or kind is another one than before, and a few additions, and no
// memory once a queue and kind were seen in a minute.
type Recorder struct {
	mu     sync.Mutex
	node   int64
	number int64
	minute int64            // the current one, since 1970
	spaces map[string]*part // those of the current minute
	parts  []*part          // those and what is left of earlier ones, the oldest first
	last   recent           // often the next one is of the same queue and kind
}

// recent is where something counted in the current minute, or nowhere.
type recent struct {
	namespace string
	name      Name
	part      *part
	entry     *Entry
}

// Joined says as which node what comes from now on is counted, and what came before it was one.
func (r *Recorder) Joined(node int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.node = node
	for _, p := range r.parts {
		if p.key.Node == 0 && !p.tried {
			p.key.Node = node
		}
	}
}

// Start counts a run that starts at a time, after its job has waited.
func (r *Recorder) Start(at time.Time, namespace, queue, kind string, waited time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Unix()/60 != r.minute {
		r.turn(at)
	}
	e := r.entry(at, namespace, Name{queue, kind})
	e.Counts[Started]++
	e.Wait.Add(waited)
}

// End counts a run that ended with a thing, after it took so long; negative: it had not begun. It
// counts in the current minute if the time is an earlier one.
func (r *Recorder) End(at time.Time, namespace, queue, kind string, thing int, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Unix()/60 > r.minute {
		r.turn(at)
	}
	e := r.entry(at, namespace, Name{queue, kind})
	e.Counts[thing]++
	if took >= 0 {
		e.Run.Add(took)
	}
}

// entry is where what happens to a job counts in the current minute, which is that of a time if
// there is none yet. The lock is held.
func (r *Recorder) entry(at time.Time, namespace string, name Name) *Entry {
	if l := &r.last; l.part != nil && l.namespace == namespace && l.name == name {
		l.part.changes++
		return l.entry
	}
	if r.spaces == nil {
		r.turn(at)
	}
	p := r.space(namespace)
	r.last = recent{namespace: namespace, name: name, part: p, entry: p.set.Of(name)}
	return r.last.entry
}

// turn begins the minute of a time. The lock is held.
func (r *Recorder) turn(at time.Time) {
	for _, p := range r.parts {
		p.open = false
	}
	r.minute, r.spaces, r.last = at.Unix()/60, map[string]*part{}, recent{}
}

// space is the part of a namespace in the current minute, which changes. The lock is held.
func (r *Recorder) space(namespace string) *part {
	p := r.spaces[namespace]
	if p == nil {
		r.number++
		p = &part{open: true, key: Part{
			Namespace: namespace, Minute: time.Unix(r.minute*60, 0).UTC(), Node: r.node, Number: r.number,
		}}
		r.spaces[namespace] = p
		r.parts = append(r.parts, p)
		r.bound()
	}
	p.changes++
	return p
}

// bound merges the two oldest parts of a namespace if there are too many. Those that may have been
// written stay as they are: they are at most as many as are taken at once. The lock is held.
func (r *Recorder) bound() {
	if len(r.parts) <= maxParts {
		return
	}
	for i, p := range r.parts {
		if p.open || p.tried {
			continue
		}
		for _, q := range r.parts[i+1:] {
			if q.key.Namespace == p.key.Namespace && !q.open { // what is younger was not tried either
				q.set.Merge(&p.set)
				q.changes += p.changes
				r.parts = slices.Delete(r.parts, i, i+1)
				return
			}
		}
	}
}

// Take returns up to limit parts that have changed since they were written, the oldest first. At a
// time after their minute they are complete. That of a namespace takes what was measured just now,
// and is among them when the minute is new, though nothing has happened.
func (r *Recorder) Take(at time.Time, namespace string, gauges []byte, limit int) []Part {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at.Unix()/60 != r.minute || r.spaces == nil {
		r.turn(at)
	}
	own := r.spaces[namespace]
	if own == nil {
		own = r.space(namespace)
	}
	own.key.Gauges = gauges
	var changed []Part
	for _, p := range r.parts {
		if p.changes == p.written || len(changed) == limit {
			continue
		}
		out := p.key
		p.tried = true
		out.part, out.Version, out.Set = p, int64(p.changes), &Set{}
		out.Set.Merge(&p.set)
		changed = append(changed, out)
	}
	return changed
}

// Written says that parts were written as they were taken. What has not changed since, and is over,
// is forgotten.
func (r *Recorder) Written(parts []Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range parts {
		p := parts[i].part
		p.written = max(p.written, uint64(parts[i].Version))
	}
	r.parts = slices.DeleteFunc(r.parts, func(p *part) bool { return !p.open && p.changes == p.written })
}

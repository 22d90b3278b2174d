package facts

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/gauges"
	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/store"
)

// portion is how many facts are written at once.
const portion = 60

// Store is what a keeper uses of a store.
type Store interface {
	store.Facts
	Now() time.Time
}

// Parts are the dependencies of a keeper.
type Parts struct {
	Store     Store
	Namespace string
	Name      string // of the node
	// Measure adds what the node knows of itself.
	Measure func(values map[string]float64)
}

// Keeper counts and measures for a node. A nil one does nothing. Its methods may be called by many
// goroutines.
type Keeper struct {
	Parts

	recorder tally.Recorder
	process  gauges.Process

	node     atomic.Int64
	writing  sync.Mutex
	measured time.Time // the last minute in which the database was measured; guarded by writing
}

// New makes a keeper.
func New(p Parts) *Keeper { return &Keeper{Parts: p} }

// Joined says as which node what comes from now on is counted.
func (k *Keeper) Joined(node int64) {
	if k == nil {
		return
	}
	k.recorder.Joined(node)
	k.node.Store(node)
}

// Started counts a run that starts.
func (k *Keeper) Started(job *store.Job, at time.Time, waited time.Duration) {
	if k == nil {
		return
	}
	k.recorder.Start(at, job.Namespace, job.Queue, job.Kind, waited)
}

// Ended counts a run whose outcome was stored at a time.
func (k *Keeper) Ended(at time.Time, o *store.Outcome, kind string, took time.Duration) {
	if k == nil {
		return
	}
	began := !o.StartedAt.IsZero()
	thing := thingOf(o)
	switch {
	case began:
	case thing == tally.Released || thing == tally.Parked:
		return // it was claimed, and given back
	default:
		took = -1
	}
	k.recorder.End(at, o.Namespace, o.Queue, kind, thing, took)
}

// thingOf is what an outcome came to. What a failed attempt, or a run that was put aside, has
// become because people asked for something else meanwhile, is what it was, unless its job has
// ended.
func thingOf(o *store.Outcome) int {
	switch o.Final {
	case store.Completed:
		return tally.Completed
	case store.Failed:
		return tally.Failed
	case store.Cancelled:
		return tally.Cancelled
	default:
	}
	switch o.State {
	case store.Completed: // and the answer of the store was lost
		return tally.Completed
	case store.Failed:
		return tally.Failed
	case store.Cancelled:
		return tally.Cancelled
	case store.Retryable:
		return tally.Retried
	case store.Available:
		if o.Continue == nil {
			return tally.Released
		}
		return tally.Parked
	default:
		return tally.Parked
	}
}

// Lost counts runs that were taken at a time, from nodes that are dead or had lost track of them. A
// job that ends because of it counts as that, too.
func (k *Keeper) Lost(at time.Time, jobs []store.RescuedJob) {
	if k == nil {
		return
	}
	for i := range jobs {
		r := &jobs[i]
		k.recorder.End(at, r.Namespace, r.Queue, r.Kind, tally.Lost, -1)
		switch r.State {
		case store.Failed:
			k.recorder.End(at, r.Namespace, r.Queue, r.Kind, tally.Failed, -1)
		case store.Cancelled:
			k.recorder.End(at, r.Namespace, r.Queue, r.Kind, tally.Cancelled, -1)
		default:
		}
	}
}

// Write writes what has changed since it was written. lead: the node is the leader, and measures
// the database once a minute. What an error leaves is written by the next call.
func (k *Keeper) Write(ctx context.Context, lead bool) error {
	if k == nil {
		return nil
	}
	k.writing.Lock()
	defer k.writing.Unlock()
	for {
		now := k.Store.Now()
		parts := k.recorder.Take(now, k.Namespace, k.measure(), portion)
		list := make([]store.Fact, 0, len(parts)+1)
		for i := range parts {
			list = append(list, factOf(&parts[i]))
		}
		minute := now.UTC().Truncate(time.Minute)
		var unmeasured error // which is no reason not to write what was counted
		if lead && !minute.Equal(k.measured) {
			var m store.Measured
			if m, unmeasured = k.Store.Measure(ctx); unmeasured == nil {
				list = append(list, k.ofDatabase(&m, minute))
			}
		}
		if len(list) == 0 {
			return unmeasured
		}
		if err := k.Store.KeepFacts(ctx, list); err != nil {
			return errors.Join(err, unmeasured)
		}
		if lead && unmeasured == nil {
			k.measured = minute
		}
		k.recorder.Written(parts)
		if len(parts) < portion {
			return unmeasured
		}
	}
}

// ofDatabase is the fact of what was measured of the database in a minute.
func (k *Keeper) ofDatabase(m *store.Measured, minute time.Time) store.Fact {
	s := gauges.Database(m)
	return store.Fact{
		FactKey: store.FactKey{At: minute, Node: k.node.Load(), Span: store.FactMinute}, Gauges: s.Encode(),
	}
}

// measure measures the process and the node.
func (k *Keeper) measure() []byte {
	s := gauges.Sample{Name: k.Name, Values: k.process.Measure()}
	if k.Measure != nil {
		k.Measure(s.Values)
	}
	return s.Encode()
}

func factOf(p *tally.Part) store.Fact {
	f := store.Fact{
		FactKey: store.FactKey{At: p.Minute, Namespace: p.Namespace, Node: p.Node, Number: p.Number, Span: store.FactMinute},
		Version: p.Version, Gauges: p.Gauges,
	}
	if p.Set.Len() > 0 {
		f.Jobs = p.Set.Encode()
	}
	return f
}

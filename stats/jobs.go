package stats

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/store"
)

// By says what is told apart.
type By uint8

// What is told apart.
const (
	All     By = 0               // all runs together
	ByQueue By = 1 << (iota - 1) // by the queue of their jobs
	ByKind                       // by their kind
	ByBoth  = ByQueue | ByKind
)

// Query says of which runs is told. The zero value: of all runs of the last hour together.
type Query struct {
	From, To time.Time     // as in Window
	Step     time.Duration // as in Window

	By    By
	Queue string // only of jobs of this queue; "": of all
	Kind  string // only of jobs of this kind; "": of all
}

// Point is what happened to runs in a step of time. Where nothing happened there is none.
//
// Each run that has started is counted once more when it ends: as Completed, Failed, Retried,
// Cancelled, Parked or Released; or as Lost, by the node that rescues its job. Only of a run whose
// job was terminated is told no more than that it started. A job that is cancelled, or past its
// deadline, when a node has taken it counts under its end, without a start.
type Point struct {
	At     time.Time     // when it begins
	Length time.Duration // how long it is, up to now
	Queue  string        // with ByQueue, or of Query.Queue
	Kind   string        // with ByKind, or of Query.Kind
	// Other: these are the runs of all queues and kinds that were too many to be told apart.
	Other bool

	Started   int64 // runs whose handler was called
	Completed int64 // jobs that completed
	Failed    int64 // jobs that failed for good; those that were lost too often among them
	Retried   int64 // attempts that failed, and are followed by another one
	Cancelled int64 // jobs that were cancelled, as far as they ran or were about to
	Parked    int64 // runs that were put aside: durable functions that wait, and jobs that snooze or rest
	Released  int64 // runs that were given back: their node stopped, or their job was paused
	Lost      int64 // runs that were taken from nodes that had died, or that had lost track of them

	// PerSecond is how many runs have ended per second of Length, Lost left out.
	PerSecond float64
	// Wait is how long jobs had been due when they started, of runs that started in this time. Run
	// is how long runs took, of those that ended in it.
	Wait, Run Latency
}

// Latency is how long something took.
type Latency struct {
	Count                    int64 // of how many runs that is known
	Mean, P50, P90, P99, Max time.Duration
}

// Jobs returns what happened to the runs of the client's namespace, by time, and then by queue and
// kind.
func Jobs(ctx context.Context, client *holdfast.Client, q Query) ([]Point, error) {
	e, _ := access.Engine(client)
	now := e.Store.Now()
	w := Window{From: q.From, To: q.To, Step: q.Step}
	if err := w.fill(now); err != nil {
		return nil, err
	}
	if q.By > ByBoth {
		return nil, fmt.Errorf("%w: By is %d", holdfast.ErrInvalid, q.By)
	}
	cells := map[cell]*tally.Entry{}
	err := w.read(ctx, e.Store, client.Namespace(), now, func(f *store.Fact) error { return q.add(cells, w.at(f.At), f) })
	if err != nil {
		return nil, err
	}
	points := make([]Point, 0, len(cells))
	for _, c := range slices.SortedFunc(maps.Keys(cells), cell.compare) {
		points = append(points, pointOf(c, cells[c], &w, now))
	}
	return points, nil
}

// cell is where the counts of a point are added up.
type cell struct {
	at    int64 // since 1970, in seconds
	name  tally.Name
	other bool
}

func (c cell) compare(d cell) int {
	other := 0
	if c.other != d.other {
		if other = 1; d.other {
			other = -1
		}
	}
	return cmp.Or(cmp.Compare(c.at, d.at), other, c.name.Compare(d.name))
}

// add adds what a fact has to the cells of the point at a time.
func (q *Query) add(cells map[cell]*tally.Entry, at time.Time, f *store.Fact) error {
	if f.Jobs == nil {
		return nil
	}
	set, err := tally.Decode(f.Jobs)
	if err != nil {
		return fmt.Errorf("%w: what was counted at %s: %w; use a newer program", holdfast.ErrSchema, f.At.Format(time.RFC3339), err)
	}
	for _, name := range set.Names() {
		if q.Queue != "" && q.Queue != name.Queue || q.Kind != "" && q.Kind != name.Kind {
			continue
		}
		c := cell{at: at.Unix(), other: name == (tally.Name{}) && q.By != All}
		if q.By&ByQueue != 0 || q.Queue != "" {
			c.name.Queue = name.Queue
		}
		if q.By&ByKind != 0 || q.Kind != "" {
			c.name.Kind = name.Kind
		}
		e := cells[c]
		if e == nil {
			if len(cells) == MaxPoints {
				return fmt.Errorf("%w: there are more than %d points; use a longer step, a shorter window, or one queue or kind",
					holdfast.ErrInvalid, MaxPoints)
			}
			e = &tally.Entry{}
			cells[c] = e
		}
		e.Merge(set.Of(name))
	}
	return nil
}

func pointOf(c cell, e *tally.Entry, w *Window, now time.Time) Point {
	at := time.Unix(c.at, 0).UTC()
	length := w.length(at, now)
	n := func(thing int) int64 { return int64(min(e.Counts[thing], 1<<63-1)) }
	return Point{
		At: at, Length: length, Queue: c.name.Queue, Kind: c.name.Kind, Other: c.other,
		Started: n(tally.Started), Completed: n(tally.Completed), Failed: n(tally.Failed), Retried: n(tally.Retried),
		Cancelled: n(tally.Cancelled), Parked: n(tally.Parked), Released: n(tally.Released), Lost: n(tally.Lost),
		PerSecond: float64(e.Ended()) / length.Seconds(),
		Wait:      latencyOf(&e.Wait), Run: latencyOf(&e.Run),
	}
}

func latencyOf(h *tally.Hist) Latency {
	return Latency{
		Count: int64(min(h.N, 1<<63-1)), Mean: h.Mean(), Max: h.Longest(),
		P50: h.Quantile(0.5), P90: h.Quantile(0.9), P99: h.Quantile(0.99),
	}
}

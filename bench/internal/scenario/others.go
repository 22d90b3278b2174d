package scenario

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// othersPerSecond is how often they insert a job.
const othersPerSecond = 1000

// others are those to whom it should make no difference what one caller does. They insert jobs one
// by one at an even rate, whatever becomes of them, and the worker of the same process runs them.
// How long an insert takes, and how long it takes from its beginning to the first line of the
// handler, is told by phase.
type others struct {
	trial *trial
	// ways are how they insert, by turns.
	ways   []way
	watch  *stopwatch
	gaveUp atomic.Int64 // inserts that were given up
	put    atomic.Int64 // all the others

	mu     sync.Mutex
	phases []phase
	failed error
}

// way is a way to insert a job.
type way struct {
	name   string
	insert func(ctx context.Context, args system.Args) error
}

// phase is a part of the time.
type phase struct {
	name string
	from int64 // nanoseconds
}

// plainly is the way of those who want nothing in particular.
func (t *trial) plainly() way { return way{"insert", t.client.Insert} }

func (t *trial) others(ways ...way) *others {
	return &others{trial: t, ways: ways, watch: newStopwatch()}
}

// handle is the handler of their jobs. Jobs that tell no time are somebody else's.
func (o *others) handle(args system.Args) {
	if args.At != 0 {
		o.watch.note("pickup_"+o.phaseOf(args.At), time.Duration(time.Now().UnixNano()-args.At))
	}
}

// phaseOf is the phase of a time.
func (o *others) phaseOf(at int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range slices.Backward(o.phases) {
		if p.from <= at {
			return p.name
		}
	}
	return "early"
}

// begin begins a phase. Its end waits for the inserts that began in it.
func (o *others) begin(ctx context.Context, name string) (end func() error) {
	o.mu.Lock()
	o.phases = append(o.phases, phase{name, time.Now().UnixNano()})
	o.mu.Unlock()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		var open sync.WaitGroup
		defer open.Wait()
		began := time.Now()
		for i := 0; ; i++ {
			due := began.Add(time.Duration(i) * time.Second / othersPerSecond)
			select {
			case <-stop:
				return
			case <-ctx.Done():
				return
			case <-time.After(time.Until(due)):
			}
			open.Go(func() { o.insert(ctx, o.ways[i%len(o.ways)], name) })
		}
	}()
	return func() error {
		close(stop)
		<-stopped
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.failed
	}
}

// during lets a phase last so long.
func (o *others) during(ctx context.Context, name string, lasts float64) error {
	end := o.begin(ctx, name)
	return errors.Join(system.Pause(ctx, seconds(lasts)), end())
}

func (o *others) insert(ctx context.Context, w way, phase string) {
	began := time.Now()
	err := w.insert(ctx, system.Args{At: began.UnixNano()})
	o.watch.note(w.name+"_"+phase, time.Since(began))
	switch {
	case err == nil:
		o.put.Add(1)
	case errors.Is(err, system.ErrUnavailable):
		o.gaveUp.Add(1)
	default:
		o.mu.Lock()
		o.failed = errors.Join(o.failed, err)
		o.mu.Unlock()
	}
}

// compare tells by how much the worst of what they see is worse in a phase than in another: the
// highest of the ratios of the 99th percentiles of its parts.
func (o *others) compare(phase, before string) float64 {
	worst := 0.0
	for _, part := range append([]way{{name: "pickup"}}, o.ways...) {
		was := figures.Percentile(o.watch.all(part.name+"_"+before), 0.99)
		is := figures.Percentile(o.watch.all(part.name+"_"+phase), 0.99)
		if was > 0 {
			worst = max(worst, float64(is)/float64(was))
		}
	}
	return worst
}

// patience is how long what was stored may take to be finished, once nothing is in its way.
const patience = time.Minute

// finished waits until no job is left.
func (t *trial) finished(ctx context.Context) error {
	late, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		left, err := t.client.Left(late)
		if err != nil || left == 0 {
			return err
		}
		if err := system.Pause(late, 10*time.Millisecond); err != nil {
			return errors.Join(err, t.empty(ctx))
		}
	}
}

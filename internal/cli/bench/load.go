package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast"
)

const (
	benchBatch = 1000
	// benchAhead bounds the queued jobs while jobs are enqueued and run at once.
	benchAhead = 10 * benchBatch
)

// benchArgs are the args of a no-op job.
type benchArgs struct {
	Num int   `json:"num"`
	At  int64 `json:"at,omitempty"` // in nanoseconds: when its enqueue began
}

var benchKind = holdfast.NewKind[benchArgs, struct{}]("bench.noop")

// benchResult is the result of one scenario.
type benchResult struct {
	jobs int
	took time.Duration
	each []time.Duration // latencies
}

// benchLoad enqueues and runs no-op jobs.
//
// A handler knows when it returns, not when its outcome is committed. So the measured time includes
// stopping the node, which commits all outcomes.
type benchLoad struct {
	client *holdfast.Client
	begun  func(benchArgs) // called by handlers

	waiting int // enqueued and not yet run

	done    atomic.Int64
	want    atomic.Int64
	mu      sync.Mutex
	reached chan struct{} // closed when done is want; nil: no waiter
}

func newBenchLoad(client *holdfast.Client) (*benchLoad, error) {
	l := &benchLoad{client: client, begun: func(benchArgs) {}}
	return l, benchKind.Handle(client, func(_ *holdfast.Run, args benchArgs) (struct{}, error) {
		l.begun(args)
		if n := l.done.Add(1); n >= l.want.Load() {
			l.tell(n)
		}
		return struct{}{}, nil
	})
}

// tell wakes the waiter once enough jobs have run.
func (l *benchLoad) tell(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reached != nil && n >= l.want.Load() {
		close(l.reached)
		l.reached = nil
	}
}

// until returns a channel that is closed when that many jobs have run.
func (l *benchLoad) until(jobs int64) <-chan struct{} {
	reached := make(chan struct{})
	l.mu.Lock()
	l.reached = reached
	l.want.Store(jobs)
	l.mu.Unlock()
	l.tell(l.done.Load())
	return reached
}

// enqueue runs producers that enqueue one job at a time, and at least one each: a machine so slow
// that the time is over before they begin still has something to show.
func (l *benchLoad) enqueue(ctx context.Context, producers int, span time.Duration) (benchResult, error) {
	began := time.Now()
	each := make([][]time.Duration, producers)
	errs := make(chan error, producers)
	for i := range producers {
		go func() {
			for at := time.Now(); len(each[i]) == 0 || at.Sub(began) < span; {
				if _, err := benchKind.Enqueue(ctx, l.client, benchArgs{Num: len(each[i])}); err != nil {
					errs <- err
					return
				}
				now := time.Now()
				each[i], at = append(each[i], now.Sub(at)), now
			}
			errs <- nil
		}()
	}
	var failed error
	for range producers {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	r := benchResult{took: time.Since(began), each: slices.Concat(each...)}
	r.jobs = len(r.each)
	l.waiting += r.jobs
	return r, failed
}

// enqueueMany enqueues in batches.
func (l *benchLoad) enqueueMany(ctx context.Context, jobs int) (benchResult, error) {
	r := benchResult{jobs: jobs}
	began := time.Now()
	for sent := 0; sent < jobs; sent += benchBatch {
		at := time.Now()
		if _, err := benchKind.EnqueueMany(ctx, l.client, make([]benchArgs, min(benchBatch, jobs-sent))); err != nil {
			return r, err
		}
		r.each = append(r.each, time.Since(at))
	}
	r.took = time.Since(began)
	l.waiting += jobs
	return r, nil
}

// node runs a node while work lasts, and returns the time of both.
func (l *benchLoad) node(ctx context.Context, work func(ctx context.Context) error) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.done.Store(0)
	// Not Stop, which is final: several nodes run, one after the other.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	began := time.Now()
	go func() {
		err := l.client.Run(running)
		if err != nil {
			cancel(fmt.Errorf("the node ended: %w", err)) // the work will not be done
		}
		ended <- err
	}()
	err := work(ctx)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	stop()
	if e := <-ended; err == nil {
		err = e
	}
	return time.Since(began), err
}

// await waits until that many jobs have run.
func (l *benchLoad) await(ctx context.Context, jobs int) error {
	if jobs == 0 {
		return nil
	}
	select {
	case <-l.until(int64(jobs)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drain runs all queued jobs.
func (l *benchLoad) drain(ctx context.Context) (benchResult, error) {
	jobs := l.waiting
	l.waiting = 0
	took, err := l.node(ctx, func(ctx context.Context) error { return l.await(ctx, jobs) })
	return benchResult{jobs: jobs, took: took}, err
}

// steady enqueues in batches while a node runs, at least one and at most benchAhead ahead of it.
func (l *benchLoad) steady(ctx context.Context, span time.Duration) (benchResult, error) {
	sent := 0
	began := time.Now()
	took, err := l.node(ctx, func(ctx context.Context) error {
		for sent == 0 || time.Since(began) < span {
			if err := l.await(ctx, max(sent+benchBatch-benchAhead, 0)); err != nil {
				return err
			}
			if _, err := benchKind.EnqueueMany(ctx, l.client, make([]benchArgs, benchBatch)); err != nil {
				return err
			}
			sent += benchBatch
		}
		return l.await(ctx, sent)
	})
	return benchResult{jobs: sent, took: took}, err
}

// pickup enqueues one job at a time at an even rate, and measures from the start of each enqueue to
// the first line of its handler.
func (l *benchLoad) pickup(ctx context.Context, rate int, span time.Duration) (benchResult, error) {
	var mu sync.Mutex
	r := benchResult{jobs: max(int(float64(rate)*span.Seconds()), 1)}
	l.begun = func(args benchArgs) {
		d := time.Duration(time.Now().UnixNano() - args.At)
		mu.Lock()
		r.each = append(r.each, d)
		mu.Unlock()
	}
	interval := time.Second / time.Duration(rate)
	var err error
	r.took, err = l.node(ctx, func(ctx context.Context) error {
		errs := make(chan error, r.jobs)
		ticker := time.NewTicker(max(interval, time.Microsecond))
		defer ticker.Stop()
		began := time.Now()
		for sent := range r.jobs {
			for time.Since(began) < time.Duration(sent)*interval {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			go func() {
				_, err := benchKind.Enqueue(ctx, l.client, benchArgs{At: time.Now().UnixNano()})
				errs <- err
			}()
		}
		for range r.jobs {
			if err := <-errs; err != nil {
				return err
			}
		}
		return l.await(ctx, r.jobs)
	})
	return r, err
}

// percentile returns the smallest duration that is not exceeded by that percentage of all.
func percentile(durations []time.Duration, percent float64) time.Duration {
	sorted := slices.Sorted(slices.Values(durations))
	place := int(math.Ceil(percent/100*float64(len(sorted)))) - 1
	return sorted[min(max(place, 0), len(sorted)-1)]
}

func milliseconds(d time.Duration) float64 { return round(float64(d) / float64(time.Millisecond)) }

// round rounds to three decimals.
func round(x float64) float64 { return math.Round(x*1000) / 1000 }

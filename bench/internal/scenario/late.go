package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// The load beside which jobs come late: the worker always has some jobs waiting, and its hundred
// slots allow five thousand a second.
const (
	lateWork    = 20 * time.Millisecond
	lateWaiting = 2 * batchSize
)

// shortShare is how much of the time of the long transactions the short ones stay open.
const shortShare = 0.3

// late stores jobs in transactions that stay open for a while, during which the worker goes on
// with those that were stored after them. Lateness is from the beginning of the commit to the first
// line of the handler. In the second phase somebody else's snapshot keeps PostgreSQL from clearing
// away what was taken.
func late(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		client, ok := t.client.(system.Transacting)
		if !ok {
			return 0, fmt.Errorf("transactions of callers: %w", system.ErrUnsupported)
		}
		l := &latecomers{client: client, watch: newStopwatch(), committed: map[int]arrival{}}
		worker, err := t.work(ctx, func(args system.Args) { l.handle(ctx, args) })
		if err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		running, stop := context.WithCancel(ctx)
		type produced struct {
			stored int64
			err    error
		}
		done := make(chan produced, 1)
		go func() {
			n, err := t.produce(running, worker, lateWaiting, time.Now().Add(time.Hour))
			if running.Err() != nil {
				err = nil
			}
			done <- produced{n, err}
		}()
		err = atLeast(ctx, worker, batchSize)
		before, began := worker.Done(), time.Now()
		if err == nil {
			err = l.during(ctx, "before", e.Sizes.Phase, e.Sizes.Open)
		}
		if err == nil {
			err = t.whilePinned(ctx, func() error {
				return l.during(ctx, "pinned", cmp.Or(e.Sizes.Pin, e.Sizes.Phase), e.Sizes.Open)
			})
		}
		t.figures["jobs_per_s_meanwhile"] = float64(worker.Done()-before) / time.Since(began).Seconds()
		stop()
		p := <-done
		t.span.Mark()
		if err := errors.Join(err, p.err); err != nil {
			return 0, err
		}
		if err := t.finished(ctx); err != nil {
			return 0, err
		}
		l.watch.tell(t.figures)
		figures.Latencies(t.figures, l.watch.all("short_before", "long_before", "short_pinned", "long_pinned"))
		t.figures["latecomers"] = float64(l.last)
		return p.stored + int64(l.last), nil
	})
}

// whilePinned does something while another transaction pins the vacuum horizon.
func (t *trial) whilePinned(ctx context.Context, do func() error) error {
	release, err := t.meter.Pin(ctx)
	if err != nil {
		return fmt.Errorf("pinning: %w", err)
	}
	return errors.Join(do(), release())
}

// latecomers are jobs of long transactions.
type latecomers struct {
	client system.Transacting
	watch  *stopwatch

	mu        sync.Mutex
	last      int             // the number of the last one
	committed map[int]arrival // those that have not run, by number
}

// arrival is when a commit has begun, and under which name to note how late its job is.
type arrival struct {
	at   time.Time
	name string
}

// handle is the handler of all jobs. Those of nobody in particular take a while.
func (l *latecomers) handle(ctx context.Context, args system.Args) {
	if args.Num > 0 {
		now := time.Now()
		l.mu.Lock()
		a := l.committed[args.Num]
		delete(l.committed, args.Num)
		l.mu.Unlock()
		l.watch.note(a.name, now.Sub(a.at))
		return
	}
	_ = system.Pause(ctx, lateWork) // one that is cut short does no harm
}

// during lets a short and a long transaction begin every so often, for so many seconds, and waits
// until all have committed.
func (l *latecomers) during(ctx context.Context, phase string, lasts, open float64) error {
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	begin := func(name string, open float64) {
		all.Go(func() {
			err := l.one(ctx, name+"_"+phase, seconds(open))
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	// So that about fifty are open at a time.
	every := seconds(open / latePairs)
	for until := time.Now().Add(seconds(lasts)); time.Now().Before(until); {
		begin("short", open*shortShare)
		begin("long", open)
		if err := system.Pause(ctx, every); err != nil {
			failed = errors.Join(failed, err)
			break
		}
	}
	all.Wait()
	return failed
}

// latePairs is how many long transactions are open at a time.
const latePairs = 40

// one stores a job in a transaction that stays open for a while.
func (l *latecomers) one(ctx context.Context, name string, open time.Duration) error {
	l.mu.Lock()
	l.last++
	num := l.last
	l.mu.Unlock()
	commit, err := l.client.InsertTx(ctx, system.Args{Num: num})
	if err != nil {
		return err
	}
	pause := system.Pause(ctx, open)
	l.mu.Lock()
	l.committed[num] = arrival{time.Now(), name}
	l.mu.Unlock()
	return errors.Join(pause, commit(ctx))
}

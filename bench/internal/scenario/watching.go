package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

const (
	// streamsAtOnce functions append an item each streamEvery, and each has as many followers in
	// the process that runs it as elsewhere.
	streamsAtOnce = 20
	streamEvery   = 250 * time.Millisecond
	followers     = 4
	// waitersAtOnce callers wait for a job each, which takes shortWork; later one waits for one
	// after the other that take longWork.
	waitersAtOnce = 32
	shortWork     = 5 * time.Millisecond
	longWork      = 700 * time.Millisecond
	// endedJobs have ended before they are waited for: all at once, and some one after the other.
	endedJobs, endedInTurn = 5000, 500
)

// elsewhere opens one more client of the trial's database, as another process would.
func (t *trial) elsewhere(ctx context.Context) (system.Client, error) {
	client, err := t.env.System.Open(ctx, t.env.Databases[0], system.Options{})
	if err != nil {
		return nil, err
	}
	t.after = append(t.after, client.Close)
	return client, nil
}

// follow measures how long it takes from the beginning of an append to those who follow the stream,
// and how much of that is the append itself, which ends when it is durable.
func follow(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		away, err := t.elsewhere(ctx)
		if err != nil {
			return 0, err
		}
		here, ok := t.client.(system.Streaming)
		there, alike := away.(system.Streaming)
		if !ok || !alike {
			return 0, fmt.Errorf("following streams: %w", system.ErrUnsupported)
		}
		if _, err := t.work(ctx, ignore); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		before, err := t.meter.Statements(ctx)
		if err != nil {
			return 0, err
		}
		watch := newStopwatch()
		items := max(int(seconds(e.Sizes.Seconds)/streamEvery), 1)
		var all sync.WaitGroup
		failed := make(chan error, 2*streamsAtOnce*followers)
		for range streamsAtOnce {
			job, err := here.Stream(ctx, items, streamEvery, func(took time.Duration) { watch.note("append", took) })
			if err != nil {
				return 0, err
			}
			for name, client := range map[string]system.Streaming{"here": here, "elsewhere": there} {
				for range followers {
					all.Go(func() { failed <- followed(ctx, client, job, items, watch, name) })
				}
			}
		}
		all.Wait()
		t.span.Mark()
		close(failed)
		for one := range failed {
			err = errors.Join(err, one)
		}
		if err != nil {
			return 0, err
		}
		after, err := t.meter.Statements(ctx)
		if err == nil && after >= 0 {
			t.figures["statements_per_item"] = float64(after-before) / float64(items*streamsAtOnce)
		}
		watch.tell(t.figures)
		return int64(items * streamsAtOnce), errors.Join(err, t.finished(ctx))
	})
}

// followed follows a stream to its end.
func followed(ctx context.Context, client system.Streaming, job system.ID, items int, watch *stopwatch, name string) error {
	seen := 0
	err := client.Follow(ctx, job, func(appended time.Time) {
		seen++
		watch.note(name, time.Since(appended))
	})
	if err == nil && seen != items {
		err = fmt.Errorf("%d of %d items were seen", seen, items)
	}
	return err
}

// await measures how long it takes from the end of a handler, before its commit, to those who wait
// for the job.
func await(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		here, there, err := t.awaiting(ctx)
		if err != nil {
			return 0, err
		}
		w := waits{jobs: map[int]*waited{}, watch: newStopwatch()}
		if _, err := t.work(ctx, func(args system.Args) { w.handle(ctx, args) }); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		lasts := seconds(e.Sizes.Seconds / 3)
		if err := errors.Join(
			w.during(ctx, here, "here", waitersAtOnce, shortWork, lasts),
			w.during(ctx, there, "elsewhere", waitersAtOnce, shortWork, lasts),
			w.during(ctx, there, "elsewhere_long", 1, longWork, lasts),
		); err != nil {
			return 0, err
		}
		t.span.Mark()
		w.watch.tell(t.figures)
		return int64(w.last), t.finished(ctx)
	})
}

func (t *trial) awaiting(ctx context.Context) (here, there system.Awaiting, err error) {
	away, err := t.elsewhere(ctx)
	if err != nil {
		return nil, nil, err
	}
	here, ok := t.client.(system.Awaiting)
	there, alike := away.(system.Awaiting)
	if !ok || !alike {
		return nil, nil, fmt.Errorf("waiting for jobs: %w", system.ErrUnsupported)
	}
	return here, there, nil
}

// waits are jobs that somebody waits for.
type waits struct {
	watch *stopwatch

	mu   sync.Mutex
	last int             // the number of the last one
	jobs map[int]*waited // by number
}

// waited is a job: how long its handler takes, and when that has ended.
type waited struct {
	takes time.Duration
	ended time.Time
}

func (w *waits) handle(ctx context.Context, args system.Args) {
	w.mu.Lock()
	job := w.jobs[args.Num]
	w.mu.Unlock()
	_ = system.Pause(ctx, job.takes) // one that is cut short does no harm
	w.mu.Lock()
	defer w.mu.Unlock()
	job.ended = time.Now()
}

// during lets callers store jobs and wait for them, for so long and once at least.
func (w *waits) during(ctx context.Context, client system.Awaiting, name string, callers int, takes, lasts time.Duration) error {
	until := time.Now().Add(lasts)
	return together(callers, func() error {
		for first := true; first || time.Now().Before(until); first = false {
			if err := w.one(ctx, client, name, takes); err != nil {
				return err
			}
		}
		return nil
	})
}

// one stores a job and waits for it.
func (w *waits) one(ctx context.Context, client system.Awaiting, name string, takes time.Duration) error {
	job := &waited{takes: takes}
	w.mu.Lock()
	w.last++
	num := w.last
	w.jobs[num] = job
	w.mu.Unlock()
	ids, err := client.InsertNamed(ctx, []system.Args{{Num: num}})
	if err != nil {
		return err
	}
	if err := client.Await(ctx, ids[0]); err != nil {
		return err
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch.note(name, now.Sub(job.ended))
	delete(w.jobs, num)
	return nil
}

// awaitEnded measures waits for jobs that have ended before, by one who has never heard of them.
func awaitEnded(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		here, there, err := t.awaiting(ctx)
		if err != nil {
			return 0, err
		}
		count := min(endedJobs, e.Sizes.Jobs)
		var ids []system.ID
		for len(ids) < count {
			some, err := here.InsertNamed(ctx, make([]system.Args, min(batchSize, count-len(ids))))
			if err != nil {
				return 0, err
			}
			ids = append(ids, some...)
		}
		worker, err := t.client.Work(ctx, ignore)
		if err != nil {
			return 0, err
		}
		if err := worker.Wait(ctx, int64(count)); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		in := min(endedInTurn, count)
		began := time.Now()
		for _, id := range ids[:in] {
			if err := there.Await(ctx, id); err != nil {
				return 0, err
			}
		}
		t.figures["in_turn_ms"] = figures.Milliseconds(time.Since(began)) / float64(in)
		began = time.Now()
		next := make(chan system.ID, count)
		for _, id := range ids {
			next <- id
		}
		close(next)
		err = together(count, func() error { return there.Await(ctx, <-next) })
		t.figures["at_once_s"] = time.Since(began).Seconds()
		t.span.Mark()
		return int64(in + count), err
	})
}

// watchingScenarios are about those who want to know how far a job is, and that it has ended.
func watchingScenarios() []Scenario {
	return []Scenario{
		{
			Name: "follow", Title: "from the append to a stream to those who follow it, here and elsewhere",
			measure: map[string]figures.Measure{"": {Figure: "elsewhere_p99_ms", Unit: "p99 ms elsewhere", Less: true}}, run: follow,
		},
		{
			Name: "await", Title: "from the end of a job to those who wait for it, here and elsewhere",
			measure: map[string]figures.Measure{"": {Figure: "elsewhere_p99_ms", Unit: "p99 ms elsewhere", Less: true}}, run: await,
		},
		{
			Name: "await-ended", Title: "waits for jobs that have ended, one after the other and all at once",
			measure: map[string]figures.Measure{"": {Figure: "in_turn_ms", Unit: "ms a wait", Less: true}}, run: awaitEnded,
		},
	}
}

package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
	"github.com/holdfastdev/holdfast/telemetry"
)

// measured are the metrics of a test.
type measured struct {
	reader   *sdkmetric.ManualReader
	provider *sdkmetric.MeterProvider
}

func newMeasured() measured {
	r := sdkmetric.NewManualReader()
	return measured{r, sdkmetric.NewMeterProvider(sdkmetric.WithReader(r))}
}

// point is a metric with some of its labels, and what it counts: for a histogram how often.
type point struct {
	labels map[string]string
	value  float64
	sum    float64
}

func (m measured) points(t *testing.T, of *metrics.Metric) (points []point) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, found := range scope.Metrics {
			if found.Name == of.Name {
				points = append(points, pointsOf(t, found.Data)...)
			}
		}
	}
	for _, p := range points {
		if len(p.labels) != len(of.Labels) {
			t.Errorf("%s has the labels %v, want %v", of.Name, p.labels, of.Labels)
		}
		for _, l := range of.Labels {
			if _, ok := p.labels[l]; !ok {
				t.Errorf("%s lacks the label %s: %v", of.Name, l, p.labels)
			}
		}
	}
	return points
}

func pointsOf(t *testing.T, data metricdata.Aggregation) (points []point) {
	t.Helper()
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			points = append(points, point{map[string]string{}, float64(p.Value), 0})
			for _, a := range p.Attributes.ToSlice() {
				points[len(points)-1].labels[string(a.Key)] = a.Value.AsString()
			}
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			points = append(points, point{map[string]string{}, p.Value, 0})
			for _, a := range p.Attributes.ToSlice() {
				points[len(points)-1].labels[string(a.Key)] = a.Value.AsString()
			}
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			points = append(points, point{map[string]string{}, float64(p.Count), p.Sum})
			for _, a := range p.Attributes.ToSlice() {
				points[len(points)-1].labels[string(a.Key)] = a.Value.AsString()
			}
		}
	default:
		t.Fatalf("an unknown aggregation: %T", data)
	}
	return points
}

// sum adds what a metric counts, of the points with some labels, each as NAME=VALUE.
func (m measured) sum(t *testing.T, of *metrics.Metric, labels ...string) (sum float64) {
	t.Helper()
	for _, p := range m.points(t, of) {
		has := true
		for _, l := range labels {
			name, value, _ := strings.Cut(l, "=")
			has = has && p.labels[name] == value
		}
		if has {
			sum += p.value
		}
	}
	return sum
}

func (m measured) want(t *testing.T, of *metrics.Metric, want int, labels ...string) {
	t.Helper()
	if got := m.sum(t, of, labels...); got != float64(want) {
		t.Errorf("%s %v is %v, want %d", of.Name, labels, got, want)
	}
}

// tally is a plain count.
type tally struct {
	mu                       sync.Mutex
	starts, retries, snoozes int
	parks, steps             int
}

func (c *tally) add(n *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
}

// TestCountsUnderRandomEnds: the metrics of jobs are what a plain count says, however the jobs end.
func TestCountsUnderRandomEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			m, d := newMeasured(), rand.New(rand.NewPCG(seed, 1))
			holdfasttest.Run(t, func(env *holdfasttest.Env) { randomEnds(env, m, d) }, telemetry.With(telemetry.Config{Meters: m.provider}))
		})
	}
}

// endsAtRandom is a handler that ends as its args, which are random, say.
func (c *tally) endsAtRandom(run *holdfast.Run, how []int) error {
	c.add(&c.starts)
	time.Sleep(time.Millisecond) // a run that takes no time is none
	switch left := how[min(run.Attempt(), len(how))-1]; left {
	case 0, 1, 2:
		return nil
	case 3, 4:
		if run.Attempt() < 3 {
			c.add(&c.retries)
		}
		if left == 3 {
			panic("at random")
		}
		return errors.New("at random")
	case 5:
		var seen bool
		if _, err := run.LoadCheckpoint(&seen); seen || err != nil {
			return err
		}
		if err := run.SaveCheckpoint(true); err != nil {
			return err
		}
		c.add(&c.snoozes)
		return holdfast.Snooze(time.Minute)
	case 6:
		return holdfast.Fail(errors.New("for good"))
	case 7:
		return holdfast.Cancel("not needed")
	default:
		if _, err := holdfast.Step(run, "s", func(context.Context) (int, error) { c.add(&c.steps); return 1, nil }); err != nil {
			return err
		}
		c.add(&c.parks)
		if err := run.Sleep(time.Hour); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.parks-- // this run has not parked
		return nil
	}
}

func randomEnds(env *holdfasttest.Env, m measured, d *rand.Rand) {
	t, c := env.T, &tally{}
	tasks := make([]holdfast.Task[[]int], 3)
	for i := range tasks {
		tasks[i] = holdfast.NewTask[[]int](fmt.Sprint("k", i), holdfast.MaxAttempts(3), holdfast.Backoff(time.Second, time.Minute))
		if err := tasks[i].Handle(env.Client, c.endsAtRandom); err != nil {
			t.Fatal(err)
		}
	}
	env.Start()
	const jobs = 60
	for range jobs {
		how := []int{d.IntN(9), d.IntN(9), d.IntN(9)}
		delay := d.IntN(3)
		job, err := tasks[d.IntN(3)].Enqueue(t.Context(), env.Client, how, holdfast.Queue(fmt.Sprint("q", d.IntN(2))),
			holdfast.Delay(time.Duration(delay)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if delay > 0 && d.IntN(6) == 0 { // while it waits: what becomes of a run then is a race
			if _, err := env.Client.Cancel(t.Context(), "not needed", job.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	env.Advance(5 * time.Hour)
	ends := map[store.State]int{}
	page, err := env.Client.List(t.Context(), store.Filter{}, "", 1000)
	if err != nil || len(page.Jobs) != jobs {
		t.Fatal(len(page.Jobs), err)
	}
	for i := range page.Jobs {
		ends[page.Jobs[i].State]++
	}
	m.want(t, metrics.JobsEnqueued, jobs)
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		m.want(t, metrics.JobsFinished, ends[state], "outcome="+state.String())
	}
	m.want(t, metrics.JobsFinished, jobs)
	m.want(t, metrics.DeadLetters, ends[store.Failed])
	m.want(t, metrics.Retries, c.retries)
	m.want(t, metrics.QueueWait, c.starts)
	m.want(t, metrics.JobRun, c.starts)
	m.want(t, metrics.JobRun, c.retries, "outcome=retryable")
	m.want(t, metrics.JobRun, c.snoozes, "outcome=snoozed")
	m.want(t, metrics.JobRun, c.parks, "outcome=parked")
	m.want(t, metrics.StepRun, c.steps, "outcome=completed")
	m.want(t, metrics.SlotsUsed, 0)
	m.want(t, metrics.JobsInState, 0)
	for _, p := range m.points(t, metrics.QueueWait) {
		if p.sum > 1 { // nothing but the latency of the node, in virtual time
			t.Errorf("jobs have waited %v s for nothing: %v", p.sum, p.labels)
		}
	}
}

// TestWaited: a job has waited since it was due, also one that goes on after a park.
func TestWaited(t *testing.T) {
	t.Parallel()
	m := newMeasured()
	signal := holdfast.NewSignal[int]("go")
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		slow := holdfast.NewTask[int]("slow", holdfast.Queue("one"))
		waits := holdfast.NewTask[int]("waits")
		if err := errors.Join(
			slow.Handle(env.Client, func(run *holdfast.Run, _ int) error { return sleep(run, 10*time.Second) }),
			waits.Handle(env.Client, func(run *holdfast.Run, _ int) error { _, err := signal.Wait(run); return err }),
		); err != nil {
			t.Fatal(err)
		}
		env.Start()
		for range 2 {
			if _, err := slow.Enqueue(t.Context(), env.Client, 1); err != nil {
				t.Fatal(err)
			}
		}
		job, err := waits.Enqueue(t.Context(), env.Client, 1, holdfast.Queue("two"), holdfast.Delay(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Hour)
		if _, err := signal.Send(t.Context(), env.Client, job.ID, 1); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Minute)
		waited := map[string]point{}
		for _, p := range m.points(t, metrics.QueueWait) {
			waited[p.labels["kind"]] = p
		}
		if p := waited["slow"]; p.value != 2 || p.sum < 9.9 || p.sum > 10.2 {
			t.Errorf("two jobs of 10 s in one slot have waited %+v", p)
		}
		if p := waited["waits"]; p.value != 2 || p.sum > 0.5 {
			t.Errorf("a job with a delay, and woken by a signal, has waited %+v", p)
		}
	}, telemetry.With(telemetry.Config{Meters: m.provider}), holdfast.WithQueue("one", 1), holdfast.WithQueue("two", 1))
}

func sleep(run *holdfast.Run, d time.Duration) error {
	select {
	case <-run.Done():
		return context.Cause(run)
	case <-time.After(d):
		return nil
	}
}

// inMemory is a database in memory.
type inMemory struct{ store.Source }

func (inMemory) Open(context.Context) (store.Store, error) { return model.New(time.Now), nil }

func (inMemory) String() string { return "memory" }

// TestGauges: the leader tells what is in the queues, and each node of itself, until it is closed.
func TestGauges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMeasured()
		hf, err := holdfast.Open(t.Context(), inMemory{}, telemetry.With(telemetry.Config{Meters: m.provider}),
			holdfast.WithSlots(7), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		task := holdfast.NewTask[int]("a")
		if err := task.Handle(hf, func(run *holdfast.Run, _ int) error { return sleep(run, time.Hour) }); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(hf.PauseQueue(t.Context(), "closed"), hf.Start(t.Context())); err != nil {
			t.Fatal(err)
		}
		enqueue := func(n int, opts ...holdfast.EnqueueOption) {
			for range n {
				if _, err := task.Enqueue(t.Context(), hf, 1, opts...); err != nil {
					t.Fatal(err)
				}
			}
		}
		enqueue(3, holdfast.Queue("closed"))
		enqueue(5, holdfast.Delay(2*time.Hour))
		enqueue(2)
		time.Sleep(10*time.Minute + time.Second)
		checkGauges(t, m)
		if err := hf.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if found := m.points(t, metrics.DatabaseAway); len(found) > 0 {
			t.Errorf("of a closed client there is %v", found)
		}
	})
}

func checkGauges(t *testing.T, m measured) {
	t.Helper()
	m.want(t, metrics.JobsInState, 3, "queue=closed", "state=available")
	m.want(t, metrics.JobsInState, 5, "queue=default", "state=scheduled")
	m.want(t, metrics.JobsInState, 2, "queue=default", "state=running")
	if due := m.sum(t, metrics.OldestDue, "queue=closed"); due < 580 || due > 601 {
		t.Errorf("the oldest job has been due for %v s", due)
	}
	m.want(t, metrics.OldestDue, 0, "queue=default")
	m.want(t, metrics.Leader, 1)
	m.want(t, metrics.Slots, 7)
	m.want(t, metrics.SlotsUsed, 2)
	m.want(t, metrics.DatabaseAway, 0)
	m.want(t, metrics.DutyTime, 40, "duty=look at queues")
	if age := m.sum(t, metrics.BeatAge); age > 5 {
		t.Errorf("the last beat was %v s ago", age)
	}
	if claims := m.sum(t, metrics.ClaimTime); claims == 0 || claims != m.sum(t, metrics.ClaimSize) {
		t.Errorf("%v claims were told of", claims)
	}
	for _, operation := range []string{"claim", "beat", "commit", "queues"} {
		if n := m.sum(t, metrics.QueryTime, "operation="+operation); n <= 0 {
			t.Errorf("calls of the database for %s took %v s", operation, n)
		}
	}
	if found := m.points(t, metrics.HooksDropped); len(found) != 1 || found[0].value != 0 {
		t.Errorf("dropped are %v", found)
	}
}

// TestScheduleMetrics: what fires is measured, and what was missed is counted.
func TestScheduleMetrics(t *testing.T) {
	t.Parallel()
	m := newMeasured()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		task := holdfast.NewTask[int]("nightly")
		if err := task.Handle(env.Client, func(*holdfast.Run, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := schedule.Sync(t.Context(), env.Client, schedule.New("tick", schedule.Every(time.Hour), task.Item(1))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3*time.Hour + 10*time.Minute) // and no node runs
		env.Start()
		env.Advance(2 * time.Hour)
		m.want(t, metrics.ScheduleMissed, 2) // the last of the three is made up for
		m.want(t, metrics.ScheduleLag, 3, "kind=nightly")
		for _, p := range m.points(t, metrics.ScheduleLag) {
			if p.sum < 600 || p.sum > 601 {
				t.Errorf("the schedule was %v s late", p.sum)
			}
		}
	}, telemetry.With(telemetry.Config{Meters: m.provider}))
}

// TestLabelsAreBounded: what is beyond the bounds is one value, and nothing is lost.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMeasured()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		for i := range 6 {
			task := holdfast.NewTask[int](fmt.Sprint("k", i))
			if _, err := task.Enqueue(t.Context(), env.Client, 1, holdfast.Queue(fmt.Sprint("q", i))); err != nil {
				t.Fatal(err)
			}
		}
		env.Advance(time.Second)
		m.want(t, metrics.JobsEnqueued, 6)
		m.want(t, metrics.JobsEnqueued, 3, "queue=other", "namespace=other")
		m.want(t, metrics.JobsEnqueued, 4, "kind=other")
		if n := len(m.points(t, metrics.JobsEnqueued)); n != 4 {
			t.Errorf("there are %d combinations of labels", n)
		}
	}, telemetry.With(telemetry.Config{Meters: m.provider, MaxQueues: 3, MaxKinds: 2}))
}

// TestMistakes: what is wrong is an error of Open.
func TestMistakes(t *testing.T) {
	t.Parallel()
	open := func(opts ...holdfast.Option) error {
		_, err := holdfast.Open(t.Context(), nil, opts...)
		return err
	}
	err := open(telemetry.With(telemetry.Config{MaxQueues: -1}))
	if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "-1 queues") {
		t.Errorf("a negative number: %v", err)
	}
	err = open(telemetry.With(telemetry.Config{}), telemetry.With(telemetry.Config{}))
	if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("twice: %v", err)
	}
}

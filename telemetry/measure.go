package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/store"
)

func (t *telemetry) count(m *metrics.Metric, n int, values ...string) {
	t.counters[m].Add(background(), int64(n), t.labels.of(m, values...))
}

// bad are counters that should stay 0. They begin when the first job starts: what is there only
// once it has counted something has not grown, for Prometheus, when it appears.
var bad = []*metrics.Metric{metrics.DeadLetters, metrics.Nondeterminism, metrics.LeasesLost}

// born lets a counter begin, unless it has.
func (t *telemetry) born(m *metrics.Metric, values ...string) {
	if !t.labels.has(m, values...) {
		t.count(m, 0, values...)
	}
}

func (t *telemetry) took(m *metrics.Metric, d time.Duration, values ...string) {
	t.times[m].Record(background(), d.Seconds(), t.labels.of(m, values...))
}

// hooks are those from which the metrics of jobs come.
func (t *telemetry) hooks() hooks.Hooks {
	return hooks.Hooks{
		Enqueued: func(e hooks.Enqueued) { t.count(metrics.JobsEnqueued, 1, e.Namespace, e.Queue, e.Kind) },
		Started: func(e hooks.Started) {
			t.took(metrics.QueueWait, e.Waited, e.Namespace, e.Queue, e.Kind)
			for _, m := range bad {
				t.born(m, e.Namespace, e.Queue, e.Kind)
			}
		},
		Retried: t.retried,
		Parked: func(e hooks.Parked) {
			how := "parked"
			if e.Held {
				how = "held"
			}
			t.took(metrics.JobRun, e.Took, e.Namespace, e.Queue, e.Kind, how)
			if e.Reason == store.ReasonNondeterminism {
				t.count(metrics.Nondeterminism, 1, e.Namespace, e.Queue, e.Kind)
			}
		},
		Finished: t.finished,
		Rescued: func(e hooks.Rescued) {
			t.count(metrics.JobsRescued, 1, e.Namespace, e.Queue, e.Kind, string(e.Reason))
			if e.State == store.Retryable {
				t.count(metrics.Retries, 1, e.Namespace, e.Queue, e.Kind, string(e.Reason))
			}
		},
		NodeDied: func(hooks.NodeDied) { t.count(metrics.NodesDied, 1) },
	}
}

func (t *telemetry) retried(e hooks.Retried) {
	how := "released"
	switch {
	case e.Continued:
		how = "continued"
	case e.State == store.Retryable:
		how = "retryable"
		t.count(metrics.Retries, 1, e.Namespace, e.Queue, e.Kind, string(e.Reason))
	case e.State == store.Scheduled:
		how = "snoozed"
	}
	t.took(metrics.JobRun, e.Took, e.Namespace, e.Queue, e.Kind, how)
}

func (t *telemetry) finished(e hooks.Finished) {
	how := e.State.String()
	t.count(metrics.JobsFinished, 1, e.Namespace, e.Queue, e.Kind, how)
	if e.Took > 0 {
		t.took(metrics.JobRun, e.Took, e.Namespace, e.Queue, e.Kind, how)
	}
	if e.State == store.Failed {
		t.count(metrics.DeadLetters, 1, e.Namespace, e.Queue, e.Kind)
	}
}

func (t *telemetry) claimed(namespace string, jobs int, took time.Duration) {
	t.took(metrics.ClaimTime, took, namespace)
	t.times[metrics.ClaimSize].Record(background(), float64(jobs), t.labels.of(metrics.ClaimSize, namespace))
}

func (t *telemetry) leaseLost(namespace, queue, kind string) {
	t.count(metrics.LeasesLost, 1, namespace, queue, kind)
}

// stale is after how long what the leader saw is shown no longer: it leads no more, or cannot look.
const stale = 4 * observer.LookEvery

func (t *telemetry) queues(queues []store.Queue, now time.Time) {
	t.looked.mu.Lock()
	defer t.looked.mu.Unlock()
	t.looked.queues, t.looked.now, t.looked.at = queues, now, time.Now()
}

// opened has the gauges of a process observed, until it is closed.
func (t *telemetry) opened(look func() observer.Process) (closed func()) {
	r, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		t.observe(o, look())
		return nil
	}, t.observable...)
	if err != nil { // the provider takes no callbacks: there are no gauges
		return func() {}
	}
	return func() { _ = r.Unregister() } // nothing is left to be told
}

func (t *telemetry) observe(o metric.Observer, p observer.Process) {
	gauge := func(m *metrics.Metric, v float64, values ...string) {
		o.ObserveFloat64(t.gauges[m], v, t.labels.of(m, values...))
	}
	o.ObserveInt64(t.observed[metrics.HooksDropped], p.HooksDropped)
	o.ObserveInt64(t.observed[metrics.Panics], p.Panics)
	gauge(metrics.DatabaseAway, p.Away.Seconds())
	leads := false
	for i := range p.Nodes {
		n := &p.Nodes[i]
		leader := 0.0
		if n.Leader {
			leader, leads = 1, true
		}
		gauge(metrics.Leader, leader, n.Namespace)
		gauge(metrics.Slots, float64(n.Slots), n.Namespace)
		gauge(metrics.SlotsUsed, float64(n.Running), n.Namespace)
		gauge(metrics.Pending, float64(n.Pending), n.Namespace)
		gauge(metrics.StartLag, n.Lag.Seconds(), n.Namespace)
		gauge(metrics.BeatAge, n.Silent.Seconds(), n.Namespace)
	}
	if leads {
		t.observeQueues(gauge)
	}
}

// states are those that are counted of queues.
var states = []store.State{store.Available, store.Scheduled, store.Retryable, store.Running, store.Waiting}

// observeQueues shows what the leader saw last. What is beyond the bound of queues is one queue.
func (t *telemetry) observeQueues(gauge func(m *metrics.Metric, v float64, values ...string)) {
	t.looked.mu.Lock()
	defer t.looked.mu.Unlock()
	if t.looked.at.IsZero() || time.Since(t.looked.at) > stale {
		return
	}
	type seen struct {
		counts [8]int
		due    time.Duration
	}
	all := map[queue]*seen{}
	for i := range t.looked.queues {
		q := &t.looked.queues[i]
		key := t.labels.queue(q.Namespace, q.Name)
		s := all[key]
		if s == nil {
			s = &seen{}
			all[key] = s
		}
		for n, state := range states {
			s.counts[n] += q.Counts[state].N
		}
		if !q.OldestDue.IsZero() {
			s.due = max(s.due, t.looked.now.Sub(q.OldestDue))
		}
	}
	for key, s := range all {
		for n, state := range states {
			gauge(metrics.JobsInState, float64(s.counts[n]), key.namespace, key.name, state.String())
		}
		gauge(metrics.OldestDue, s.due.Seconds(), key.namespace, key.name)
	}
}

package limit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// clocks is how exactly processes know the clock of a server, twice.
const clocks = 100 * time.Millisecond

// TestThrottled: when a service says no nothing of the queue is claimed before the time that it
// asks for, by any node, and everything is done after that. No attempt counts.
func TestThrottled(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		asks := holdfast.NewTask[int]("asks")
		var allowed, saidNo atomic.Int64
		allowed.Store(5)
		var nodes []*holdfast.Client
		for range 2 {
			hf := open(t, source, holdfast.WithSlots(4))
			if err := asks.Handle(hf, func(*holdfast.Run, int) error {
				if allowed.Add(-1) < 0 {
					saidNo.Add(1)
					return fmt.Errorf("the service says no: %w", limit.Throttled(2*time.Second))
				}
				return nil
			}, holdfast.MaxAttempts(1)); err != nil {
				t.Fatal(err)
			}
			if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, hf)
		}
		var items []holdfast.BatchItem
		for i := range 60 {
			items = append(items, asks.Item(i))
		}
		jobs, err := nodes[0].EnqueueBatch(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		for _, hf := range nodes {
			if err := hf.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		rest := restOf(t, nodes[0])
		begun := time.Now()
		allowed.Store(1000)
		other, err := light.Enqueue(t.Context(), nodes[0], 0, holdfast.Queue("other"))
		if err == nil {
			_, err = other.Wait(t.Context()) // those of other queues go on
		}
		if err != nil {
			t.Fatal(err)
		}
		throttled := 0
		for _, job := range jobs {
			if err := nodes[1].Wait(t.Context(), job.ID); err != nil {
				t.Fatal(err)
			}
			r, err := nodes[1].Get(t.Context(), job.ID)
			if err != nil || r.State != store.Completed || r.Attempt != 1 {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.ClaimedAt.After(begun.Add(clocks)) && r.ClaimedAt.Before(rest.Until.Add(-clocks)) {
				t.Errorf("job %v was claimed at %v, and its queue rested from %v until %v", job.ID, r.ClaimedAt, begun, rest.Until)
			}
			for _, a := range r.Attempts {
				if a.Reason == store.ReasonThrottled && strings.HasPrefix(a.Error, "the service says no") {
					throttled++
				}
			}
		}
		if int64(throttled) != saidNo.Load() {
			t.Errorf("%d attempts were throttled, and the service has said no %d times", throttled, saidNo.Load())
		}
	})
}

// restOf waits until the queue of the jobs rests.
func restOf(t *testing.T, hf *holdfast.Client) store.Resting {
	t.Helper()
	for {
		queues, err := hf.Queues(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(queues) > 0 && queues[0].Rest.Level > 0 {
			return queues[0].Rest
		}
	}
}

// TestRest: a person lets a queue rest, and ends that.
func TestRest(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source)
		if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := limit.Rest(t.Context(), hf, "default", 0); !errors.Is(err, store.ErrInvalid) {
			t.Error(err)
		}
		until, err := limit.Rest(t.Context(), hf, "default", time.Hour)
		if err != nil || time.Until(until) < 50*time.Minute {
			t.Fatal(until, err)
		}
		if err := hf.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		job, err := light.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := hf.Why(t.Context(), job.ID)
		if err != nil || len(e.Causes) != 1 || e.Causes[0].Code != why.QueueRests || !e.Causes[0].Until.Equal(until) {
			t.Errorf("%+v, %v", e, err)
		}
		if err := hf.ResumeQueue(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

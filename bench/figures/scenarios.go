package main

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

type bench struct {
	ctx        context.Context
	database   string
	jobs       int
	slots      int
	runs       int
	span       time.Duration
	idleSpan   time.Duration
	disk       func() (int64, error) // bytes written so far
	counts     bool                  // statements can be counted
	statements func() (int64, error) // statements so far, but for this question
	size       func() (int64, error) // bytes of the database
}

type scenario struct {
	name string
	once bool
	run  func() (result, error)
}

type args struct {
	Num int   `json:"num"`
	At  int64 `json:"at,omitempty"` // microseconds: when the enqueue began
}

var kind = holdfast.NewKind[args, struct{}]("bench.noop")

func (b *bench) scenarios() []scenario {
	return []scenario{
		{name: "insert, 1 producer, one by one", run: func() (result, error) { return b.insert(1, 1) }},
		{name: "insert, 16 producers, one by one", run: func() (result, error) { return b.insert(16, 1) }},
		{name: "insert, 256 producers, one by one", run: func() (result, error) { return b.insert(256, 1) }},
		{name: "insert, 1 producer, batches of 1,000", run: func() (result, error) { return b.insert(1, 1000) }},
		{name: "insert, 4 producers, batches of 1,000", run: func() (result, error) { return b.insert(4, 1000) }},
		{name: fmt.Sprintf("drain, %d slots", b.slots), run: func() (result, error) { return b.drain(b.slots) }},
		{name: "drain, default slots", run: func() (result, error) { return b.drain(100) }},
		{name: fmt.Sprintf("insert and drain at once, %d slots", b.slots), run: b.steady},
		{name: "pickup at 10 a second, default settings", run: func() (result, error) { return b.latency(10) }},
		{name: "pickup at 500 a second, default settings", run: func() (result, error) { return b.latency(500) }},
		{name: "idle node", once: true, run: b.idle},
	}
}

// insert lets producers enqueue for the span, and then clears what they left.
func (b *bench) insert(producers, batch int) (result, error) {
	hf, err := b.open(b.slots)
	if err != nil {
		return result{}, err
	}
	m, err := b.begin()
	if err != nil {
		return result{}, err
	}
	var stored atomic.Int64
	until := time.Now().Add(b.span)
	err = together(producers, func() error {
		ins := make([]args, batch)
		for n := 0; time.Now().Before(until); n++ {
			for i := range ins {
				ins[i].Num = n*batch + i
			}
			if _, err := kind.EnqueueMany(b.ctx, hf, ins); err != nil {
				return err
			}
			stored.Add(int64(batch))
		}
		return nil
	})
	if err != nil {
		return result{}, err
	}
	r, err := m.end(stored.Load())
	if err != nil {
		return result{}, err
	}
	if _, err := b.clear(hf, stored.Load()); err != nil {
		return result{}, err
	}
	return r, hf.Close(b.ctx)
}

// drain fills a queue and measures how long a node needs for it.
func (b *bench) drain(slots int) (result, error) {
	hf, err := b.open(slots)
	if err != nil {
		return result{}, err
	}
	ins := make([]args, b.jobs)
	for i := range ins {
		ins[i].Num = i
	}
	if _, err := kind.EnqueueMany(b.ctx, hf, ins); err != nil {
		return result{}, err
	}
	r, err := b.clear(hf, int64(b.jobs))
	if err != nil {
		return result{}, err
	}
	return r, hf.Close(b.ctx)
}

// clear runs a node until it has done so many jobs and their outcomes are durable.
func (b *bench) clear(hf *holdfast.Client, jobs int64) (result, error) {
	var done atomic.Int64
	finished := make(chan struct{})
	err := kind.Handle(hf, func(*holdfast.Run, args) (struct{}, error) {
		if done.Add(1) == jobs {
			close(finished)
		}
		return struct{}{}, nil
	})
	if err != nil {
		return result{}, err
	}
	m, err := b.begin()
	if err != nil {
		return result{}, err
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(b.ctx) }()
	select {
	case <-finished:
	case err := <-ran:
		return result{}, fmt.Errorf("the node ended: %w", err)
	}
	if err := hf.Stop(b.ctx); err != nil { // commits what waits
		return result{}, err
	}
	r, err := m.end(jobs)
	if err != nil {
		return result{}, err
	}
	return r, <-ran
}

// steady inserts in batches while a node works, keeping the backlog below ten batches.
func (b *bench) steady() (result, error) {
	hf, err := b.open(b.slots)
	if err != nil {
		return result{}, err
	}
	var done, stored atomic.Int64
	if err := kind.Handle(hf, func(*holdfast.Run, args) (struct{}, error) {
		done.Add(1)
		return struct{}{}, nil
	}); err != nil {
		return result{}, err
	}
	m, err := b.begin()
	if err != nil {
		return result{}, err
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(b.ctx) }()
	const batch = 1000
	ins := make([]args, batch)
	for until := time.Now().Add(b.span); time.Now().Before(until); {
		if stored.Load()-done.Load() > 10*batch {
			time.Sleep(time.Millisecond)
			continue
		}
		if _, err := kind.EnqueueMany(b.ctx, hf, ins); err != nil {
			return result{}, err
		}
		stored.Add(batch)
	}
	for done.Load() < stored.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := hf.Stop(b.ctx); err != nil {
		return result{}, err
	}
	r, err := m.end(done.Load())
	if err != nil {
		return result{}, err
	}
	if err := <-ran; err != nil {
		return result{}, err
	}
	return r, hf.Close(b.ctx)
}

// latency enqueues at an even rate and measures from the beginning of the enqueue to the handler's entry.
func (b *bench) latency(perSecond int) (result, error) {
	hf, err := b.open(100)
	if err != nil {
		return result{}, err
	}
	var mu sync.Mutex
	var took []time.Duration
	if err := kind.Handle(hf, func(_ *holdfast.Run, a args) (struct{}, error) {
		d := time.Since(time.UnixMicro(a.At))
		mu.Lock()
		took = append(took, d)
		mu.Unlock()
		return struct{}{}, nil
	}); err != nil {
		return result{}, err
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(b.ctx) }()
	time.Sleep(500 * time.Millisecond)
	m, err := b.begin()
	if err != nil {
		return result{}, err
	}
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	var producers sync.WaitGroup
	failed := make(chan error, 1)
	sent := 0
	for until := time.Now().Add(b.span); time.Now().Before(until); sent++ {
		<-ticker.C
		producers.Go(func() {
			if _, err := kind.Enqueue(b.ctx, hf, args{At: time.Now().UnixMicro()}); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	ticker.Stop()
	producers.Wait()
	time.Sleep(time.Second)
	r, err := m.end(int64(sent))
	if err != nil {
		return result{}, err
	}
	if err := hf.Close(b.ctx); err != nil {
		return result{}, err
	}
	if err := <-ran; err != nil {
		return result{}, err
	}
	select {
	case err := <-failed:
		return result{}, err
	default:
	}
	if len(took) != sent {
		return result{}, fmt.Errorf("%d jobs sent, %d ran", sent, len(took))
	}
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[min(len(took)-1, int(math.Ceil(q*float64(len(took)))))]
	}
	r.p50, r.p99 = at(0.50), at(0.99)
	return r, nil
}

// idle watches a node that has nothing to do.
func (b *bench) idle() (result, error) {
	hf, err := b.open(100)
	if err != nil {
		return result{}, err
	}
	if err := kind.Handle(hf, func(*holdfast.Run, args) (struct{}, error) { return struct{}{}, nil }); err != nil {
		return result{}, err
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(b.ctx) }()
	time.Sleep(15 * time.Second) // the polls have slowed down by then
	before, err := b.statements()
	if err != nil {
		return result{}, err
	}
	m, err := b.begin()
	if err != nil {
		return result{}, err
	}
	time.Sleep(b.idleSpan)
	after, err := b.statements()
	if err != nil {
		return result{}, err
	}
	r, err := m.end(1)
	if err != nil {
		return result{}, err
	}
	r.idle, r.counted, r.queries = true, b.counts, float64(after-before)/b.idleSpan.Seconds()
	if err := hf.Close(b.ctx); err != nil {
		return result{}, err
	}
	return r, <-ran
}

// together runs f in n goroutines and returns the first error.
func together(n int, f func() error) error {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- f() }()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

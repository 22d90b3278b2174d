package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast"
)

var (
	flowKind  = holdfast.NewKind[int, struct{}]("bench.flow")
	sleepKind = holdfast.NewKind[int, struct{}]("bench.sleep")
	goOn      = holdfast.NewSignal[struct{}]("go on")
)

// durable lists the scenarios of durable functions.
func (b *bench) durable() []scenario {
	var list []scenario
	for _, steps := range []int{1, 10} {
		for _, atOnce := range []int{1, 64, 1000} {
			list = append(list, scenario{
				name: fmt.Sprintf("durable function of %d steps, %d at once", steps, atOnce),
				run:  func() (result, error) { return b.flows(steps, atOnce) },
			})
		}
	}
	return append(list, scenario{name: "waiting runs", once: true, run: b.waiting})
}

// flows fills a queue with durable functions and measures how long a node needs for them. A job of the table is one function.
func (b *bench) flows(steps, atOnce int) (result, error) {
	hf, err := b.open(atOnce)
	if err != nil {
		return result{}, err
	}
	n := max(b.jobs/(10*steps), 100)
	if atOnce == 1 {
		n = max(n/10, 100)
	}
	var done atomic.Int64
	finished := make(chan struct{})
	err = flowKind.Handle(hf, func(run *holdfast.Run, _ int) (struct{}, error) {
		for i := range steps {
			if _, err := holdfast.Step(run, "step", func(context.Context) (int, error) { return i, nil }); err != nil {
				return struct{}{}, err
			}
		}
		if done.Add(1) == int64(n) {
			close(finished)
		}
		return struct{}{}, nil
	})
	if err != nil {
		return result{}, err
	}
	if _, err := flowKind.EnqueueMany(b.ctx, hf, make([]int, n)); err != nil {
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
	if err := hf.Stop(b.ctx); err != nil {
		return result{}, err
	}
	r, err := m.end(int64(n))
	if err != nil {
		return result{}, err
	}
	if err := <-ran; err != nil {
		return result{}, err
	}
	return r, hf.Close(b.ctx)
}

// waiting parks runs, half of them on a sleep and half on a signal, and prints what they cost. Its figure is the drain of
// plain jobs beside them; compare it with the drain without.
func (b *bench) waiting() (result, error) {
	hf, err := b.open(1000)
	if err != nil {
		return result{}, err
	}
	err = sleepKind.Handle(hf, func(run *holdfast.Run, i int) (struct{}, error) {
		if i%2 == 0 {
			return struct{}{}, run.Sleep(240 * time.Hour)
		}
		_, err := goOn.Wait(run)
		return struct{}{}, err
	})
	if err != nil {
		return result{}, err
	}
	before, err := b.size()
	if err != nil {
		return result{}, err
	}
	empty := heap()
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(b.ctx) }()
	began := time.Now()
	ins := make([]int, 1000)
	for i := range ins {
		ins[i] = i
	}
	for sent := 0; sent < b.runs; sent += len(ins) {
		if _, err := sleepKind.EnqueueMany(b.ctx, hf, ins); err != nil {
			return result{}, err
		}
	}
	for {
		queues, err := hf.Queues(b.ctx)
		if err != nil {
			return result{}, err
		}
		left := int64(0)
		for _, q := range queues {
			for _, s := range []holdfast.State{holdfast.Available, holdfast.Running} {
				left += int64(q.Counts[s].N)
			}
		}
		if left == 0 {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	took := time.Since(began)
	after, err := b.size()
	if err != nil {
		return result{}, err
	}
	fmt.Printf("| %d runs parked | %.0f/s | memory of the node: %.1f MB more than empty | | %.0f on disk |\n",
		b.runs, float64(b.runs)/took.Seconds(), float64(heap()-empty)/1e6, float64(after-before)/float64(b.runs))
	if err := hf.Close(b.ctx); err != nil {
		return result{}, err
	}
	if err := <-ran; err != nil {
		return result{}, err
	}
	return b.drain(100)
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Package concurrency has functions that do several things at once.
package concurrency

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfastdev/holdfast"
)

type cache struct {
	sync.RWMutex

	mu sync.Mutex
	by map[int]int
}

var shared cache

func wrong(run *holdfast.Run, in int) (int, error) {
	results := make(chan int, 1)
	go func() { // want `^a go statement runs outside the journal; use holdfast\.Go$`
		results <- in // want `^a send on a channel waits outside the journal; return the value from a function started with holdfast\.Go$`
	}()
	n := <-results // want `^a receive from a channel waits outside the journal; use Signal\.Wait, holdfast\.Select, or await the future of holdfast\.Go$`
	<-run.Done()   // want `a receive from a channel`
	select {       // want `^a select statement may choose differently on every replay; use holdfast\.Select$`
	case n = <-results:
		n += <-results // want `a receive from a channel`
	case <-run.Done():
	case results <- 1:
	default:
	}
	for range results { // want `^a range over a channel waits outside the journal`
	}
	if err := drain(run, results); err != nil {
		return 0, err
	}
	shared.mu.Lock() // want `^sync\.Mutex\.Lock waits outside the journal; do it in a Step, or return shared values from functions started with holdfast\.Go$`
	shared.mu.Unlock()
	shared.RLock() // want `sync\.RWMutex\.RLock`
	shared.RUnlock()
	shared.Lock() // want `sync\.RWMutex\.Lock`
	shared.Unlock()
	var wg sync.WaitGroup
	wg.Go(func() {}) // want `^sync\.WaitGroup\.Go runs outside the journal; use holdfast\.Go$`
	wg.Wait()        // want `^sync\.WaitGroup\.Wait waits outside the journal; use holdfast\.Go and wait for its future$`
	var g errgroup.Group
	g.Go(func() error { return nil }) // want `errgroup\.Group\.Go runs`
	if err := g.Wait(); err != nil {  // want `errgroup\.Group\.Wait waits`
		return 0, err
	}
	return n, run.Sleep(time.Second)
}

func drain[C chan int | <-chan int](run *holdfast.Run, c C) (err error) {
	for range c { // want `a range over a channel`
		err = run.Sleep(1)
	}
	return err
}

func right(run *holdfast.Run, in int) (int, error) {
	a, err := holdfast.Go(run, "a", func(run *holdfast.Run) (int, error) { return in, run.Sleep(time.Hour) })
	if err != nil {
		return 0, err
	}
	timer, err := run.Timer(time.Minute)
	if err != nil {
		return 0, err
	}
	if _, err := holdfast.Select(run, a, timer); err != nil {
		return 0, err
	}
	if _, err := holdfast.Step(run, "many", func(ctx context.Context) (int, error) {
		c := make(chan int)
		go func() { c <- 1 }()
		select {
		case n := <-c:
			return n, nil
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}); err != nil {
		return 0, err
	}
	return a.Wait(run)
}

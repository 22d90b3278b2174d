package around

import (
	"fmt"
	"sync"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Inside is what the functions are put around.
type Inside[R any] struct {
	Handler func(run R) error
	// Check refuses a run that a function passes on and that is not its own.
	Check func(run R) error
	// Left tells why the run has ended the goroutine of its code, or nil.
	Left func() error
	// Told is what a function is told of an error that the handler, or a function inside of it, has
	// returned.
	Told func(err error) error
}

// Call calls the first of the functions, of which each calls the next, and the last the handler.
// left reports that the run has ended the goroutine of its code, and that its outcome does not
// depend on what the functions have returned. A panic is a *usercode.PanicError with the stack of
// where it was.
func Call[R any, F ~func(run R, next func(R) error) error](
	run R, chain []F, in Inside[R],
) (left bool, panicked *usercode.PanicError, err error) {
	c := &call[R]{Inside: in}
	func() {
		defer func() {
			if p := recover(); p != nil {
				panicked = usercode.PanicOf(p)
			}
		}()
		err = step(c, run, chain)
	}()
	return c.left, panicked, err
}

// call is one call of a handler.
type call[R any] struct {
	Inside[R]

	left bool // the run has ended a goroutine
}

// step calls the first of the functions, or the handler if there are none.
func step[R any, F ~func(run R, next func(R) error) error](c *call[R], run R, chain []F) error {
	if len(chain) == 0 {
		return c.Handler(run)
	}
	g := &gate{}
	defer g.close()
	return chain[0](run, func(run R) error {
		if err := c.Check(run); err != nil {
			return err
		}
		if err := g.enter(); err != nil {
			return err
		}
		defer g.leave()
		return c.apart(func() error { return step(c, run, chain[1:]) })
	})
}

// apart calls f in a goroutine of its own, which may end without returning. A panic of f is raised
// again here.
func (c *call[R]) apart(f func() error) error {
	var (
		err      error
		panicked *usercode.PanicError
		returned bool
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				panicked = usercode.PanicOf(p)
			}
		}()
		err = f()
		returned = true
	}()
	<-done
	switch {
	case panicked != nil:
		panic(panicked)
	case returned && c.left:
		return err
	case returned:
		return c.Told(err)
	}
	if err := c.Left(); err != nil {
		c.left = true
		return err
	}
	return usercode.ErrGoexit
}

// gate lets one call of next through, as long as the function that it was given to has not
// returned.
type gate struct {
	mu             sync.Mutex
	inside         sync.WaitGroup
	called, closed bool
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return misuse("next was called after the function that it was given to has returned; call it in that function")
	case g.called:
		return misuse("next was called twice; call it once")
	}
	g.called = true
	g.inside.Add(1)
	return nil
}

func (g *gate) leave() { g.inside.Done() }

// close is called when the function has returned. It waits for a call of next that goes on: a
// handler has its slot until it has returned.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.inside.Wait()
}

func misuse(text string) error { return fmt.Errorf("%w: middleware: %s", store.ErrInvalid, text) }

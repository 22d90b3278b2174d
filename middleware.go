package holdfast

import (
	"runtime"

	"github.com/holdfastdev/holdfast/internal/around"
)

// Middleware is put around handlers, for what concerns all of them: metrics, traces, values in
// contexts. It calls next once, with its run or one made from it by WithContext, and returns what
// next returned, or another error. It is called for each run of a job, also when a parked run goes
// on. What it returns is what the handler has returned: nil completes the job, without a result
// unless the handler returned one, and an error decides as it would from the handler. If it does
// not call next, the handler is not called.
//
// next returns the error of the handler, and ErrParked if its run is parked: the handler is called
// again later, and a metric counts this end once if it leaves out ErrParked. A durable run that is
// interrupted returns ErrShutdown, because its node stops, or ErrLeaseLost. In these three cases
// the run ends in its own way, whatever the middleware returns. A panic of the handler comes out of
// next as a panic, whose value is an error with the handler's stack; a panic of the middleware is
// one of the handler. next called twice, or with another run, is an ErrInvalid.
//
// Compensations run outside of the middleware.
type Middleware func(run *Run, next func(run *Run) error) error

// WithMiddleware puts functions around all handlers of the client, or, as an option of Handle,
// around one. The first is outermost; those of Open are outside those of Handle. Without any, there
// is no cost.
func WithMiddleware(mw ...Middleware) interface {
	Option
	HandleOption
} {
	return middlewares(mw)
}

type middlewares []Middleware

func (m middlewares) open(s *settings) error { return m.addTo(&s.around) }

func (m middlewares) handle(h *handlerSpec) error { return m.addTo(&h.around) }

func (m middlewares) addTo(all *[]Middleware) error {
	for _, one := range m {
		if one == nil {
			return noFunction("middleware")
		}
	}
	*all = append(*all, m...)
	return nil
}

// inside calls a handler with the middleware around it. A run that has ended the goroutine of its
// code ends that of the middleware as well, which is how the node finds out.
func (r *Run) inside(chain []Middleware, call func(*Run) ([]byte, error)) (result []byte, err error) {
	left, panicked, err := around.Call(r, chain, around.Inside[*Run]{
		Handler: func(run *Run) (err error) {
			result, err = call(run)
			return err
		},
		Check: func(run *Run) error {
			if run == nil || run.strand != r.strand {
				return invalid("middleware", "next was called with another run; pass the own one, or one made from it by WithContext")
			}
			return nil
		},
		Left: r.strand.Left,
	})
	switch {
	case left && panicked != nil:
		r.strand.SayPanic(panicked)
		fallthrough
	case left:
		runtime.Goexit()
	case panicked != nil:
		panic(panicked)
	}
	return result, err
}

package holdfast

import (
	"context"
	"runtime"
	"slices"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/around"
	"github.com/holdfastdev/holdfast/store"
)

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
		Told: r.strand.Told,
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

// WithHooks tells hooks of events in the lives of jobs, runs and nodes; see package hooks. Several
// add up.
func WithHooks(h hooks.Hooks) Option {
	return option(func(s *settings) error {
		s.engine.Hooks = append(s.engine.Hooks, h)
		return nil
	})
}

// WithEnqueueMiddleware puts functions around all enqueues of the client, or, as an option of
// NewKind, of a kind: of one job and of many, in a transaction of the caller, and of the children
// of runs. Each call of an enqueue is one of the first function, which is outermost, with all its
// jobs. It calls next once, which enqueues them and returns nil, or why that failed; what became of
// single jobs next does not say. An error without next refuses all of them, and nil without next is
// an ErrInvalid. Those of a kind are inside of those of Open; in an enqueue of several kinds they
// are called with the jobs of theirs, but an error of theirs refuses all.
//
// Before it calls next, a function may change the args, metadata, tags, priority, queue, run time,
// options, attempts and ordering key of the jobs; everything is validated after that, and unique
// keys are computed. RunAt is zero for as soon as possible and for a Delay, which a RunAt replaces.
//
// A child is passed once, with the run as ctx, and not when its parent is replayed: next returns
// nil at once, and the child is stored with the entry that remembers it.
func WithEnqueueMiddleware(mw ...func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error) interface {
	Option
	EnqueueOption
} {
	return enqueueMiddlewares(mw)
}

type enqueueMiddlewares []enqueueMiddleware

func (m enqueueMiddlewares) open(s *settings) error { return m.addTo(&s.aroundEnqueues) }

func (m enqueueMiddlewares) enqueue(s *enqueueSpec) error { return m.addTo(&s.around) }

func (m enqueueMiddlewares) addTo(all *[]enqueueMiddleware) error {
	for _, one := range m {
		if one == nil {
			return noFunction("enqueue middleware")
		}
	}
	*all = append(*all, m...)
	return nil
}

// passes reports whether an enqueue, or a follow-up of it, passes through middleware.
func (c *Client) passes(spec *enqueueSpec) bool {
	return len(c.aroundEnqueues) > 0 || spec != nil && (len(spec.around) > 0 || slices.ContainsFunc(spec.follows, c.passes))
}

// pass calls write inside of the middleware, if there is some. The enqueues are to be completed by
// write then, which those show that have a before; nil ones are passed over.
func (c *Client) pass(ctx context.Context, specs []*enqueueSpec, write func(context.Context) error) error {
	if !slices.ContainsFunc(specs, c.passes) {
		return write(ctx)
	}
	var all []*store.Job
	of := map[string][]*store.Job{} // by the kind, of those that have middleware of their own
	for _, spec := range unfold(specs) {
		if spec == nil || !c.passes(spec) {
			continue
		}
		before := spec.enqueue.Job
		spec.before = &before
		all = append(all, &spec.enqueue.Job)
		if len(spec.around) == 0 {
			continue
		}
		kind := before.Kind
		if of[kind] == nil { // its first job: the others are there when the functions are called
			inner := write
			write = func(ctx context.Context) error { return around.Enqueue(ctx, of[kind], spec.around, inner) }
		}
		of[kind] = append(of[kind], &spec.enqueue.Job)
	}
	if len(all) == 0 {
		return write(ctx)
	}
	return around.Enqueue(ctx, all, c.aroundEnqueues, write)
}

// passOne is pass for one enqueue, which it completes.
func (c *Client) passOne(ctx context.Context, spec *enqueueSpec, write func(context.Context) error) error {
	if !c.passes(spec) {
		return write(ctx)
	}
	return c.pass(ctx, []*enqueueSpec{spec}, func(ctx context.Context) error {
		if err := c.complete(spec); err != nil {
			return err
		}
		return write(ctx)
	})
}

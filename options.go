package holdfast

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

// EnqueueOption says how a job is to be run. Options of NewKind hold for all jobs of the kind; those of an enqueue come
// after them and win.
type EnqueueOption interface {
	enqueue(*enqueueSpec) error
}

// HandleOption says how a handler runs its jobs. What a job itself says wins.
type HandleOption interface {
	handle(*engine.Handler) error
}

// StepOption says how a step of a durable function is tried.
type StepOption interface {
	step(*engine.StepPolicy) error
}

// JobOption is all three: given to an enqueue it is written into the job, given to Handle it holds for jobs that do not say, given to
// Step it holds for the step.
type JobOption interface {
	EnqueueOption
	HandleOption
	StepOption
}

// enqueueSpec is an enqueue in the making.
type enqueueSpec struct {
	enqueue store.Enqueue
	unique  *uniqueSpec
}

type enqueueOption func(*enqueueSpec) error

func (f enqueueOption) enqueue(s *enqueueSpec) error { return f(s) }

type jobOption struct {
	onEnqueue func(*enqueueSpec) error
	onHandle  func(*engine.Handler) error
	onStep    func(*engine.StepPolicy) error
}

func (o jobOption) enqueue(s *enqueueSpec) error { return o.onEnqueue(s) }

func (o jobOption) handle(h *engine.Handler) error { return o.onHandle(h) }

func (o jobOption) step(p *engine.StepPolicy) error { return o.onStep(p) }

// Queue puts the job into a queue. Default: "default".
func Queue(name string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Queue = name
		return checkName("queue", name)
	})
}

// Priority is 1 (most urgent) to 4. Default: 2. A job that waits counts as one more urgent after each minute (see WithAging), so
// that none starves.
func Priority(p int) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Priority = p
		if p < 1 || p > 4 {
			return invalid("priority", "%d is not between 1 (most urgent) and 4", p)
		}
		return nil
	})
}

// RunAt lets the job run at a time, or as soon as possible if that has passed.
func RunAt(t time.Time) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.RunAt, s.enqueue.Delay = t, 0
		return nil
	})
}

// In lets the job run after a delay.
func In(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.RunAt, s.enqueue.Delay = time.Time{}, max(d, 0)
		return nil
	})
}

// MaxAttempts is how often the job is tried, 1 to 1000. Default: 25. Snoozes do not count; attempts
// that died with their node do, unless they added to what the job remembers. Of a step it is how
// often its function is called before its failure is remembered. Default: once, or 25 times if the
// step has a Backoff or a RetryIf.
func MaxAttempts(n int) JobOption {
	check := func() error {
		if n < 1 || n > 1000 {
			return invalid("max attempts", "%d is not between 1 and 1000", n)
		}
		return nil
	}
	return jobOption{
		func(s *enqueueSpec) error { s.enqueue.Job.MaxAttempts = n; return check() },
		func(h *engine.Handler) error { h.MaxAttempts = n; return check() },
		func(p *engine.StepPolicy) error { p.Attempts = n; return check() },
	}
}

// Timeout is how long one attempt may take. Then its context ends with ErrTimeout. Default: no limit.
func Timeout(d time.Duration) JobOption {
	check := func() error {
		if d <= 0 {
			return invalid("timeout", "%v is not positive", d)
		}
		return nil
	}
	return jobOption{
		func(s *enqueueSpec) error { s.enqueue.Job.Options.Timeout = d; return check() },
		func(h *engine.Handler) error { h.Timeout = d; return check() },
		func(p *engine.StepPolicy) error { p.Timeout = d; return check() },
	}
}

// Deadline is when the whole job must be done, retries and waits included. After it no attempt begins, a running one ends with
// ErrTimeout, and the job fails with reason deadline. Default: none.
func Deadline(t time.Time) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Options.Deadline = t.UTC().Truncate(time.Microsecond)
		return nil
	})
}

// Backoff makes the wait after a failed attempt exponential: base, 2*base, 4*base …, at most cap,
// and up to a quarter of it more by chance. Default: 1 s, at most an hour. A step with a Backoff
// and no MaxAttempts is tried 25 times, like a job.
func Backoff(base, limit time.Duration) JobOption {
	b := store.Backoff{Base: base, Cap: limit, Jitter: store.DefaultBackoff.Jitter}
	check := func() error {
		if base <= 0 || limit < base {
			return invalid("backoff", "base %v and cap %v: both must be positive, and the cap not below the base", base, limit)
		}
		return nil
	}
	return jobOption{
		func(s *enqueueSpec) error { s.enqueue.Job.Options.Backoff = b; return check() },
		func(h *engine.Handler) error { h.Backoff, h.BackoffFunc = b, nil; return check() },
		func(p *engine.StepPolicy) error { p.Backoff = b; return check() },
	}
}

// stepOption is an option of steps alone.
type stepOption func(*engine.StepPolicy) error

func (f stepOption) step(p *engine.StepPolicy) error { return f(p) }

// RetryIf lets a step be tried again only after errors for which f is true: 25 times at the most,
// or as MaxAttempts says. An error of Fail ends the attempts, and one of RetryAfter has the step
// tried again, without f being asked.
func RetryIf(f func(error) bool) StepOption {
	return stepOption(func(p *engine.StepPolicy) error {
		if f == nil {
			return invalid("RetryIf", "the function must not be nil")
		}
		p.Retry = f
		return nil
	})
}

// Version names the version of a handler's code. Durable runs that were parked by it come back only to nodes whose
// handler has the same version, or says that it takes that one over. Runs that have not been parked yet, and plain
// jobs, go to any node.
func Version(v string) HandleOption {
	return handleOption(func(h *engine.Handler) error {
		h.Version, h.Pinned = v, true
		return checkName("version", v)
	})
}

// TakeOver lets a handler run what was begun by other versions of it: their runs move to it.
func TakeOver(versions ...string) HandleOption {
	return handleOption(func(h *engine.Handler) error {
		h.Accepts = append(h.Accepts, versions...)
		for _, v := range versions {
			if err := checkName("version", v); err != nil {
				return err
			}
		}
		return nil
	})
}

// handleOption is an option of handlers alone.
type handleOption func(*engine.Handler) error

func (f handleOption) handle(h *engine.Handler) error { return f(h) }

// BackoffFunc replaces the backoff of a handler: f returns the wait after the given attempt, 1 being the first. A job enqueued
// with Backoff keeps its own. f is also called when a node starts, for each attempt but the last one, fifty at the most: jobs of a
// node that died are retried by others, who need not have the handler, after the waits that it returned then. Where f panics, the
// last of these waits that it did return holds.
func BackoffFunc(f func(attempt int) time.Duration) HandleOption {
	return handleOption(func(h *engine.Handler) error {
		if f == nil {
			return invalid("BackoffFunc", "the function must not be nil")
		}
		h.BackoffFunc = f
		return nil
	})
}

// Tags are labels to find jobs by: at most 20, each at most 200 bytes.
func Tags(tags ...string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Tags = tags
		if len(tags) > maxTags {
			return invalid("tags", "%d exceed the limit of %d", len(tags), maxTags)
		}
		for _, tag := range tags {
			if err := checkName("tag", tag); err != nil {
				return err
			}
		}
		return nil
	})
}

// Metadata is a JSON object kept with the job, at most 64 KiB: a struct or map that marshals to one, or a json.RawMessage.
func Metadata(v any) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		data, err := encode(v)
		if err != nil {
			return invalid("metadata", "%v", err)
		}
		if err := checkObject("metadata", data, maxMetadata); err != nil {
			return err
		}
		s.enqueue.Job.Metadata = data
		return nil
	})
}

// OrderingKey makes the jobs of a queue that share the key run one at a time, in the order of priority, run time and enqueue. A job that
// is to be retried or snoozed keeps its turn until it has finished.
func OrderingKey(key string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.OrderingKey = key
		return checkName("ordering key", key)
	})
}

// InNamespace puts the job into another namespace than the client's.
func InNamespace(name string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Namespace = name
		return checkName("namespace", name)
	})
}

// WithID gives the job an id, a UUIDv7 from NewID, so that an enqueue whose answer was lost can be repeated: the second one finds
// the first and changes nothing.
func WithID(id ID) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.ID = id
		return checkID(id)
	})
}

func checkID(id ID) error {
	if id.Version() != 7 {
		return invalid("id", "%s is not a UUIDv7; make ids with NewID", id)
	}
	return nil
}

func invalid(what, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrInvalid, what, fmt.Sprintf(format, args...))
}

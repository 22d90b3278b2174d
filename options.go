package holdfast

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// EnqueueOption says how to run a job. Options of NewKind apply to all jobs of the kind; options of
// an enqueue override them.
type EnqueueOption interface {
	enqueue(*enqueueSpec) error
}

// HandleOption says how a handler runs its jobs. Options of an enqueue override it, and so does
// what a person has set of the queue (see Client.SetQueue); it overrides options of the kind.
type HandleOption interface {
	handle(*handlerSpec) error
}

// handlerSpec collects the options of a handler.
type handlerSpec struct {
	engine.Handler

	around []Middleware
}

// StepOption sets the retries of a step of a durable function.
type StepOption interface {
	step(*replay.StepPolicy) error
}

// JobOption is all three. In an enqueue it is stored with the job, in Handle it applies to jobs
// that do not set it, and in Step it applies to the step.
type JobOption interface {
	EnqueueOption
	HandleOption
	StepOption
}

// enqueueSpec collects the options of an enqueue.
type enqueueSpec struct {
	enqueue store.Enqueue
	unique  *Unique
	around  []enqueueMiddleware // of the kind
	before  *store.Job          // as it was given to middleware; nil: it was not
	wanted  []wantedFollowUp
	follows []*enqueueSpec             // the follow-ups, whose enqueues are among the FollowUps of this one
	fairOf  func(job *store.Job) error // gives the job its fair key; nil: it has it, if any
}

type enqueueOption func(*enqueueSpec) error

func (f enqueueOption) enqueue(s *enqueueSpec) error { return f(s) }

// Options makes one option of several, so that they can be named and shared. They apply in the
// order given, after those before them and before those after them.
func Options(opts ...EnqueueOption) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error { return s.apply(opts) })
}

// apply applies options, up to the first that is wrong.
func (s *enqueueSpec) apply(opts []EnqueueOption) error {
	for _, opt := range opts {
		if opt == nil {
			return errNoOption
		}
		if err := opt.enqueue(s); err != nil {
			return err
		}
	}
	return nil
}

// ofKind notes that what is set so far was said by the kind.
func (s *enqueueSpec) ofKind() {
	job := &s.enqueue.Job
	o := &job.Options
	o.OfKind = store.AttemptSettings{MaxAttempts: job.MaxAttempts, Backoff: o.Backoff, Timeout: o.Timeout, Heartbeat: o.Heartbeat}.Which()
}

// own returns the job, for which the enqueue says something itself, whatever its kind has said.
func (s *enqueueSpec) own(of store.Setting) *store.Job {
	s.enqueue.Job.Options.OfKind &^= of
	return &s.enqueue.Job
}

type jobOption struct {
	onEnqueue func(*enqueueSpec) error
	onHandle  func(*handlerSpec) error
	onStep    func(*replay.StepPolicy) error
}

func (o jobOption) enqueue(s *enqueueSpec) error { return o.onEnqueue(s) }

func (o jobOption) handle(h *handlerSpec) error { return o.onHandle(h) }

func (o jobOption) step(p *replay.StepPolicy) error { return o.onStep(p) }

// Queue puts the job into a queue. Default: "default". Names of queues, as those of kinds, steps
// and signals, have 1 to 200 bytes of UTF-8, without control characters.
func Queue(name string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Queue = name
		if err := checkName("queue", name); err != nil {
			return err
		}
		return store.CheckQueueName(name)
	})
}

// Priority is 1 (most urgent) to 4. Default: 2. A waiting job gains one level each minute (see
// WithAging), so none starves.
func Priority(p int) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Priority = p
		return valid.Priority(p)
	})
}

// RunAt sets the time at which the job may start. A time in the past means as soon as possible. Of
// RunAt and Delay the last one counts.
func RunAt(t time.Time) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.RunAt, s.enqueue.Delay = t, 0
		return nil
	})
}

// Delay delays the start of the job. Nothing, or less, means as soon as possible.
func Delay(d time.Duration) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.RunAt, s.enqueue.Delay = time.Time{}, max(d, 0)
		return nil
	})
}

// MaxAttempts sets how many attempts the job has, 1 to 1000. Default: 25. Snoozes do not count.
// Attempts whose node died count, unless they added to the journal. For a step it sets how many
// times its function is called before its failure is recorded. Default: once, or 25 times if the
// step has a Backoff or a RetryIf.
func MaxAttempts(n int) JobOption {
	check := func() error { return valid.Attempts(n) }
	return jobOption{
		func(s *enqueueSpec) error { s.own(store.SettingMaxAttempts).MaxAttempts = n; return check() },
		func(h *handlerSpec) error { h.MaxAttempts = n; return check() },
		func(p *replay.StepPolicy) error { p.Attempts = n; return check() },
	}
}

// Timeout limits one attempt. When it is over, the context of the attempt ends with ErrTimeout.
// Default: no limit.
func Timeout(d time.Duration) JobOption {
	check := func() error { return checkPositive("timeout", d) }
	return jobOption{
		func(s *enqueueSpec) error { s.own(store.SettingTimeout).Options.Timeout = d; return check() },
		func(h *handlerSpec) error { h.Timeout = d; return check() },
		func(p *replay.StepPolicy) error { p.Timeout = d; return check() },
	}
}

// HeartbeatTimeout limits how long an attempt may go without progress. When it is over, the context
// of the attempt ends with ErrHeartbeat, within a second, and the attempt fails with reason
// heartbeat; it is retried as after any failure. Progress is Run.Heartbeat, Progress,
// SaveCheckpoint, and each operation of a durable function that begins or ends. While the run is
// parked, or waits for the database, the time stands still.
//
// For a step it limits its function, which reports progress by the first three. The attempt of the
// step fails, with StepError.TimedOut, and is retried as its options say.
//
// Default: no limit. A duration that is not positive is an ErrInvalid.
func HeartbeatTimeout(d time.Duration) JobOption {
	check := func() error { return checkPositive("heartbeat timeout", d) }
	return jobOption{
		func(s *enqueueSpec) error { s.own(store.SettingHeartbeat).Options.Heartbeat = d; return check() },
		func(h *handlerSpec) error { h.Heartbeat = d; return check() },
		func(p *replay.StepPolicy) error { p.Heartbeat = d; return check() },
	}
}

// Deadline is the time by which the whole job must be done, retries and waits included. After it no
// attempt begins, a running one ends with ErrTimeout, and the job fails with reason deadline. One
// that waits fails when it would begin: a pause, a limit or an ordering key may keep it until then.
// Default, and for a zero time: none. A deadline that is not after the run time is an ErrInvalid.
func Deadline(t time.Time) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Options.Deadline = t.UTC().Truncate(time.Microsecond)
		return nil
	})
}

// Backoff makes the wait after a failed attempt exponential: base, 2*base, 4*base …, at most limit,
// plus up to a quarter at random. Default: 1 s, at most an hour. A step with a Backoff and no
// MaxAttempts has 25 attempts, like a job.
func Backoff(base, limit time.Duration) JobOption {
	b := store.Backoff{Base: base, Cap: limit, Jitter: store.DefaultBackoff.Jitter}
	check := func() error {
		if base <= 0 || limit < base {
			return invalid("backoff", "base %v and limit %v: both must be positive, and the limit not below the base", base, limit)
		}
		return nil
	}
	return jobOption{
		func(s *enqueueSpec) error { s.own(store.SettingBackoff).Options.Backoff = b; return check() },
		func(h *handlerSpec) error { h.Backoff, h.BackoffFunc = b, nil; return check() },
		func(p *replay.StepPolicy) error { p.Backoff = b; return check() },
	}
}

// stepOption is an option only for steps.
type stepOption func(*replay.StepPolicy) error

func (f stepOption) step(p *replay.StepPolicy) error { return f(p) }

// RetryIf retries a step only after errors for which f returns true, with at most 25 attempts, or
// as many as MaxAttempts says. f is not asked about two errors: one from Fail ends the attempts,
// and one from RetryAfter retries the step.
func RetryIf(f func(error) bool) StepOption {
	return stepOption(func(p *replay.StepPolicy) error {
		if f == nil {
			return noFunction("RetryIf")
		}
		p.Retry = f
		return nil
	})
}

// Version names the version of a handler's code. Durable runs parked by it come back only to nodes
// whose handler has the same version, or takes it over: Version("3", "2", "1") continues the runs
// of versions 2 and 1, which move to version 3. Runs that have not been parked yet, and plain jobs,
// go to any node.
func Version(v string, takesOver ...string) HandleOption {
	return handleOption(func(h *handlerSpec) error {
		h.Version, h.Pinned, h.Accepts = v, true, takesOver
		for _, v := range append([]string{v}, takesOver...) {
			if err := checkName("version", v); err != nil {
				return err
			}
		}
		return nil
	})
}

// handleOption is an option only for handlers.
type handleOption func(*handlerSpec) error

func (f handleOption) handle(h *handlerSpec) error { return f(h) }

// BackoffFunc replaces the backoff of a handler: f returns the wait after the given attempt; the
// first attempt is 1. A job enqueued with Backoff keeps its own. When a node starts, it also calls
// f for each attempt but the last, at most fifty times. If the node dies, other nodes, which need
// not have the handler, retry its jobs after these waits. If f panics, the last of these waits that
// it returned applies.
func BackoffFunc(f func(attempt int) time.Duration) HandleOption {
	return handleOption(func(h *handlerSpec) error {
		if f == nil {
			return noFunction("BackoffFunc")
		}
		h.BackoffFunc = f
		return nil
	})
}

// Tags sets tags to find the job by: at most 20, each of 1 to 200 bytes. They replace those of an
// earlier option, such as one of the kind.
func Tags(tags ...string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.Tags = tags
		return valid.Tags(tags)
	})
}

// Metadata is a JSON object kept with the job, at most 64 KiB: a struct or map that marshals to an
// object, or a json.RawMessage. It replaces that of an earlier option.
func Metadata(v any) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) (err error) {
		s.enqueue.Job.Metadata, err = metadataOf(v)
		return err
	})
}

// metadataOf encodes and checks metadata.
func metadataOf(v any) ([]byte, error) {
	data, err := encode("metadata", v)
	if err != nil {
		return nil, err
	}
	return data, checkObject("metadata", data, valid.MaxMetadata)
}

// OrderingKey makes the jobs of a queue that share the key, of 1 to 200 bytes, run one at a time,
// in the order of priority, run time and enqueue. A job that waits for a retry or is snoozed keeps
// its turn until it has finished. Default: none.
func OrderingKey(key string) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.OrderingKey = key
		return checkName("ordering key", key)
	})
}

// JobID gives the job an id, a UUIDv7 from NewID. It makes an enqueue whose answer was lost safe
// to repeat: the second one finds the first and changes nothing.
func JobID(id ID) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.ID = id
		return checkID(id)
	})
}

func checkID(id ID) error {
	if id.Version() != 7 {
		return invalid("id", "%s is not a UUIDv7; leave it out to have one made", id)
	}
	return nil
}

package schedule

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Schedule is a schedule as code declares it. It can be a package variable: what is wrong with it
// is told when it is used.
type Schedule struct {
	name string
	opts []Option
}

// New declares a schedule. job is what it enqueues: Kind.Item makes one. The options that name a
// single job are refused: JobID, Key, Unique, RunAt, Delay and Deadline. Middleware around enqueues
// does not see its jobs, because any node may fire it.
func New(name string, times Times, job holdfast.BatchItem, opts ...Option) Schedule {
	return Schedule{name: name, opts: append([]Option{When(times), Job(job)}, opts...)}
}

// Name returns the schedule's name.
func (s Schedule) Name() string { return s.name }

// Option says something of a schedule.
type Option func(*draft) error

// draft is a schedule in the making.
type draft struct {
	store.Schedule

	client *holdfast.Client
}

func (d *draft) apply(opts []Option) error {
	for _, opt := range opts {
		if opt == nil {
			return fmt.Errorf("%w: schedule %q: an option is nil", store.ErrInvalid, d.Name)
		}
		if err := opt(d); err != nil {
			return err
		}
	}
	return nil
}

// When sets the times. A schedule whose times are changed goes on from now.
func When(t Times) Option {
	return func(d *draft) (err error) {
		d.Times, err = t.text(d.Name)
		return err
	}
}

// Job sets what the schedule enqueues.
func Job(item holdfast.BatchItem) Option {
	return func(d *draft) error {
		job, err := access.Job(d.client, item)
		if err != nil {
			return fmt.Errorf("schedule %q: %w", d.Name, err)
		}
		d.setJob(job)
		return nil
	}
}

// EditJob changes the job of a schedule: its args, unless they are nil, and what the options say;
// the rest stays. It is for Update, of a job that a Job has set.
func EditJob(args json.RawMessage, opts ...holdfast.EnqueueOption) Option {
	return func(d *draft) error {
		job := d.Job.Job(d.Namespace, store.ID{}, time.Time{})
		if err := access.EditJob(d.client, &job, args, opts); err != nil {
			return fmt.Errorf("schedule %q: %w", d.Name, err)
		}
		d.setJob(&job)
		return nil
	}
}

func (d *draft) setJob(job *store.Job) {
	d.Job = store.ScheduledJob{
		Kind: job.Kind, Queue: job.Queue, Priority: job.Priority, Args: job.Args, Codec: job.Codec, MaxAttempts: job.MaxAttempts,
		Options: job.Options, Tags: job.Tags, Metadata: job.Metadata, OrderingKey: job.OrderingKey, Attributes: job.Attributes,
	}
}

// The overlap policies: what happens at a nominal time if the job of an earlier one has not
// finished. One that waits for a retry, or is parked, has not finished.
const (
	Skip           = store.OverlapSkip      // the time is skipped
	Allow          = store.OverlapAllow     // both run
	BufferOne      = store.OverlapBufferOne // one job waits for its turn, and further times are skipped
	BufferAll      = store.OverlapBufferAll // all jobs wait for their turn
	CancelOther    = store.OverlapCancel    // the earlier job is asked to stop, and the new one waits until it has
	TerminateOther = store.OverlapTerminate // the earlier job is ended at once, and the new one takes its place
)

// Overlap sets the overlap policy. Default: Skip.
func Overlap(policy store.Overlap) Option {
	return func(d *draft) error {
		d.Overlap = policy
		return nil
	}
}

// Coalesce lets the last one of the times that were missed fire, once for all of them, unless one
// that is not missed fires anyway. It is the default.
func Coalesce() Option { return missed(store.MissedCoalesce, 0) }

// CatchUp lets all times fire that were missed and are not further back than the window.
func CatchUp(window time.Duration) Option { return missed(store.MissedCatchUp, window) }

// SkipMissed lets times that were missed pass.
func SkipMissed() Option { return missed(store.MissedSkip, 0) }

func missed(policy store.Missed, window time.Duration) Option {
	return func(d *draft) error {
		d.Missed, d.Window = policy, window
		return nil
	}
}

// Jitter enqueues each job up to this long after its nominal time: always the same for the same
// schedule and time, and spread evenly over different ones. It must be less than the time between
// two fires. Default: none.
func Jitter(most time.Duration) Option {
	return func(d *draft) error {
		d.Jitter = most
		return nil
	}
}

// Start leaves out all times before this one. Default, and the zero time: none.
func Start(t time.Time) Option {
	return func(d *draft) error {
		d.Start = t
		return nil
	}
}

// End leaves out this time and all later ones. Default, and the zero time: none.
func End(t time.Time) Option {
	return func(d *draft) error {
		d.End = t
		return nil
	}
}

// Fires is how many times the schedule may fire yet, at least 1; negative, the default, is without
// end. A time that is skipped because of the overlap policy may count. A Sync sets it of a schedule
// that it adds, and changes nothing by it of one that is there: Update does.
func Fires(n int64) Option {
	return func(d *draft) error {
		if n == 0 {
			return fmt.Errorf("%w: schedule %q: it may fire 0 times; pause or delete it instead", store.ErrInvalid, d.Name)
		}
		d.Left = max(n, -1)
		return nil
	}
}

// Paused lets a schedule begin paused, with a note for people: Resume lets it fire. It is for New;
// a Sync changes nothing by it of a schedule that is there.
func Paused(note string) Option {
	return func(d *draft) error {
		d.pause(note)
		return nil
	}
}

// pause pauses the schedule, or replaces the note of one that is paused.
func (d *draft) pause(note string) {
	e, actor := access.Engine(d.client)
	if d.PausedAt.IsZero() {
		d.PausedAt = e.Store.Now()
	}
	d.PausedBy, d.Note = actor, note
}

// draft makes the schedule that a declaration describes, for a client.
func (s Schedule) draft(c *holdfast.Client) (*draft, error) {
	d := &draft{client: c}
	d.Namespace, d.Name, d.Left = c.Namespace(), s.name, -1
	if err := valid.Name("name of a schedule", s.name); err != nil {
		return nil, err
	}
	return d, d.apply(s.opts)
}

// begin checks the draft, and sets where it goes on from. before is what it was, or nil.
func (d *draft) begin(before *store.Schedule, now time.Time) error {
	if err := firing.Check(&d.Schedule, now); err != nil {
		return err
	}
	return firing.Begin(&d.Schedule, before, now)
}

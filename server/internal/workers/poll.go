package workers

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// maxWait is how long a poll waits at the most.
	maxWait = time.Minute
	// maxWant is how many jobs one poll gets at the most.
	maxWant = claimRecords * store.MaxClaimSlots
	// beatKept is for how long polls do not beat again.
	beatKept = time.Second
	// idlePoll is how often polls look by themselves where there are wake-ups, and blindPoll where
	// there are none.
	idlePoll  = 10 * time.Second
	blindPoll = 1500 * time.Millisecond
)

// The numbers of a worker's claims, and of its calls for slots of limits, follow from those of its
// polls, so that each server makes the same or later ones: poll N has those from N<<pollBits on. A
// poll may have been sent twice, or its worker come from another server, so that two servers may
// work for it: it has later ones then (repeatBit), by its time in tenths of a second, so that those
// of both differ.
const (
	pollBits   = 30
	repeatBit  = 1 << 29
	tenthBits  = 19
	roundBits  = 8 // claims of a poll, each with claimRecords numbers
	recordBits = 2

	claimRecords = 1 << recordBits
)

// WorkerPolls is a poll.
type WorkerPolls struct {
	Want   int   `json:"want" minimum:"0" maximum:"240" doc:"How many jobs, at most: no more than the worker has free slots"`
	Seq    int64 `json:"seq" minimum:"1" maximum:"4294967296" doc:"The number of the poll, 1 being the first; each is used once, but to repeat"`
	Repeat bool  `json:"repeat,omitempty" doc:"This poll was sent before, and its answer was lost"`
}

type pollIn struct {
	OfWorker

	Wait string `query:"wait" doc:"How long to wait for jobs, up to 1m; without it, not at all" example:"30s"`
	Body WorkerPolls
}

// WorkerPoll is the answer to a poll.
type WorkerPoll struct {
	Jobs []WorkerJob `json:"jobs" nullable:"false" doc:"In the order in which they should start"`
	Mode string      `json:"mode" enum:"running,quiet,draining" doc:"What people want of the worker: quiet: it gets no jobs; draining: it gets none, and is to leave once it has ended what it runs"`
}

func (s *service) poll(ctx context.Context, c *api.Call, in *pollIn) (*api.Body[WorkerPoll], error) {
	s = s.on(c.Client)
	w, err := s.worker(ctx, c, &in.OfWorker)
	if err != nil {
		return nil, err
	}
	wait, err := api.ParseWait("wait", in.Wait, maxWait)
	switch {
	case err != nil:
		return nil, err
	case c.IsStopping():
		return nil, problem.New(problem.Stopping, "the server is stopping, and claims no more; send the poll to another one").In(time.Second)
	case in.Body.Want > w.Slots:
		return nil, problem.Invalid("/want", "it is more than the slots that the worker has registered with")
	}
	session := s.sessions.of(w.Node)
	mine := &turn{seq: in.Body.Seq, repeat: in.Body.Repeat || c.MayRepeat()}
	own, end, err := session.begin(ctx, mine)
	if err != nil {
		return nil, err
	}
	defer end()
	p := &poll{service: s, worker: w, session: session, want: session.fits(in.Body.Want), seq: in.Body.Seq}
	jobs, err := p.serve(own, wait, mine.repeat)
	if own.Err() != nil && ctx.Err() == nil && len(jobs) == 0 { // whatever was cut off by that
		err = session.overtaken(mine)
	}
	if err != nil {
		return nil, err
	}
	jobs = p.fitting(ctx, jobs)
	answer := WorkerPoll{Mode: session.mode.String(), Jobs: make([]WorkerJob, len(jobs))}
	for i := range jobs {
		if answer.Jobs[i], err = s.viewJob(ctx, w, &jobs[i]); err != nil {
			return nil, err
		}
	}
	if !p.repeats {
		for i := range jobs {
			s.engine.StartedElsewhere(&jobs[i])
		}
	}
	p.answered()
	return &api.Body[WorkerPoll]{Body: answer}, nil
}

// poll is one that is under way.
type poll struct {
	*service

	worker  *worker
	session *session
	want    int
	seq     int64

	repeats bool // what it answers was claimed before

	next, end int64 // the numbers for its claims
	wished    bool  // it may hold slots of fair limits that it does not use yet
	call      int64 // that of its next call for slots of limits
}

// serve returns jobs, or none if the time is over.
func (p *poll) serve(ctx context.Context, wait time.Duration, repeat bool) ([]store.Claimed, error) {
	first := p.seq << pollBits
	sure := !repeat && p.session.clean && p.seq == p.session.last+1 || p.seq == 1 && !repeat && p.session.last == 0
	p.next = first
	if !sure {
		p.next = later(p.seq)
		p.session.clean = false
		held, err := p.beat(ctx, store.HeldParams{From: first, To: first + 1<<pollBits})
		if err != nil {
			return nil, err
		}
		if again, err := p.again(ctx, held); err != nil || len(again) > 0 {
			p.repeats = true
			return again, err
		}
		p.call = p.next
		if err := p.fence(ctx); err != nil {
			return nil, err
		}
	} else if time.Since(p.session.beatAt) > beatKept {
		if _, err := p.beat(ctx, store.HeldParams{}); err != nil {
			return nil, err
		}
	}
	p.call = max(p.call, p.next)
	p.end = p.next + 1<<(roundBits+recordBits)
	jobs, err := p.wait(ctx, wait)
	if p.wished && len(jobs) == 0 && err == nil {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		defer cancel()
		err = p.giveBack(call)
	}
	return jobs, err
}

// later are numbers of a poll for what a server does that does not know which ones another server
// has used: those of this moment.
func later(seq int64) int64 {
	return seq<<pollBits + repeatBit + time.Now().UnixMilli()/100%(1<<tenthBits)<<(roundBits+recordBits)
}

// answered notes that the poll has its answer.
func (p *poll) answered() {
	p.session.last, p.session.clean = p.seq, true
}

// beat beats for the worker, and returns what it holds of what is asked.
func (p *poll) beat(ctx context.Context, asked store.HeldParams) ([]store.Lease, error) {
	beat, err := p.engine.Store.Beat(ctx, store.BeatParams{Node: p.worker.Node, Held: asked})
	if err != nil {
		if errors.Is(err, store.ErrNodeDead) {
			p.sessions.forget(p.worker.Node)
		}
		return nil, err
	}
	p.session.mode, p.session.beatAt = beat.Mode, time.Now()
	return beat.Held, nil
}

// again returns the jobs that the same poll has claimed before, as far as they still run.
func (p *poll) again(ctx context.Context, held []store.Lease) (jobs []store.Claimed, err error) {
	asked := map[int64]bool{}
	for _, l := range held {
		first := l.Claim &^ (claimRecords - 1)
		if asked[first] {
			continue
		}
		asked[first] = true
		more, err := p.engine.Store.Claim(ctx, store.ClaimParams{
			Node: p.worker.Node, Seq: first, Namespace: p.worker.Namespace, Queues: []store.QueueDemand{}, Kinds: p.worker.Kinds,
			Limit: maxWant, Repeat: true,
		})
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, more...)
	}
	return p.admit(ctx, jobs)
}

// wait claims until there is something, or nothing more to wait for.
func (p *poll) wait(ctx context.Context, wait time.Duration) ([]store.Claimed, error) {
	deadline := time.Now().Add(wait)
	mode := p.session.mode
	waiter := p.hub.enter(p.worker)
	defer waiter.leave()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var due time.Time // when there may be something to claim, whatever is heard before; zero: not known
	for look := true; ; {
		if look && p.mayClaim(ctx) {
			waiter.ready()
			jobs, again, err := p.claim(ctx)
			if err != nil {
				return nil, err // what was claimed all the same is found when the poll is repeated
			}
			if len(jobs) > 0 {
				waiter.found(len(jobs) >= p.want)
				return jobs, nil
			}
			if due = (time.Time{}); again > 0 {
				due = time.Now().Add(again)
			}
		}
		left := time.Until(deadline)
		if left <= 0 || p.api.IsStopping() || p.next >= p.end {
			return nil, nil
		}
		timer.Reset(p.pause(left, due))
		next, err := p.rest(ctx, waiter, timer.C, due)
		if err != nil || next.over || len(next.jobs) > 0 {
			return next.jobs, err
		}
		look = next.look
		beat, err := p.beatIfDue(ctx)
		if err != nil {
			return nil, err
		}
		gives := next.gives || beat // of runs that have ended at another server
		if p.session.mode != mode {
			return nil, nil
		}
		if gives && !look && !p.wished {
			if err := p.giveBack(ctx); err != nil {
				return nil, err
			}
		}
	}
}

// beatIfDue beats if the last beat is long ago, and reports whether it has.
func (p *poll) beatIfDue(ctx context.Context) (beat bool, err error) {
	if time.Since(p.session.beatAt) < p.worker.Beat/2 {
		return false, nil
	}
	_, err = p.beat(ctx, store.HeldParams{})
	return true, err
}

// rested is what ended a rest.
type rested struct {
	jobs  []store.Claimed // they have started meanwhile
	look  bool            // there may be something to claim
	gives bool            // there may be slots to give back
	over  bool            // the poll ends
}

// rest waits for a wake-up, or until the time is over, which may be that at which there is
// something to claim. Meanwhile jobs may start.
func (p *poll) rest(ctx context.Context, w *waiter, timer <-chan time.Time, due time.Time) (r rested, err error) {
	if p.mayClaim(ctx) && p.mayStart(p.worker) {
		w.offers(&offer{want: p.want, seq: p.next})
	}
	select {
	case <-ctx.Done():
		r.over = true // who has asked has gone, or has asked again
	case <-p.api.Stopping():
		r.over = true
	case <-w.woken:
		r.look = true
	case <-w.gives:
		r.gives = true
	case <-w.asked:
		p.session.beatAt = time.Time{}
	case <-timer:
		r.look = !due.IsZero() && !time.Now().Before(due) || w.isDue(p.every())
	}
	started, taken, err := w.withdraw(claimTimeout, func(late []store.Claimed) { _ = p.putBack(ctx, late) })
	if taken {
		p.next += claimRecords
		r.look = true
	}
	if err == nil && taken {
		r.jobs, err = p.admit(ctx, started)
	}
	return r, err
}

// mayClaim reports whether the poll may claim now.
func (p *poll) mayClaim(ctx context.Context) bool {
	return p.session.mode == store.NodeRuns && p.want > 0 && p.next < p.end && !p.api.IsStopping() && ctx.Err() == nil
}

// pause is how long the poll waits for a wake-up before it looks whether there is something to do.
func (p *poll) pause(left time.Duration, due time.Time) time.Duration {
	pause := min(left, p.worker.Beat/2, p.every())
	if !due.IsZero() {
		pause = min(pause, time.Until(due))
	}
	return max(pause, time.Millisecond)
}

// numbers are those of the next claim.
func (p *poll) numbers() int64 {
	seq := p.next
	p.next += claimRecords
	return seq
}

// claim claims once. If there is nothing, again is when there may be, beside wake-ups; 0: that is
// not known.
func (p *poll) claim(ctx context.Context) (jobs []store.Claimed, again time.Duration, err error) {
	bound, err := p.limits.of(ctx, p.worker)
	if err != nil {
		return nil, 0, err
	}
	if len(bound) > 0 {
		return p.claimWithin(ctx, bound)
	}
	queues, err := p.queues(ctx)
	if err != nil {
		return nil, 0, err
	}
	jobs, err = p.take(ctx, p.want, queues)
	if err == nil {
		jobs, err = p.admit(ctx, jobs)
	}
	return jobs, 0, err
}

// queues is what to claim of: nil: all.
func (p *poll) queues(ctx context.Context) ([]store.QueueDemand, error) {
	if len(p.worker.Queues) == 0 {
		return nil, nil
	}
	queues := make([]store.QueueDemand, 0, len(p.worker.Queues))
	patterns := false
	for _, q := range p.worker.Queues {
		if _, is := store.QueuePrefix(q); is {
			patterns = true
			continue
		}
		queues = append(queues, store.QueueDemand{Name: q, Limit: p.want})
	}
	if !patterns {
		return queues, nil
	}
	busy, err := p.engine.Store.Busy(ctx, p.worker.Namespace)
	named := map[string]bool{}
	for _, q := range queues {
		named[q.Name] = true
	}
	for _, b := range busy {
		if !named[b.Name] && p.worker.has(b.Name, b.Kind) {
			named[b.Name] = true
			queues = append(queues, store.QueueDemand{Name: b.Name, Limit: p.want})
		}
	}
	return queues, err
}

// take claims jobs, and tells of what is passed over.
func (p *poll) take(ctx context.Context, limit int, queues []store.QueueDemand) ([]store.Claimed, error) {
	var passed store.Passed
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	jobs, err := p.engine.Store.Claim(call, store.ClaimParams{
		Node: p.worker.Node, Seq: p.numbers(), Namespace: p.worker.Namespace, Queues: queues, Kinds: p.worker.Kinds, Limit: limit,
		Aging: p.engine.Settings().Aging, Passed: &passed,
	})
	if errors.Is(err, store.ErrNodeDead) {
		p.sessions.forget(p.worker.Node)
	}
	if !passed.Due.IsZero() {
		p.engine.Tell(store.Wake{Kind: store.WakeDeferred, Due: passed.Due})
	}
	if passed.Jobs > 0 {
		p.engine.Tell(store.Wake{Kind: store.WakeDeferred, Due: p.engine.Store.Now().Add(store.SweepAfter)})
	}
	return jobs, err
}

// admit decides jobs that must not run, and returns the others. If the server dies before that is
// stored the worker has them unlisted, and they are given up.
func (p *poll) admit(ctx context.Context, jobs []store.Claimed) (may []store.Claimed, err error) {
	var ends []*store.Unit
	for i := range jobs {
		if o := p.mayNotRun(p.worker, &jobs[i]); o != nil {
			o.Carry(&jobs[i])
			o.HasChildren = o.Durable
			ends = append(ends, &store.Unit{Outcome: o})
			continue
		}
		may = append(may, jobs[i])
	}
	if len(ends) > 0 {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
		defer cancel()
		_, err = p.engine.Settle(call, ends)
	}
	if len(may) > 0 {
		err = nil // who has some is not to wait for the others
	}
	return may, err
}

// lackingBackoff is how long a job waits whose payloads this server has no key for: longer each
// time.
var lackingBackoff = store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25}

// leftToOthers gives a job back for a while.
func leftToOthers(why string) *store.Outcome {
	return &store.Outcome{State: store.Scheduled, Reason: store.ReasonReleased, Delay: durableBackoff, Error: why}
}

// durableBackoff is how long a job that has a journal waits for a node that can go on with it.
const durableBackoff = 10 * time.Second

// mayNotRun is the outcome of a job that is not handed out; nil: it is. One that has a journal is
// left to who keeps journals: without its steps a worker would do again what was done. One that
// compensates is left to Go nodes. Who keeps its journal sees to a cancel itself.
func (s *service) mayNotRun(w *worker, c *store.Claimed) *store.Outcome {
	now := s.engine.Store.Now()
	switch {
	case c.Durable && w.Journal == 0:
		return leftToOthers("it has a journal, which this worker does not keep: it needs a worker that does, or a node, whose program " +
			"handles the kind " + c.Job.Kind)
	case c.Job.Closing:
		return leftToOthers("it undoes what it has done, which workers of the HTTP API do not: it needs a node whose program handles the kind " +
			c.Job.Kind)
	case c.CancelRequested && !c.Durable:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "cancelled before it started"}
	case usercode.IsLate(&c.Job, now) && !c.CancelRequested:
		return &store.Outcome{
			State: store.Failed, Reason: store.ReasonDeadline,
			Error: "the deadline, " + c.Job.Options.Deadline.Format(time.RFC3339) + ", had passed before the attempt began",
		}
	}
	err := store.SealError(c.Job.Args, c.Job.Codec)
	if err == nil && c.Checkpoint != nil {
		err = store.SealErrorJSON(c.Checkpoint.Value)
	}
	if lacks, is := errors.AsType[*store.MissingKeyError](err); is {
		return heldFor(lacks, c.Lease.Number, c.Job.Attempt, now)
	}
	return nil
}

// heldFor is the outcome of a job that waits for a server which has a key.
func heldFor(lacks *store.MissingKeyError, lease int64, attempt int, now time.Time) *store.Outcome {
	before := max(int(lease)-attempt, 0)
	return &store.Outcome{
		State: store.Waiting, Reason: store.ReasonCodecKey, Error: lacks.Error(),
		Wait: &store.Wait{Until: now.Add(lackingBackoff.Delay(min(before, 30) + 1))},
	}
}

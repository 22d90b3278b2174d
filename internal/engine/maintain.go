package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/pulse"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// Duties says which maintenance is to be done. Each is safe beside that of the leader.
type Duties struct {
	Rescue    bool // the jobs of dead nodes
	Promote   bool // what is due
	Schedules bool
	Settle    bool // what cancels, and the ends of jobs, have left to do
	Retain    bool // what is older than its retention
}

// Maintained is what was done.
type Maintained struct {
	Node      int64 // as which the others were watched, or lost runs were counted; 0: there was no need
	Led       bool  // no other node did the maintenance
	Died      int64 // nodes that were declared dead
	Rescued   int64 // jobs that were taken from dead nodes
	Promoted  int64 // jobs that became available
	Fired     int64 // decisions about schedules: fires, and times that were passed over
	Cancelled int64 // requests to cancel that were applied
	Closed    int64 // jobs that were ended, or asked to end, because their parent or predecessor had
	Called    int64 // batches that were called back
	Removed   int64 // jobs that were older than their retention
	// Watched: it is known of each node whether it is dead. If not, the budget was too small to
	// tell, for as many nodes as Doubtful says.
	Watched  bool
	Doubtful int
	More     bool // something was left to do when the time was over
}

// maintaining is a maintenance that goes on.
type maintaining struct {
	Maintained

	mu  sync.Mutex
	did bool  // a duty has done something
	cut error // of the first one that the end of the time has cut off

	looked bool // at which nodes there are; what follows waits, for what they say
}

// note notes how a duty has ended: after so many things that it did, and cut off, or not.
func (m *maintaining) note(name string, did int64, cut error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.did = m.did || did > 0
	if cut != nil && m.cut == nil {
		m.cut = fmt.Errorf("duty %s: %w", name, cut)
	}
}

// idle is the error of a maintenance that has done nothing at all though it had something to do,
// because the database did not answer, or was locked, until its time was over. Nil: it has.
func (m *maintaining) idle(budget time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.did || m.cut == nil {
		return nil
	}
	return fmt.Errorf("%w: nothing could be done within %v, as the database is locked, does not answer or needs longer: %w",
		store.ErrUnavailable, budget, m.cut)
}

// Maintain does duties until there is nothing more to do now, or until the budget is used up. The
// end of ctx ends it early, which is no error, either. It needs no node, unless others have to be
// watched: then it joins as one that claims nothing, and leaves at the end.
func (r *Runner) Maintain(ctx context.Context, budget time.Duration, d Duties) (Maintained, error) {
	n, err := r.enter(func(*Handler) bool { return false })
	if err != nil {
		return Maintained{}, err
	}
	var m maintaining
	defer r.engine.news.Listen()()
	within, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	err = n.maintain(within, d, &m)
	over := within.Err() != nil
	if over && ctx.Err() == nil {
		err = errors.Join(err, m.idle(budget))
	}
	if m.Rescued > 0 {
		n.lostFacts(ctx)
	}
	m.More = m.More || over
	m.Node, m.Died = n.id.Load(), n.died.Load()
	close(n.endIdle)
	if n.id.Load() == 0 {
		r.setNode(nil)
		return m.Maintained, err
	}
	ctx = context.WithoutCancel(ctx)
	return m.Maintained, errors.Join(err, n.leave(ctx, Stop{Hard: ctx}, !over, nil))
}

// maintain does the duties, while it watches the other nodes. What a rescue has left is done after
// it: jobs that are due again, and what comes after those that have failed.
func (n *node) maintain(ctx context.Context, d Duties, m *maintaining) error {
	var watching sync.WaitGroup
	var watched error
	if d.Rescue {
		watching.Go(func() { watched = n.watch(ctx, m) })
	}
	err := n.round(ctx, d, m)
	watching.Wait()
	if m.Rescued > 0 {
		err = errors.Join(err, n.round(ctx, Duties{Promote: d.Promote, Settle: d.Settle}, m))
	}
	if d.Rescue && (watched == nil || ctx.Err() != nil) {
		cut := watched
		if m.looked {
			cut = nil // its time was over while it watched
		}
		m.note(duty.Rescue, m.Rescued, cut)
	}
	if ctx.Err() != nil {
		watched = nil // it was cut off
	}
	return errors.Join(err, watched)
}

// round does the duties but the rescue, each of them also if another one fails.
func (n *node) round(ctx context.Context, d Duties, m *maintaining) error {
	var errs []error
	for _, task := range []struct {
		wanted bool
		name   string
		do     func(context.Context) error
		did    *int64
	}{
		{d.Promote, duty.Promote, n.promote.Once, &m.Promoted},
		{d.Schedules, duty.Schedules, n.schedule.Once, &m.Fired},
		{d.Settle, duty.Cancels, n.sweep, &m.Cancelled},
		{d.Settle, duty.Children, n.closeChildren, &m.Closed},
		{d.Settle, duty.Batches, n.countBatches, &m.Called},
		{d.Retain, duty.Retain, n.retain, &m.Removed},
		{d.Retain, duty.Hours, n.mergeFacts, new(int64)},
	} {
		if !task.wanted || ctx.Err() != nil {
			m.More = m.More || task.wanted
			continue
		}
		counting, did := observer.Count(ctx)
		err := task.do(counting)
		*task.did += did.Load()
		switch {
		case err == nil:
			m.note(task.name, did.Load(), nil)
		case ctx.Err() != nil:
			m.note(task.name, did.Load(), err)
		default:
			errs = append(errs, fmt.Errorf("duty %s: %w", task.name, err)) // and the others are done
		}
	}
	return errors.Join(errs...)
}

// watch rescues the jobs of nodes that are known to be dead, and, if no other node leads, whose
// task that is, of those that turn out to be, until it is known of each node whether it lives.
func (n *node) watch(ctx context.Context, m *maintaining) error {
	ctx, rescued := observer.Count(ctx)
	defer func() { m.Rescued = rescued.Load() }()
	if err := n.rescue(ctx); err != nil {
		return fmt.Errorf("duty %s: %w", duty.Rescue, err)
	}
	living, err := pulse.Look(ctx, n.store)
	m.looked = err == nil
	if err == nil && living.Nodes > 0 {
		m.Doubtful = living.Nodes
		var led bool
		if led, err = living.AreLed(ctx, n.store, n.cfg.Beat/20); err == nil && !led {
			return n.watchAll(ctx, living.Silence, m)
		}
		m.Led = false
	} else {
		m.Led = err == nil
	}
	if err != nil {
		return fmt.Errorf("duty %s: looking at the nodes: %w", duty.Rescue, err)
	}
	m.Watched, m.Doubtful = ctx.Err() == nil, 0
	return nil
}

// watchAll leads until it is known of each node whether it is dead.
func (n *node) watchAll(ctx context.Context, silence time.Duration, m *maintaining) error {
	if silence > 0 { // the fleet may have been given another time than this program
		n.cfg.Beat, n.cfg.DeadAfter = min(n.cfg.Beat, silence/4), silence
		n.heart = newHeart(n)
		n.heart.pulses = pulse.NewDetector(silence/4, silence)
	}
	if err := n.join(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if n.heart.beat(ctx) {
			if err := n.rescue(ctx); err != nil {
				return fmt.Errorf("duty %s: %w", duty.Rescue, err)
			}
			m.Led = n.leader.Load()
			m.Doubtful = n.heart.pulses.Doubtful()
			if m.Watched = !m.Led || m.Doubtful == 0; m.Watched {
				return nil
			}
		}
		supervise.Sleep(ctx, n.cfg.Beat)
	}
	return nil
}

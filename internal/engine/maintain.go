package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/pulse"
	"github.com/holdfastdev/holdfast/internal/supervise"
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

// Maintain does duties until there is nothing more to do now, or until the budget is used up. The
// end of ctx ends it early, which is no error, either. It needs no node, unless others have to be
// watched: then it joins as one that claims nothing, and leaves at the end.
func (r *Runner) Maintain(ctx context.Context, budget time.Duration, d Duties) (m Maintained, err error) {
	n, err := r.enter(func(*Handler) bool { return false })
	if err != nil {
		return m, err
	}
	defer r.engine.news.Listen()()
	within, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	err = n.maintain(within, d, &m)
	over := within.Err() != nil
	if m.Rescued > 0 {
		n.lostFacts(ctx)
	}
	m.More = m.More || over
	m.Node, m.Died = n.id.Load(), n.died.Load()
	close(n.endIdle)
	if n.id.Load() == 0 {
		r.setNode(nil)
		return m, err
	}
	ctx = context.WithoutCancel(ctx)
	return m, errors.Join(err, n.leave(ctx, Stop{Hard: ctx}, !over, nil))
}

// maintain does the duties, while it watches the other nodes. What a rescue has left is done after
// it: jobs that are due again, and what comes after those that have failed.
func (n *node) maintain(ctx context.Context, d Duties, m *Maintained) error {
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
	if ctx.Err() != nil {
		watched = nil // it was cut off
	}
	return errors.Join(err, watched)
}

// round does the duties but the rescue, each of them also if another one fails.
func (n *node) round(ctx context.Context, d Duties, m *Maintained) error {
	var errs []error
	for _, duty := range []struct {
		wanted bool
		name   string
		do     func(context.Context) error
		did    *int64
	}{
		{d.Promote, "promoting what is due", n.promote.Once, &m.Promoted},
		{d.Schedules, "firing schedules", n.schedule.Once, &m.Fired},
		{d.Settle, "applying cancels", n.sweep, &m.Cancelled},
		{d.Settle, "closing what ended jobs have left", n.closeChildren, &m.Closed},
		{d.Settle, "counting batches", n.countBatches, &m.Called},
		{d.Retain, "removing what is old", n.retain, &m.Removed},
		{d.Retain, "making hours of facts", n.mergeFacts, new(int64)},
	} {
		if !duty.wanted || ctx.Err() != nil {
			m.More = m.More || duty.wanted
			continue
		}
		counting, did := observer.Count(ctx)
		if err := duty.do(counting); err != nil && ctx.Err() == nil {
			errs = append(errs, fmt.Errorf("%s: %w", duty.name, err)) // and the others are done
		}
		*duty.did += did.Load()
	}
	return errors.Join(errs...)
}

// watch rescues the jobs of nodes that are known to be dead, and, if no other node leads, whose
// task that is, of those that turn out to be, until it is known of each node whether it lives.
func (n *node) watch(ctx context.Context, m *Maintained) error {
	ctx, rescued := observer.Count(ctx)
	defer func() { m.Rescued = rescued.Load() }()
	if err := n.rescue(ctx); err != nil {
		return fmt.Errorf("rescuing jobs: %w", err)
	}
	living, err := pulse.Look(ctx, n.store)
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
		return fmt.Errorf("looking at the nodes: %w", err)
	}
	m.Watched, m.Doubtful = ctx.Err() == nil, 0
	return nil
}

// watchAll leads until it is known of each node whether it is dead.
func (n *node) watchAll(ctx context.Context, silence time.Duration, m *Maintained) error {
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
				return fmt.Errorf("rescuing jobs: %w", err)
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

package simulate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// namespace is the one of all jobs.
const namespace = "default"

// crowd is how many unfinished jobs there are at the most, or so.
const crowd = 40

// world is a cluster: nodes, people, and what lies between them and the store.
type world struct {
	ctx     context.Context
	clock   *play.Clock
	witness *witness
	store   *faults.Store // as those who ask see it
	fault   faults.Kind   // of the first call of the step
	nodes   []*node
	letters []*letter  // of people, whose answer did not come
	asked   []*trigger // so are these
	decided []*trigger // by nodes, which may arrive once more
	told    func(format string, args ...any)
}

// letter is what a sender outside has sent: enqueues, or messages.
type letter struct {
	seed  uint64
	batch *store.Batch
}

func (l *letter) Name() uint64 { return l.seed }

func newWorld(ctx context.Context, s store.Store, c *play.Clock, look int) *world {
	w := &world{ctx: ctx, clock: c, witness: &witness{Store: s, ledger: newLedger(c), every: max(1, look)}}
	w.store = faults.Wrap(w.witness, func(faults.Call) faults.Fault {
		kind := w.fault
		w.fault = faults.None
		return faults.Fault{Kind: kind}
	})
	return w
}

// tellf adds to the story of the step, if it is listened to.
func (w *world) tellf(format string, args ...any) {
	if w.told != nil {
		w.told(format, args...)
	}
}

func (w *world) unfinished() (n int) {
	for _, j := range w.witness.order {
		if !j.finished() {
			n++
		}
	}
	return n
}

// isLost reports whether no answer came.
func isLost(err error) bool { return errors.Is(err, store.ErrUnavailable) }

// newID makes an id as a client does: it sorts by time, and the rest of it follows from the step.
func (w *world) newID(d *play.Dice) store.ID {
	var id store.ID
	binary.BigEndian.PutUint64(id[:8], uint64(w.clock.Now().UnixMilli())<<16|uint64(d.Below(1<<12)))
	binary.BigEndian.PutUint64(id[8:], d.Next())
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

var (
	queues = []string{"mail", "bills"}
	kinds  = []string{"send", "charge"}
)

// plain draws a job with nothing but what it must have.
func (w *world) plain(d *play.Dice) *store.Enqueue {
	return &store.Enqueue{Job: store.Job{
		ID: w.newID(d), Namespace: namespace, Queue: queues[0], Kind: kinds[0], Priority: 2, MaxAttempts: 3, Args: []byte("1"),
	}}
}

// job draws what is enqueued.
func (w *world) job(d *play.Dice) *store.Enqueue {
	now := w.clock.Now()
	q := &store.Enqueue{KnownID: d.Chance(50), Job: store.Job{
		ID: w.newID(d), Namespace: namespace, Queue: play.Among(d, queues...), Kind: play.Among(d, kinds...), Priority: 1 + d.Below(4),
		MaxAttempts: play.Among(d, 0, 1, 2, 2, 3, 9), Args: fmt.Appendf(nil, "%d", d.Below(1000)),
	}}
	if d.Chance(25) {
		q.Job.OrderingKey = play.Among(d, "x", "y")
	}
	if d.Chance(25) {
		q.Job.UniqueKey = []byte(play.Among(d, "a", "b"))
		q.Job.UniqueStates = play.Among(d, store.Unfinished, store.Unfinished, store.SetOf(store.Scheduled, store.Available),
			store.SetOf(store.Scheduled, store.Available, store.Running), store.SetOf(store.States...))
		q.OnConflict = play.Among(d, store.ReturnExisting, store.Reject, store.Replace, store.Replace)
	}
	switch d.Below(10) {
	case 0, 1:
		q.Delay = play.Among(d, time.Second, 20*time.Second, time.Hour)
	case 2:
		q.Job.RunAt = now.Add(play.Among(d, -time.Minute, -time.Millisecond, time.Millisecond, time.Minute))
	}
	if d.Chance(8) {
		q.Job.Options.Deadline = now.Add(play.Among(d, time.Second, time.Minute))
	}
	if d.Chance(8) {
		q.Job.Version = "v1"
	}
	return q
}

package limits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var clusterTests = env.Tests{
	"LimitsHold_nodes_keep_to_slots_through_faults_and_deaths": func(e *env.Env) {
		seeds := uint64(2)
		if e.Store.Traits().Name == "model" {
			seeds = 8 // it costs nothing there
		}
		for seed := range seeds {
			if err := newCluster(e, seed).run(400); err != nil {
				e.Fatalf("seed %d: %v", seed, err)
			}
		}
	},
}

// cluster are nodes that ask for slots, and claim and run jobs within them. Requests and answers
// are lost, calls arrive late, nodes stand still and are declared dead, and people change how many
// slots there are. After each step the jobs that run, as the store has it, need no more slots than
// nodes hold, and these are no more than there are; unless they were before, and then they do not
// grow.
type cluster struct {
	e      *env.Env
	dice   *rand.Rand
	limits [2]store.Limit // as the people know them
	held   [2]int         // by all nodes, at the last look
	nodes  []*worker
	late   []store.GrantParams // calls that were given up, and may arrive yet
	steps  []string
	fair   bool // nodes share slots evenly
	floors bool // nodes keep to the floor of a call; always, but in tests of this simulation
}

// worker is a node as it knows itself.
type worker struct {
	id, call int64
	known    [2]store.Limit
	slots    [2]int // that it may use
	runs     []store.Claimed
	claim    *store.ClaimParams // whose answer was lost
	sleeps   int                // for so many steps it does nothing, not even beat
}

// Both limits count the jobs of kind "push" twice; the second one counts those of one queue alone.
var clusterLimits = [2]store.LimitSettings{
	{Capacity: 12, Kinds: map[string]int{"send": 1, "push": 2}},
	{Capacity: 5, Queues: []string{"a"}, Kinds: map[string]int{"send": 1, "push": 2}},
}

func newCluster(e *env.Env, seed uint64) *cluster {
	return &cluster{e: e, dice: rand.New(rand.NewPCG(seed, 7)), fair: seed%2 == 1, floors: true}
}

// errBroken is what a step finds that must not be.
var errBroken = errors.New("a limit is broken")

func (c *cluster) run(steps int) error {
	for i, settings := range clusterLimits {
		l := env.Limit(fmt.Sprintf("limit%d of %v", i, c.e.IDs.Next()), settings.Capacity, func(l *store.Limit) {
			l.LimitSettings = settings
			l.Fair = c.fair
		})
		var err error
		if c.limits[i], err = c.e.Store.SaveLimit(c.e.Ctx, l, 0, ""); err != nil {
			return err
		}
	}
	for range steps {
		c.e.Clock.Advance(time.Duration(c.dice.IntN(1500)) * time.Millisecond)
		if err := errors.Join(c.beat(), c.step()); err != nil {
			return fmt.Errorf("%w, after %v", err, c.steps[max(0, len(c.steps)-8):])
		}
		if err := c.look(); err != nil {
			return fmt.Errorf("%w, after %v", err, c.steps[max(0, len(c.steps)-8):])
		}
	}
	return c.finish()
}

func (c *cluster) notef(format string, args ...any) {
	c.steps = append(c.steps, fmt.Sprintf(format, args...))
}

// beat lets those beat that are awake.
func (c *cluster) beat() error {
	for _, w := range c.nodes {
		if w.sleeps--; w.sleeps > 0 {
			continue
		}
		if _, err := c.e.Store.Beat(c.e.Ctx, store.BeatParams{Node: w.id}); errors.Is(err, store.ErrNodeDead) {
			w.id = 0 // what it runs has lost its lease
		} else if err != nil {
			return err
		}
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(w *worker) bool { return w.id == 0 })
	return nil
}

// step lets something happen.
func (c *cluster) step() error {
	if len(c.nodes) < 3 {
		id, err := c.e.Store.Join(c.e.Ctx, store.NodeInfo{Slots: 10})
		c.notef("node %d joins", id)
		c.nodes = append(c.nodes, &worker{id: id})
		return err
	}
	w := c.nodes[c.dice.IntN(len(c.nodes))]
	switch n := c.dice.IntN(100); {
	case n < 15:
		return c.enqueue()
	case n < 20:
		return c.rescue()
	case n < 24:
		return c.change()
	case n < 34 && len(c.late) > 0:
		return c.arrive()
	case w.sleeps > 0:
		return nil
	case n < 37:
		w.sleeps = c.dice.IntN(40)
		c.notef("node %d stands still for %d steps", w.id, w.sleeps)
		return nil
	case n < 38:
		return c.leave(w)
	case n < 60:
		return c.ask(w)
	case n < 80:
		return c.take(w)
	}
	return c.end(w)
}

func (c *cluster) enqueue() error {
	batch := &store.Batch{}
	for range 1 + c.dice.IntN(4) {
		queue, kind := []string{"a", "b"}[c.dice.IntN(2)], []string{"send", "push"}[c.dice.IntN(2)]
		batch.Enqueues = append(batch.Enqueues, c.e.Job(env.Queue(queue), env.Kind(kind), env.Attempts(1000)))
	}
	return c.e.Store.Apply(c.e.Ctx, batch)
}

// rescue declares those dead that are silent. Now and then it takes few of their jobs.
func (c *cluster) rescue() error {
	silent, err := env.SilentNodes(c.e.Ctx, c.e.Store, c.e.Clock.Now())
	if err != nil {
		return err
	}
	c.notef("%d nodes are declared dead", len(silent))
	_, err = c.e.Store.Rescue(c.e.Ctx, store.RescueParams{Dead: silent, Limit: c.dice.IntN(3)})
	if err != nil {
		return err
	}
	_, err = c.e.Store.Promote(c.e.Ctx, 1000)
	return err
}

// change lets a person change how many slots there are.
func (c *cluster) change() (err error) {
	i := c.dice.IntN(len(c.limits))
	l := c.limits[i]
	l.Capacity = 2 + c.dice.IntN(12)
	c.notef("%s has %d slots", l.Name, l.Capacity)
	c.limits[i], err = c.e.Store.SaveLimit(c.e.Ctx, l, l.Version, "")
	return err
}

// arrive lets a call arrive whose node does not wait for it any more, and may be dead.
func (c *cluster) arrive() error {
	i := c.dice.IntN(len(c.late))
	params := c.late[i]
	c.late = slices.Delete(c.late, i, i+1)
	c.notef("call %d of node %d arrives late", params.Call, params.Node)
	_, err := c.e.Store.Grant(c.e.Ctx, params)
	if errors.Is(err, store.ErrNodeDead) {
		return nil
	}
	return err
}

func (c *cluster) leave(w *worker) error {
	c.notef("node %d leaves", w.id)
	_, err := c.e.Store.Leave(c.e.Ctx, w.id)
	c.nodes = slices.DeleteFunc(c.nodes, func(other *worker) bool { return other == w })
	return err
}

// used is how many slots of a limit the jobs of a node need, those included that a claim may have
// taken whose answer was lost.
func (w *worker) used(i int) (n int) {
	for _, r := range w.runs {
		n += clusterLimits[i].Weight(r.Job.Queue, r.Job.ClaimKind())
	}
	if w.claim != nil {
		for _, d := range w.claim.Queues {
			n += d.Limit * clusterLimits[i].Weight(d.Name, d.Kind)
		}
	}
	return n
}

// ask lets a node ask for slots, of limits as it knows them. From before the call on it uses no
// more than it keeps.
func (c *cluster) ask(w *worker) error {
	w.call++
	params := store.GrantParams{Node: w.id, Call: w.call}
	keep := [2]int{}
	for i := range c.limits {
		if c.dice.IntN(3) > 0 {
			w.known[i] = c.limits[i]
		}
		used := w.used(i)
		if keep[i] = used + c.dice.IntN(max(w.slots[i]-used, 0)+1); w.known[i].ID != 0 {
			params.Asks = append(params.Asks, env.Ask(w.known[i], keep[i], c.dice.IntN(10)))
		}
	}
	if c.floors {
		w.slots = keep
	}
	switch c.dice.IntN(6) {
	case 0:
		c.notef("call %d of node %d is on its way", w.call, w.id)
		c.late = append(c.late, params)
		return nil
	case 1:
		c.notef("call %d of node %d is not answered", w.call, w.id)
		_, err := c.e.Store.Grant(c.e.Ctx, params)
		return err
	}
	granted, err := c.e.Store.Grant(c.e.Ctx, params)
	c.notef("node %d asks for %+v: %+v", w.id, params.Asks, granted)
	for _, g := range granted {
		for i := range w.known {
			if w.known[i].ID == g.Limit {
				w.slots[i] = g.Slots
			}
		}
	}
	return err
}

// take lets a node claim as many jobs as it has slots for, first of all those that it may have
// claimed.
func (c *cluster) take(w *worker) error {
	if w.claim == nil {
		params := c.e.Demand(w.id, 20)
		free := [2]int{w.slots[0] - w.used(0), w.slots[1] - w.used(1)}
		for _, n := range c.dice.Perm(4) {
			queue, kind := []string{"a", "b"}[n%2], []string{"send", "push"}[n/2]
			most := 20
			for i := range free {
				if weight := clusterLimits[i].Weight(queue, kind); weight > 0 {
					most = min(most, free[i]/weight)
				}
			}
			most = c.dice.IntN(max(most, 0) + 1)
			for i := range free {
				free[i] -= most * clusterLimits[i].Weight(queue, kind)
			}
			params.Queues = append(params.Queues, by(queue, kind, most))
		}
		w.claim = &params
	}
	params := *w.claim
	runs, err := c.e.Store.Claim(c.e.Ctx, params)
	c.notef("node %d claims %+v: %d", w.id, params.Queues, len(runs))
	if w.claim.Repeat = true; err != nil || c.dice.IntN(5) == 0 {
		return err
	}
	w.claim = nil
	w.runs = append(w.runs, runs...)
	return nil
}

// end lets a job of a node end.
func (c *cluster) end(w *worker) error {
	if len(w.runs) == 0 {
		return nil
	}
	i := c.dice.IntN(len(w.runs))
	o := env.Outcome(w.runs[i], []store.State{store.Completed, store.Completed, store.Retryable}[c.dice.IntN(3)])
	c.notef("a job of node %d ends", w.id)
	err := store.ApplyEach(c.e.Ctx, c.e.Store, &store.Batch{Outcomes: []*store.Outcome{o}})
	w.runs = slices.Delete(w.runs, i, i+1)
	return errors.Join(err, o.Err)
}

// look checks what must be so.
func (c *cluster) look() error {
	need := [2]int{}
	for _, r := range c.e.List(store.Filter{States: []store.State{store.Running}}, 100) {
		for i := range need {
			need[i] += clusterLimits[i].Weight(r.Queue, r.ClaimKind())
		}
	}
	for i, l := range c.limits {
		found, err := c.e.Store.Limits(c.e.Ctx, l.Namespace, l.Name)
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%s is not there: %w", l.Name, err)
		}
		held := 0
		for _, h := range found[0].Holders {
			held += h.Slots
		}
		if need[i] > held {
			return fmt.Errorf("%w: the jobs that run need %d slots of %s, of which %v hold %d", errBroken, need[i], l.Name, found[0].Holders, held)
		}
		if held > max(found[0].Capacity, c.held[i]) {
			return fmt.Errorf("%w: %v hold %d slots of %s, of %d", errBroken, found[0].Holders, held, l.Name, found[0].Capacity)
		}
		c.held[i] = held
	}
	return nil
}

// finish lets all nodes go, each in its way, after which one node gets all slots there are.
func (c *cluster) finish() error {
	for len(c.late) > 0 {
		if err := c.arrive(); err != nil {
			return err
		}
	}
	c.e.Clock.Advance(env.DeadAfter)
	id, err := c.e.Store.Join(c.e.Ctx, store.NodeInfo{Slots: 100})
	for n := 0; n < 20 && err == nil; n++ {
		err = c.rescue()
	}
	if err != nil {
		return err
	}
	w := &worker{id: id}
	var asks []store.LimitAsk
	for _, l := range c.limits {
		asks = append(asks, env.Ask(l, 0, l.Capacity))
	}
	granted, err := c.e.Store.Grant(c.e.Ctx, store.GrantParams{Node: w.id, Call: 1, Asks: asks})
	if err != nil {
		return err
	}
	for _, g := range granted {
		if g.Slots != g.Capacity {
			return fmt.Errorf("%w: the last node gets %+v", errBroken, g)
		}
	}
	if len(granted) != len(asks) {
		return fmt.Errorf("%w: the last node gets %+v", errBroken, granted)
	}
	if _, err := c.e.Store.Leave(c.e.Ctx, w.id); err != nil {
		return err
	}
	for _, l := range c.limits {
		err = errors.Join(err, c.e.Store.DeleteLimit(c.e.Ctx, l.Namespace, l.Name, false, ""))
	}
	return err
}

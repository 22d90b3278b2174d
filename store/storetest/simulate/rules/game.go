package rules

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Game plays a subject on stores that open opens. A failure is shrunk with so many steps.
func Game(about Subject, open Open, shrinking int) *play.Game {
	return &play.Game{Weights: weightsOf(about), Shrinking: shrinking, Begin: func(tell play.Tell) (play.World, error) {
		w := &world{ctx: context.Background(), about: about, clock: play.NewClock(), tellf: tell}
		s, err := open(w.clock.Now)
		if err != nil {
			return nil, err
		}
		w.eye = newEye(w, s)
		w.store = faults.Wrap(w.eye, func(faults.Call) faults.Fault {
			kind := w.fault
			w.fault = faults.None
			return faults.Fault{Kind: kind}
		})
		return w, nil
	}}
}

// Take implements play.World.
func (w *world) Take(s play.Step) {
	w.fault = s.Fault
	d := play.NewDice(s.Seed)
	for _, o := range operations {
		if o.name == s.Do {
			o.do(w, d)
		}
	}
}

// Last implements play.World.
func (w *world) Last() string { return w.eye.op }

// Calls implements play.World.
func (w *world) Calls() int { return w.eye.calls }

// Digest implements play.World.
func (w *world) Digest() uint64 { return w.eye.digest }

// Close implements play.World.
func (w *world) Close() error { return w.eye.Close() }

func newEye(w *world, s store.Store) *eye {
	e := &eye{Store: s, w: w, jobs: map[store.ID]*job{}, asked: map[claimName]claimOfNode{}}
	for _, r := range []struct {
		of   Subject
		make func(*eye) rule
	}{
		{Limits, newLimitRule},
		{Limits, newRateRule},
		{Keys, newKeyRule},
		{Rests, newRestRule},
		{Edges, newEdgeRule},
		{Edges | Keys, newTurnRule},
		{Batches, newBatchRule},
		{Fair, newFairRule},
	} {
		if w.about.has(r.of) {
			e.rules = append(e.rules, r.make(e))
		}
	}
	return e
}

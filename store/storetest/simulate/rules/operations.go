package rules

import (
	"time"

	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// operation is something that a step does.
type operation struct {
	name   string
	of     Subject
	weight int // of a thousand or so
	do     func(*world, *play.Dice)
}

var operations = []operation{
	{"join", all, 12, (*world).join},
	{"beat", all, 25, (*world).beat},
	{"claim", all, 130, (*world).claim},
	{"end", all, 100, (*world).end},
	{"end-all", all, 30, (*world).endAll},
	{"repeat", all, 40, (*world).repeat},
	{"late", all, 35, (*world).late},
	{"leave", all, 4, (*world).leave},
	{"freeze", all, 14, (*world).freeze},
	{"thaw", all, 16, (*world).thaw},
	{"kill", all, 4, (*world).kill},
	{"lead", all, 25, (*world).lead},
	{"rescue", all, 25, (*world).rescue},
	{"promote", all, 50, (*world).promote},
	{"enqueue", all, 90, (*world).enqueue},
	{"forward", all, 50, (*world).forward},
	{"set", all, 6, (*world).set},
	{"retry", all, 12, (*world).retry},
	{"cancel", all, 8, (*world).cancel},
	{"audit", all, 10, (*world).audit},
	{"limit", Limits, 14, (*world).limit},
	{"load", Limits, 70, (*world).load},
	{"ask", Limits, 110, (*world).ask},
	{"answer", Limits, 110, (*world).answer},
	{"permits", Limits, 80, (*world).askPermits},
	{"hear", Limits, 40, (*world).hear},
	{"moment", Limits, 60, (*world).moment},
	{"give-back", Limits, 10, (*world).giveBack},
	{"key-limit", Keys, 14, (*world).keyLimit},
	{"rest", Rests, 20, (*world).rest},
	{"pause", Rests, 5, (*world).pause},
	{"unpause", Rests, 10, (*world).unpause},
	{"moment", Rests, 20, (*world).moment},
	{"close", Edges, 60, (*world).closeChildren},
	{"depend", Edges, 20, (*world).depend},
	{"resume", Edges, 8, (*world).resume},
	{"skip", Edges, 6, (*world).skip},
	{"make", Batches, 14, (*world).makeBatch},
	{"shut", Batches, 14, (*world).shut},
	{"count", Batches, 60, (*world).count},
	{"call", Batches, 60, (*world).call},
}

// weightsOf are how often things are done that belong to a subject. Their names are those of the
// operations, each once.
func weightsOf(s Subject) (weights []play.Weight) {
	at := map[string]int{}
	for _, o := range operations {
		if !s.has(o.of) {
			continue
		}
		if i, twice := at[o.name]; twice {
			weights[i].N += o.weight
			continue
		}
		at[o.name] = len(weights)
		weights = append(weights, play.Weight{Do: o.name, N: o.weight})
	}
	return weights
}

func (w *world) forward(d *play.Dice) {
	by := play.Among(d, time.Millisecond, time.Second, time.Second, 3*time.Second, 10*time.Second, 30*time.Second, time.Minute, time.Hour)
	w.pass(by)
	w.tellf("the clock goes on by %v", by)
}

// moment is a short one.
func (w *world) moment(d *play.Dice) {
	by := play.Among(d, 300*time.Microsecond, 3*time.Millisecond, 20*time.Millisecond, 60*time.Millisecond, 200*time.Millisecond)
	w.pass(by)
	w.tellf("the clock goes on by %v", by)
}

// set sets the clock of the database, while no time passes.
func (w *world) set(d *play.Dice) {
	by := play.Among(d, -time.Millisecond, -time.Second, -10*time.Second, -time.Hour, time.Second, time.Minute, time.Hour)
	w.clock.Move(by)
	w.eye.set(by)
	w.tellf("the clock is set by %v", by)
}

package core

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/store/internal/gates"
)

// opening is a gate at which jobs may go on, with how many.
type opening struct {
	gate  int64
	r     room
	swept bool // the sweep has found it, and nothing else
}

// party is whom gates are opened for: a limit of which runs have ended or keys have their time; or
// the sweep, which opens gates of all limits but those that nothing bounds.
type party struct {
	gates []opening
	need  int // how many may go on at the most
}

// gateOpener opens gates in one transaction: no more than gates.Portion jobs go on in all. They are
// shared between the parties, and what one of them does not need the others get. So a limit that
// was deleted, of which very many jobs go on, holds up no gate of another one.
type gateOpener struct {
	look    gateLook
	parties map[[2]string]*party
	left    []opening // at which more may go on
}

func newOpener(t *Tx) *gateOpener {
	return &gateOpener{look: gateLook{t: t}, parties: map[[2]string]*party{}}
}

// add looks at gates, in order, which are to be opened.
func (g *gateOpener) add(list []int64, swept bool) error {
	for _, gate := range list {
		r, err := g.look.at(gate)
		if err != nil {
			return err
		}
		if !r.waits {
			continue
		}
		whose := r.limit
		if swept && r.bounded {
			whose = [2]string{}
		}
		p := g.parties[whose]
		if p == nil {
			p = &party{}
			g.parties[whose] = p
		}
		p.gates = append(p.gates, opening{gate, r, swept})
		p.need += max(r.free, 0)
	}
	return nil
}

// open opens what was added.
func (g *gateOpener) open() error {
	parties := slices.SortedFunc(maps.Values(g.parties), func(a, b *party) int {
		return cmp.Or(cmp.Compare(a.need, b.need), cmp.Compare(a.gates[0].gate, b.gates[0].gate))
	})
	for most, i := gates.Portion, 0; i < len(parties); i++ {
		share := most / (len(parties) - i)
		if share == 0 && most > 0 {
			share = 1
		}
		most -= share
		for _, o := range parties[i].gates {
			left, err := g.openOne(o, share)
			if err != nil {
				return err
			}
			share = left
		}
		most += share
	}
	return nil
}

// openOne opens a gate for no more than so many jobs, and returns how many of these are left.
func (g *gateOpener) openOne(o opening, most int) (left int, err error) {
	wanted := o.r.free
	if wanted > 0 && most == 0 {
		g.left = append(g.left, o)
		return 0, nil
	}
	o.r.free = min(wanted, most)
	let, err := g.look.t.open(o.gate, o.r, g.look.fits)
	if err == nil && let < wanted && let == most {
		g.left = append(g.left, o)
	}
	return most - let, err
}

// takeTouched returns the gates that the transaction has touched until now, in order.
func (t *Tx) takeTouched() ([]int64, error) {
	if len(t.gates) == 0 {
		return nil, nil
	}
	touched := slices.Sorted(maps.Keys(t.gates))
	t.gates = nil
	if waits, err := t.AnyGated(); err != nil || !waits {
		return nil, err
	}
	return touched, nil
}

// handOnOrAsk lets jobs go on that wait at the gates which the transaction has touched, so none
// waits at a gate that is free, whenever the process dies. It asks for a sweep if there are too
// many for this transaction.
func (t *Tx) handOnOrAsk() error {
	touched, err := t.takeTouched()
	if err != nil || len(touched) == 0 {
		return err
	}
	g := newOpener(t)
	if err := g.add(touched, false); err != nil {
		return err
	}
	if err := g.open(); err != nil || len(g.left) == 0 {
		return err
	}
	return t.WantGates()
}

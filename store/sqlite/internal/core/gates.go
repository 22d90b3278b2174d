package core

import (
	"encoding/binary"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// gateOf returns the gate of a slot; 0: none.
func gateOf(of []byte, slot int) int64 {
	if of == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(of[8*slot:]))
}

// GatesOf are the gates of jobs as a claim record has them; nil if none has one.
func GatesOf(claimed []store.Claimed) (list []byte) {
	for slot := range claimed {
		if gate := claimed[slot].Job.Gate(); gate != 0 {
			if list == nil {
				list = make([]byte, 8*len(claimed))
			}
			binary.BigEndian.PutUint64(list[8*slot:], uint64(gate))
		}
	}
	return list
}

// touchGates notes the gates of slots of a record that are done since it was read or written.
func (t *Tx) touchGates(r *ClaimRecord) {
	for slot := range r.Slots() {
		if (r.Done&^r.wasDone)&(1<<slot) != 0 {
			if gate := gateOf(r.gates, slot); gate != 0 {
				t.TouchGate(gate)
			}
		}
	}
}

// TouchGate has jobs that wait at a gate go on, at the end of the transaction, if it is free.
func (t *Tx) TouchGate(gate int64) {
	if t.gates == nil {
		t.gates = map[int64]bool{}
	}
	t.gates[gate] = true
}

// LiveGates counts what runs, by gate. What the transaction has ended must be written.
func (t *Tx) LiveGates() (map[int64]int, error) {
	live := map[int64]int{}
	s := t.Stmt("gates_live")
	return live, db.Each(s, func() error {
		open := ^s.ReadInt() & s.ReadInt()
		of := s.ReadBlob()
		for slot := range len(of) / 8 {
			if gate := gateOf(of, slot); gate != 0 && open&(1<<slot) != 0 {
				live[gate]++
			}
		}
		return nil
	})
}

// RunningAt returns the jobs that run of a gate.
func (t *Tx) RunningAt(gate int64) (ids []store.ID, err error) {
	s := t.Stmt("gates_live_ids")
	return ids, db.Each(s, func() error {
		open := ^s.ReadInt() & s.ReadInt()
		of, jobs := s.ReadBlob(), s.ReadBlob()
		for slot := range len(of) / 8 {
			if gateOf(of, slot) == gate && open&(1<<slot) != 0 {
				ids = append(ids, store.ID(jobs[slot*len(store.ID{}):][:len(store.ID{})]))
			}
		}
		return nil
	})
}

// WantGates asks that all gates at which jobs wait are looked at, by any process, whatever happens
// to this one.
func (t *Tx) WantGates() error { return db.Exec(t.Stmt("gates_wanted")) }

// gateLook looks at gates in one transaction.
type gateLook struct {
	t      *Tx
	live   map[int64]int
	halted []int64 // queues that hand out nothing
	rules  map[[2]string]GateRule
}

// begin reads what is the same for all gates.
func (g *gateLook) begin() (err error) {
	if g.rules != nil {
		return nil
	}
	g.rules = map[[2]string]GateRule{}
	if g.live, err = g.t.LiveGates(); err != nil {
		return err
	}
	g.halted, err = g.t.PausedQueues()
	return err
}

// fits reports whether a job of the lane may be put into ready: its queue hands out jobs.
func (g *gateLook) fits(l *Lane) bool { return !slices.Contains(g.halted, l.Queue) }

// at is how many more jobs may run at a gate.
func (g *gateLook) at(gate int64) (r room, err error) {
	if err := g.begin(); err != nil {
		return r, err
	}
	lanes, err := g.t.lanesAt(gate)
	if err != nil || len(lanes) == 0 {
		return r, err
	}
	name := [2]string{lanes[0].Namespace, lanes[0].Limit}
	rule, known := g.rules[name]
	if !known {
		if rule, err = g.t.GateRule(name[0], name[1]); err != nil {
			return r, err
		}
		g.rules[name] = rule
	}
	r, err = g.t.roomAt(gate, rule, g.live[gate])
	r.limit, r.bounded = name, rule.Bounded
	r.waits, r.fits = true, slices.ContainsFunc(lanes, g.fits)
	return r, err
}

// lanesAt are the lanes of the jobs that wait at a gate.
func (t *Tx) lanesAt(gate int64) (lanes []*Lane, err error) {
	for after := int64(-1); ; {
		s := t.Stmt("gated_lane")
		s.BindInt(gate)
		s.BindInt(after)
		found, err := s.Next()
		if err != nil || !found {
			return lanes, err
		}
		after = s.ReadInt()
		s.Done()
		l, err := t.LaneOf(after)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, l)
	}
}

// GateHeads are the first jobs that wait at a gate, of the lanes that fit.
func (t *Tx) GateHeads(gate int64, most int, fits func(*Lane) bool) (heads []Gated, err error) {
	lanes, err := t.lanesAt(gate)
	if err != nil {
		return nil, err
	}
	for _, l := range lanes {
		if !fits(l) {
			continue
		}
		s := t.Stmt("gated_heads")
		s.BindInt(gate)
		s.BindInt(l.ID)
		s.BindInt(int64(most))
		err := db.Each(s, func() error {
			heads = append(heads, Gated{gates.Place{Priority: l.Priority, RunAt: s.ReadInt(), ID: db.ReadID(s)}, l})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(heads, func(a, b Gated) int { return a.Compare(b.Place) })
	return heads[:min(len(heads), most)], nil
}

// Gated is a job that waits at a gate.
type Gated struct {
	gates.Place
	Lane *Lane
}

// Ungate puts a job that waits at a gate into ready.
func (t *Tx) Ungate(g Gated) error {
	p := Pointer{ID: g.ID, Lane: g.Lane, RunAt: g.RunAt}
	s := t.Stmt("gated_delete")
	BindPointer(s, p)
	if err := db.Exec(s); err != nil {
		return err
	}
	t.NoteWoken(g.Lane)
	t.Ungated++
	s = t.Stmt("ready_insert")
	BindPointer(s, p)
	return db.Exec(s)
}

// Gate lets a job wait at its gate that was taken from ready.
func (t *Tx) Gate(job *store.Job, lane *Lane) error {
	s := t.Stmt("gated_insert")
	s.BindInt(job.Gate())
	BindPointer(s, Pointer{ID: job.ID, Lane: lane, RunAt: job.RunAt.UnixMicro()})
	return db.Exec(s)
}

// isGated reports whether a job waits at its gate.
func (t *Tx) isGated(b *Body) (bool, error) {
	if b.Lane.Limit == "" {
		return false, nil
	}
	s := t.Stmt("gated_has")
	BindPointer(s, Pointer{ID: b.ID, Lane: b.Lane, RunAt: b.RunMicros})
	return db.Exists(s)
}

// AnyGated reports whether jobs wait at gates.
func (t *Tx) AnyGated() (bool, error) { return db.Exists(t.Stmt("gated_any")) }

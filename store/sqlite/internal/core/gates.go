package core

import (
	"encoding/binary"
	"time"

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

// HandOnGates lets jobs go on that wait at the gates which the transaction has touched. So none
// waits at a gate that is free, whenever the process dies.
func (t *Tx) HandOnGates() error {
	if len(t.gates) == 0 {
		return nil
	}
	touched := t.gates
	t.gates = nil
	if waits, err := t.AnyGated(); err != nil || !waits {
		return err
	}
	var live map[int64]int
	for gate := range touched {
		s := t.Stmt("gated_lane")
		s.BindInt(gate)
		found, err := s.Next()
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		lane := s.ReadInt()
		s.Done()
		if live == nil {
			if live, err = t.LiveGates(); err != nil {
				return err
			}
		}
		r, err := t.roomAt(gate, lane, live[gate])
		if err != nil {
			return err
		}
		if err := t.open(gate, r); err != nil {
			return err
		}
	}
	return nil
}

// openGate puts the first jobs that wait at a gate into ready, and returns how many.
func (t *Tx) openGate(gate int64, most int) (int, error) {
	if most <= 0 {
		return 0, nil
	}
	heads, err := t.GateHeads(gate, most, nil)
	if err != nil {
		return 0, err
	}
	for _, p := range heads {
		if err := t.Ungate(p); err != nil {
			return 0, err
		}
	}
	return len(heads), nil
}

// GateHeads are the first jobs that wait at a gate, of the lanes that fit; nil: all.
func (t *Tx) GateHeads(gate int64, most int, fits func(*Lane) bool) (heads []Gated, err error) {
	type row struct {
		gates.Place
		lane int64
	}
	look := most
	if fits != nil {
		look = max(most, gates.Portion)
	}
	var rows []row
	s := t.Stmt("gated_heads")
	s.BindInt(gate)
	s.BindInt(int64(look))
	err = db.Each(s, func() error {
		rows = append(rows, row{gates.Place{Priority: int(s.ReadInt()), RunAt: s.ReadInt(), ID: db.ReadID(s)}, s.ReadInt()})
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		l, err := t.LaneOf(r.lane)
		if err != nil {
			return nil, err
		}
		if fits != nil && !fits(l) {
			continue
		}
		if heads = append(heads, Gated{r.Place, l}); len(heads) == most {
			break
		}
	}
	return heads, nil
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
	s.BindInt(int64(job.Priority))
	s.BindInt(job.RunAt.UnixMicro())
	db.BindID(s, job.ID)
	s.BindInt(lane.ID)
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

// TouchWaiting touches all gates at which jobs wait, and that are free or have not been looked at:
// of one limit, or, with name "", of all. It reports whether there was one.
func (t *Tx) TouchWaiting(namespace, name string) (free bool, err error) {
	var live map[int64]int
	for after := int64(-1 << 63); ; {
		s := t.Stmt("gated_next")
		s.BindInt(after)
		found, err := s.Next()
		if err != nil || !found {
			return free, err
		}
		after = s.ReadInt()
		lane := s.ReadInt()
		s.Done()
		l, err := t.LaneOf(lane)
		if err != nil {
			return free, err
		}
		if name != "" && (l.Namespace != namespace || l.Limit != name) {
			continue
		}
		if live == nil {
			if live, err = t.LiveGates(); err != nil {
				return free, err
			}
		}
		r, err := t.roomAt(after, lane, live[after])
		if err != nil {
			return free, err
		}
		if r.free > 0 || r.isStale(t.Now) {
			t.TouchGate(after)
			free = true
		}
	}
}

// GateSweep says when all gates at which jobs wait are looked at again. It is a net: who ends a job
// lets the next one go on.
type GateSweep struct {
	next int64 // in microseconds, by the clock of the database
}

// sweepEvery is the shortest time between two sweeps; one takes at most a twentieth of the time.
const (
	sweepEvery = store.SweepAfter
	sweepShare = 20
)

// IsDue reports whether it is time for a sweep.
func (g *GateSweep) IsDue(now int64) bool {
	return now >= g.next || g.next > now+int64(time.Minute/time.Microsecond)
}

// Done notes a sweep, and how long it took.
func (g *GateSweep) Done(now int64, took time.Duration) {
	g.next = now + max(sweepEvery, sweepShare*took).Microseconds()
}

// Next is when the next one is due.
func (g *GateSweep) Next() time.Time { return db.TimeOf(g.next) }

// AnyGated reports whether jobs wait at gates.
func (t *Tx) AnyGated() (bool, error) { return db.Exists(t.Stmt("gated_any")) }

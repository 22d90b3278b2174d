package core

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// GateRule is what a limit lets each of its keys do.
type GateRule struct {
	Bounded       bool // there is such a limit
	Capacity      int
	Rated         bool
	period, burst int64
	since         int64 // when the limit was changed
}

// GateRule returns what a limit lets each of its keys do.
func (t *Tx) GateRule(namespace, limit string) (r GateRule, err error) {
	s := t.Stmt("gate_rule")
	s.BindText(namespace)
	s.BindText(limit)
	return r, db.Each(s, func() error {
		r.Bounded, r.Capacity, r.since = true, int(s.ReadInt()), s.ReadInt()
		if r.Rated = !s.ReadNull(); r.Rated {
			r.period, r.burst = s.ReadInt(), s.ReadInt()
		}
		return nil
	})
}

// Kept is what is kept of the rate of a key.
type Kept struct {
	tat, period, lookAt int64
}

// Key returns where the rate of a gate stands, and what is kept of it.
func (t *Tx) Key(gate int64, r GateRule) (gcra.Key, Kept, error) {
	var kept Kept
	s := t.Stmt("key_rate")
	s.BindInt(gate)
	err := db.Each(s, func() error {
		kept = Kept{tat: s.ReadInt(), period: s.ReadInt(), lookAt: db.ReadOptInt(s)}
		return nil
	})
	return gcra.Stand(r.period, r.burst, kept.tat, kept.period, r.since, t.Now), kept, err
}

// KeepKey writes where the rate of a gate stands, unless that is what is kept, and when to look for
// jobs that wait there; 0: not because of the rate.
func (t *Tx) KeepKey(gate int64, k gcra.Key, was Kept, lookAt int64) error {
	now := Kept{tat: t.Now + k.Ahead, period: k.Period, lookAt: lookAt}
	if k.Period == 0 || k.Ahead == 0 && was.tat <= t.Now { // nothing was taken
		now.tat, now.period = was.tat, was.period
	}
	if now == was {
		return nil
	}
	s := t.Stmt("key_rate_put")
	s.BindInt(gate)
	s.BindInt(now.tat)
	s.BindInt(now.period)
	if now.lookAt == 0 {
		s.BindNull()
	} else {
		s.BindInt(now.lookAt)
	}
	return db.Exec(s)
}

// NextKey is when jobs are to be looked for that wait for the rate of their key; db.Never: none do.
func (t *Tx) NextKey() (int64, error) {
	next := int64(db.Never)
	s := t.Stmt("key_rate_next")
	return next, db.Each(s, func() error { next = s.ReadInt(); return nil })
}

// TouchKeys touches the gates of keys whose time has come, up to a limit, and reports whether there
// may be more.
func (t *Tx) TouchKeys(limit int) (more bool, err error) {
	var due []int64
	s := t.Stmt("key_rates_due")
	s.BindInt(t.Now)
	s.BindInt(int64(limit))
	if err := db.Each(s, func() error { due = append(due, s.ReadInt()); return nil }); err != nil {
		return false, err
	}
	for _, gate := range due {
		s := t.Stmt("key_rate_looked")
		s.BindInt(gate)
		if err := db.Exec(s); err != nil {
			return false, err
		}
		t.TouchGate(gate)
	}
	return len(due) >= limit, nil
}

// room is how many more jobs may run at a gate, and where its rate stands.
type room struct {
	waits   bool      // jobs wait there
	fits    bool      // and the queue of one hands out jobs
	limit   [2]string // its namespace and its name
	bounded bool      // there is such a limit
	free    int
	rated   bool
	key     gcra.Key
	kept    Kept
}

// isStale reports whether the gate has to be looked at although no job may go on: it is not noted
// when, or too late since the clock was set back or the rate was changed; or where its rate stands
// is counted by what the rate or the clock was.
func (r *room) isStale(now int64) bool {
	if !r.rated {
		return false
	}
	if k := r.key; k.Period > 0 && r.kept.period > 0 && (r.kept.period != k.Period || r.kept.tat > now+k.Ahead) {
		return k.Ahead > 0 || r.kept.tat > now
	}
	at := r.key.LookAt(now, 0)
	return at != r.kept.lookAt && (r.kept.lookAt == 0 || at < r.kept.lookAt)
}

// roomAt is how many more may run at a gate whose keys may do that: no more than a portion, and one
// more than that where nothing bounds it.
func (t *Tx) roomAt(gate int64, rule GateRule, live int) (r room, err error) {
	if !rule.Bounded {
		return room{free: gates.Portion + 1}, nil
	}
	r.free = min(rule.Capacity-live, gates.Portion)
	if r.rated = rule.Rated; r.rated {
		r.key, r.kept, err = t.Key(gate, rule)
		r.free = min(r.free, r.key.Free())
	}
	return r, err
}

// open puts the first jobs that wait at a gate and fit into ready, as many as may run, and notes
// when the next may by its rate.
func (t *Tx) open(gate int64, r room, fits func(*Lane) bool) (let int, err error) {
	if r.free > 0 {
		heads, err := t.GateHeads(gate, r.free, fits)
		if err != nil {
			return 0, err
		}
		for _, p := range heads {
			if err := t.Ungate(p); err != nil {
				return 0, err
			}
		}
		let = len(heads)
	}
	if !r.rated {
		return let, nil
	}
	at := r.key.LookAt(t.Now, let)
	if let < r.free { // no others wait that fit
		at = 0
	}
	return let, t.KeepKey(gate, r.key, r.kept, at)
}

// NextDue is the earlier of two times, as promotion tells them; db.Never is none.
func NextDue(a time.Time, b int64) time.Time {
	if b == db.Never || !a.IsZero() && a.UnixMicro() <= b {
		return a
	}
	return db.TimeOf(b)
}

// Waits reports whether a time is kept at which to look for jobs that wait.
func (k Kept) Waits() bool { return k.lookAt != 0 }

// AnyAt reports whether jobs wait at a gate.
func (t *Tx) AnyAt(gate int64) (bool, error) {
	s := t.Stmt("gated_lane")
	s.BindInt(gate)
	s.BindInt(-1)
	return db.Exists(s)
}

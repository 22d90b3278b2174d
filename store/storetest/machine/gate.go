package machine

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine on limits per key. A claim takes what it may, best first, and passes
// over jobs whose keys are at their limit. Which of the jobs of a key are judged by a claim is the
// store's choice where a claim does not take all that it might; so those of this machine serve
// everything, no queue is paused or rests, and waiting makes no job more urgent. When a store sees
// that the clock was set back is its choice, too; so once keys have had rates it is not.

func (m *machine) saveGate(t *rapid.T) {
	l := store.Limit{Namespace: m.namespace, Name: pick(t, "limit", machineLimits...)}
	l.Capacity, l.PerKey = rapid.IntRange(0, 4).Draw(t, "capacity"), chance(t, "per key", 90)
	if l.PerKey && chance(t, "rated", 50) {
		l.Rate = &store.Rate{Count: pick(t, "count", 0, 2, 6, 60), Per: time.Minute, Burst: rapid.IntRange(1, 4).Draw(t, "burst")}
		if l.Uncapped = chance(t, "uncapped", 60); l.Uncapped {
			l.Capacity = 0
		}
		m.rated = true
	}
	known := m.limitNamed(l.Name)
	t.Logf("save limit %s: %+v", l.Name, l.LimitSettings)
	got, gotErr := m.store.SaveLimit(m.ctx, l, known.store.Version)
	want, wantErr := m.model.SaveLimit(m.ctx, l, known.model.Version)
	m.sameErr("SaveLimit", gotErr, wantErr)
	m.sameLimits("SaveLimit", []store.Limit{got}, []store.Limit{want})
}

// drawGate lets a new job count under a key.
func (m *machine) drawGate(t *rapid.T, q *store.Enqueue) {
	q.Job.Options.Limit, q.Job.Options.LimitKey = pick(t, "limit", machineLimits...), pick(t, "limit key", "x", "y")
}

// gatedClaim lets a claim serve everything.
func (m *machine) gatedClaim(params *store.ClaimParams) {
	params.Kinds, params.Queues, params.Aging = nil, nil, 0
	for _, kind := range machineKinds {
		params.Kinds = append(params.Kinds, kind, kind+"@v1")
	}
}

// checkGates compares who runs under which key.
func (m *machine) checkGates() {
	if !m.mode.gated {
		return
	}
	for _, name := range machineLimits {
		for _, key := range []string{"x", "y"} {
			got, err := m.store.RunningOf(m.ctx, m.namespace, name, key, 0)
			want, err2 := m.model.RunningOf(m.ctx, m.namespace, name, key, 0)
			m.must("RunningOf", err, err2)
			next, err := m.store.NextOf(m.ctx, m.namespace, name, key)
			wantNext, err2 := m.model.NextOf(m.ctx, m.namespace, name, key)
			m.must("NextOf", err, err2)
			m.same("when the next of a key may start", next, wantNext)
			if !slices.Equal(got, want) {
				m.t.Fatalf("of the limit %s and the key %s %v run, and on the model %v", name, key, m.names(got), m.names(want))
			}
		}
	}
}

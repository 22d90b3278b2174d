package machine

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
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
	got, gotErr := m.store.SaveLimit(m.ctx, l, known.store.Version, "")
	want, wantErr := m.model.SaveLimit(m.ctx, l, known.model.Version, "")
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

// claimOfModel claims on the model what a store has claimed. Reading: a store forgets that there
// are jobs which count in limits per key when a claim finds none. Of those that come later it need
// not know, but of those that it enqueues itself: the next claim may leave them alone, if it takes
// others or is repeated (see store.Claims). By that it learns of them. And a claim that has put
// some aside may give up looking for others, and says so.
func (m *machine) claimOfModel(params store.ClaimParams, got []store.Claimed, again bool) (want []store.Claimed, err error) {
	if !m.mode.gated || again {
		return m.model.Claim(m.ctx, params)
	}
	found, err := m.model.FindsGated(m.ctx, params)
	if err != nil {
		return nil, err
	}
	passed := params.Passed
	switch {
	case m.gatesForgotten && (len(got) > 0 || params.Repeat) && !slices.ContainsFunc(got, isGated):
		want, err = m.model.ClaimBeside(m.ctx, params, env.ClaimedIDs(got))
	case passed.More && passed.Jobs > 0:
		params.Limit = min(params.Limit, len(got))
		want, err = m.model.Claim(m.ctx, params)
	default:
		want, err = m.model.Claim(m.ctx, params)
	}
	m.gatesForgotten = !found
	m.checkPassed(passed)
	return want, err
}

// checkPassed checks that no more jobs were passed over by a claim than wait after it.
func (m *machine) checkPassed(passed *store.Passed) {
	if passed.Jobs == 0 {
		return
	}
	wait := 0
	for _, r := range m.list(m.model) {
		if r.State == store.Available && !r.Blocked && r.Options.Limit != "" {
			wait++
		}
	}
	if passed.Jobs > wait {
		m.t.Fatalf("a claim has passed over %d jobs, and %d wait for their limits", passed.Jobs, wait)
	}
}

func isGated(c store.Claimed) bool { return c.Job.Options.Limit != "" }

// checkGates compares who runs under which key.
func (m *machine) checkGates() {
	if !m.mode.gated {
		return
	}
	var keys []store.KeyOfLimit
	for _, name := range machineLimits {
		for _, key := range []string{"x", "y"} {
			keys = append(keys, store.KeyOfLimit{Limit: name, Key: key})
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
	for _, queue := range machineQueues {
		m.checkWaiting(queue, keys)
	}
}

// checkWaiting compares how many jobs of keys wait in a queue, in both ways of counting.
func (m *machine) checkWaiting(queue string, keys []store.KeyOfLimit) {
	for _, few := range []int{0, -1} {
		params := store.WaitingOfKeysParams{Namespace: m.namespace, Queue: queue, Keys: keys, Most: 3, Few: few}
		got, err := m.store.WaitingOfKeys(m.ctx, params)
		want, err2 := m.model.WaitingOfKeys(m.ctx, params)
		m.must("WaitingOfKeys", err, err2)
		m.same(fmt.Sprintf("how many jobs wait of each key in %s, few: %d", queue, few), got, want)
	}
}

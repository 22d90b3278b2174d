package machine

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine on limits: people make, change and delete them, and nodes ask for
// slots of them, in calls that come late and twice, and when they are dead.

var machineLimits = []string{"a", "b"}

// bound is a limit as it was read on both sides, which have ids of their own.
type bound struct{ store, model store.Limit }

// grant is a call for slots that was sent.
type grant struct {
	node   int
	call   int64
	asks   []store.LimitAsk // without a limit, which is
	limits []bound
}

func (m *machine) limitActions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"limit": m.saveLimit, "unlimit": m.deleteLimit, "ask again": m.repeatGrant}
	for i := range 6 {
		all[fmt.Sprintf("ask%d", i)] = m.askSlots
	}
	return all
}

// limitNamed returns the limit with a name as both sides have it; the versions are 0 if there is
// none.
func (m *machine) limitNamed(name string) (b bound) {
	got, err := m.store.Limits(m.ctx, m.namespace, name)
	want, err2 := m.model.Limits(m.ctx, m.namespace, name)
	m.must("Limits", err, err2)
	if len(got) > 0 && len(want) > 0 {
		b = bound{got[0], want[0]}
	}
	return b
}

// anyLimit draws a limit as it is, mostly, or as it was.
func (m *machine) anyLimit(t *rapid.T) bound {
	if len(m.limits) > 0 && chance(t, "old", 35) {
		return m.limits[len(m.limits)-1-rapid.IntRange(0, min(len(m.limits)-1, 5)).Draw(t, "limit from the last")]
	}
	return m.limitNamed(pick(t, "limit", machineLimits...))
}

func (m *machine) saveLimit(t *rapid.T) {
	name := pick(t, "limit", machineLimits...)
	l := store.Limit{Namespace: m.namespace, Name: name}
	l.Capacity = rapid.IntRange(0, 8).Draw(t, "capacity")
	if chance(t, "of some", 30) {
		l.Queues, l.Kinds = []string{m.anyQueue(t)}, map[string]int{pick(t, "kind", machineKinds...): pick(t, "weight", 1, 2, 9)}
	}
	l.Rate = pick(t, "rate", nil, &store.Rate{Count: 20, Per: time.Minute}, &store.Rate{Count: 7, Per: time.Minute, Burst: 5})
	l.Uncapped = l.Rate != nil && l.Capacity == 0
	l.Fair = !l.Uncapped && chance(t, "fair", 50)
	known := m.limitNamed(name)
	expect := max(0, known.model.Version+pick(t, "version", int64(0), 0, 0, 0, 0, 1, -1))
	t.Logf("save limit %s, expecting %d: %+v", name, expect, l.LimitSettings)
	got, gotErr := m.store.SaveLimit(m.ctx, l, expect, "")
	want, wantErr := m.model.SaveLimit(m.ctx, l, expect, "")
	m.sameErr("SaveLimit", gotErr, wantErr)
	m.sameLimits("SaveLimit", []store.Limit{got}, []store.Limit{want})
	if wantErr == nil {
		m.limits = append(m.limits, bound{got, want})
	}
}

func (m *machine) deleteLimit(t *rapid.T) {
	if !chance(t, "really", 40) {
		t.Skip("limits are to grow old")
	}
	name, force := pick(t, "limit", machineLimits...), chance(t, "force", 40)
	t.Logf("delete limit %s, force %v", name, force)
	is := m.store.DeleteLimit(m.ctx, m.namespace, name, force, "")
	m.sameErr("DeleteLimit", is, m.model.DeleteLimit(m.ctx, m.namespace, name, force, ""))
}

// askSlots draws a call of a node about some limits, now and then one that comes late.
func (m *machine) askSlots(t *rapid.T) {
	g := grant{node: m.anyNode(t), call: m.seq()}
	if chance(t, "late", 15) && len(m.grants) > 0 {
		g.call = one(t, "before", m.grants).call - 1
	}
	for range rapid.IntRange(0, 2).Draw(t, "asks") {
		b := m.anyLimit(t)
		if b.model.ID == 0 || slices.ContainsFunc(g.limits, func(other bound) bool { return other.model.ID == b.model.ID }) {
			continue
		}
		keep := 0
		for _, h := range m.limitNamed(b.model.Name).model.Holders {
			if h.Node == m.nodes[g.node].model {
				keep = rapid.IntRange(0, h.Slots).Draw(t, "keep")
			}
		}
		if chance(t, "runs already", 10) {
			keep = rapid.IntRange(0, 6).Draw(t, "keep")
		}
		g.limits = append(g.limits, b)
		g.asks = append(g.asks, store.LimitAsk{Version: b.model.Version, Keep: keep, Want: rapid.IntRange(0, 8).Draw(t, "want")})
	}
	if m.grants = append(m.grants, g); len(m.grants) > 20 {
		m.grants = m.grants[1:]
	}
	m.sendGrant(&g)
}

func (m *machine) repeatGrant(t *rapid.T) {
	if len(m.grants) == 0 {
		t.Skip("nothing to repeat")
	}
	g := one(t, "call", m.grants)
	m.sendGrant(&g)
}

// sendGrant sends a call on both sides, and compares the answers. They come in any order.
func (m *machine) sendGrant(g *grant) {
	m.t.Logf("node %d asks, call %d: %+v", g.node, g.call, g.asks)
	params := func(node int64, side func(bound) int64) store.GrantParams {
		p := store.GrantParams{Node: node, Call: g.call, Asks: slices.Clone(g.asks)}
		for i, b := range g.limits {
			p.Asks[i].Limit = side(b)
			m.t.Logf("       of %s", b.model.Name)
		}
		return p
	}
	got, gotErr := m.store.Grant(m.ctx, params(m.nodes[g.node].store, func(b bound) int64 { return b.store.ID }))
	want, wantErr := m.model.Grant(m.ctx, params(m.nodes[g.node].model, func(b bound) int64 { return b.model.ID }))
	m.sameErr("Grant", gotErr, wantErr)
	byLimit := map[int64]store.Grant{}
	for _, w := range want {
		at := slices.IndexFunc(g.limits, func(b bound) bool { return b.model.ID == w.Limit })
		w.Limit = g.limits[at].store.ID
		byLimit[w.Limit] = w
	}
	answered := map[int64]store.Grant{}
	for _, a := range got {
		answered[a.Limit] = a
	}
	m.same("Grant", answered, byLimit)
	for _, a := range got {
		at := slices.IndexFunc(g.limits, func(b bound) bool { return b.store.ID == a.Limit })
		if a.Slots > g.asks[at].Keep && a.Held > a.Capacity && m.grants[len(m.grants)-1].call == g.call {
			m.t.Fatalf("LimitsHold: a node that keeps %d was granted %+v", g.asks[at].Keep, a)
		}
	}
}

// sameLimits compares limits with their holders.
func (m *machine) sameLimits(what string, got, want []store.Limit) {
	for _, side := range []struct {
		limits []store.Limit
		of     func(node) int64
	}{{got, storeSide}, {want, modelSide}} {
		for i := range side.limits {
			l := &side.limits[i]
			l.CreatedAt, l.UpdatedAt = l.CreatedAt.UTC().Truncate(time.Microsecond), l.UpdatedAt.UTC().Truncate(time.Microsecond)
			if m.mode.lossy && !l.NextAt.After(m.clock.Now()) {
				l.NextAt = time.Time{} // a time that has passed and none say the same; a repeated save may find another one
			}
			l.Holders = slices.Clone(l.Holders)
			l.Wishes = slices.Clone(l.Wishes)
			for _, nodes := range [][]store.Holder{l.Holders, l.Wishes} {
				for j := range nodes {
					nodes[j].Node = m.place(nodes[j].Node, side.of)
				}
			}
		}
	}
	m.same(what, got, want, cmpopts.IgnoreFields(store.Limit{}, "ID"))
}

// checkLimits compares all limits, and who holds slots of them.
func (m *machine) checkLimits() {
	m.checkGates()
	if !m.mode.limited && !m.mode.gated {
		return
	}
	got, err := m.store.Limits(m.ctx, m.namespace, "")
	want, err2 := m.model.Limits(m.ctx, m.namespace, "")
	m.must("Limits", err, err2)
	m.sameLimits("Limits", got, want)
}

// dropLimits leaves none to the next check. Nodes have left by then, and hold nothing, unless a
// rescue has to take their jobs first.
func (m *machine) dropLimits(inner store.Store) {
	left, err := inner.Limits(m.ctx, m.namespace, "")
	m.must("Limits", err)
	_, err = inner.Rescue(m.ctx, store.RescueParams{})
	m.must("Rescue", err)
	for _, l := range left {
		m.must("DeleteLimit", inner.DeleteLimit(m.ctx, l.Namespace, l.Name, false, ""))
	}
}

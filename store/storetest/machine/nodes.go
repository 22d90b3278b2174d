package machine

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine on nodes: they join with promises, beat, lead, ask what they hold,
// leave and die.

func (m *machine) joinNode(t *rapid.T) {
	alive := 0
	for _, n := range m.nodes {
		if n.alive {
			alive++
		}
	}
	if alive >= 3 {
		t.Skip("enough nodes")
	}
	info := store.NodeInfo{
		Name: "n", Slots: 3, QueueSlots: map[string]int{"q": 2}, DeadAfter: time.Minute, Policies: anyPolicies(t),
	}
	info.Mode = pick(t, "known mode", store.NodeRuns, store.NodeRuns, store.NodeQuiet)
	there := info
	if len(m.nodes) > 0 && chance(t, "again", 40) {
		was := one(t, "was", m.nodes)
		info.Was, there.Was = was.store, was.model
	}
	a, err := m.store.Join(m.ctx, info)
	b, err2 := m.model.Join(m.ctx, there)
	m.must("Join", err, err2)
	if m.place(a, storeSide) >= 0 {
		t.Fatalf("OneOwner: node id %d came twice", a)
	}
	m.nodes = append(m.nodes, node{store: a, model: b, alive: true, beats: []time.Time{m.clock.Now()}})
	t.Logf("node %d joins, and promises %+v", len(m.nodes)-1, info.Policies)
}

// anyPolicies draws what a node promises, such that it can be told to the microsecond. Of the third
// kind nothing is ever promised: its jobs say themselves how long they wait.
func anyPolicies(t *rapid.T) map[string]store.Policy {
	policies := map[string]store.Policy{}
	for _, kind := range machineKinds[:2] {
		policies[kind] = pick(t, "policy of "+kind,
			store.Policy{Delays: []time.Duration{10 * time.Second}},
			store.Policy{MaxAttempts: 1, Delays: []time.Duration{time.Second}},
			store.Policy{MaxAttempts: 5, Backoff: store.Backoff{Base: 7 * time.Second, Cap: 10 * time.Second}},
			store.Policy{MaxAttempts: 3, Delays: []time.Duration{time.Second, time.Minute}, Backoff: store.Backoff{Base: time.Hour}},
		)
	}
	return policies
}

// anyNode draws a node, mostly one that is alive.
func (m *machine) anyNode(t *rapid.T) int {
	if len(m.nodes) == 0 || (len(m.nodes) < 2 && chance(t, "new node", 50)) {
		m.joinNode(t)
	}
	var alive []int
	for i, n := range m.nodes {
		if n.alive {
			alive = append(alive, i)
		}
	}
	if len(alive) > 0 && !chance(t, "any node", 5) {
		return rapid.SampledFrom(alive).Draw(t, "node")
	}
	return rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
}

func (m *machine) leaveNode(t *rapid.T) {
	i := m.anyNode(t)
	t.Logf("node %d leaves", i)
	_, err := m.store.Leave(m.ctx, m.nodes[i].store)
	_, err2 := m.model.Leave(m.ctx, m.nodes[i].model)
	m.must("Leave", err, err2)
	m.nodes[i].alive = false
	m.gone(i)
	m.sameNodes()
	m.sweepCancels(t) // a store may leave it to the sweep to cancel what was to be cancelled
}

// askNode has a person want something of a node, and compares what becomes of it.
func (m *machine) askNode(t *rapid.T) {
	i := m.anyNode(t)
	params := store.AskNodeParams{
		Mode: pick(t, "mode", store.NodeRuns, store.NodeQuiet, store.NodeQuiet, store.NodeDrains), Actor: pick(t, "actor", "ada", "bob"),
	}
	t.Logf("%s asks node %d to be %v", params.Actor, i, params.Mode)
	params.Node = m.nodes[i].store
	err := m.store.AskNode(m.ctx, params)
	params.Node = m.nodes[i].model
	err2 := m.model.AskNode(m.ctx, params)
	m.sameErr("AskNode", err, err2)
	m.sameNodes()
}

// sameNodes compares what is listed of what people want of the nodes.
func (m *machine) sameNodes() {
	type wanted struct {
		mode   store.NodeMode
		at     time.Time
		by     string
		unwell []string
	}
	listed := func(s store.Store, side func(node) int64) map[int64]wanted {
		nodes, err := s.Nodes(m.ctx)
		m.must("Nodes", err)
		found := map[int64]wanted{}
		for _, n := range nodes {
			if i := m.place(n.ID, side); i >= 0 { // one of this machine, whose answer to the join has come
				found[i] = wanted{n.Mode, n.ModeAt.UTC(), n.ModeBy, n.Unwell}
			}
		}
		return found
	}
	m.same("what is wanted of the nodes", listed(m.store, storeSide), listed(m.model, modelSide), cmp.AllowUnexported(wanted{}))
}

// gone notes that the leases of a node are over.
func (m *machine) gone(node int) {
	for _, r := range m.runs {
		if r.store.Lease.Node == m.nodes[node].store && r.job.lease == r.store.Lease.Number {
			r.job.live = false
		}
	}
}

func (m *machine) beatNode(t *rapid.T) {
	i := m.anyNode(t)
	params := store.BeatParams{Lead: chance(t, "lead", 80)}
	if chance(t, "stand", 50) {
		params.LeaderTTL = machineTTL
	}
	if chance(t, "held", 40) {
		params.Held = m.anyHeld(t)
	}
	if chance(t, "unwell", 20) {
		params.Unwell = []string{pick(t, "what is wrong", "claims", "promotion")}
	}
	t.Logf("node %d beats: %+v", i, params)
	got, want := m.beat(i, params)
	if params.LeaderTTL == 0 {
		return // whether a beat that does not stand tells of the leadership is not promised
	}
	m.same("leader", got.Leader, want.Leader)
	if !got.Leader {
		return
	}
	if got.Epoch < m.epoch {
		t.Fatalf("the epoch went from %d to %d", m.epoch, got.Epoch)
	}
	m.epoch = got.Epoch
	if w, g := want.Work, got.Work; w.Rescue && !g.Rescue || w.SweepCancels && !g.SweepCancels || w.CloseChildren && !g.CloseChildren {
		t.Fatalf("a beat tells the leader of %+v, there is %+v to do", g, w)
	}
	m.same("time of the beat", got.At, want.At)
	m.same("beats of the others", m.placed(got.Nodes, storeSide), m.placed(want.Nodes, modelSide))
}

// anyHeld draws claims of which jobs may be running.
func (m *machine) anyHeld(t *rapid.T) store.HeldParams {
	var asked store.HeldParams
	for _, c := range m.claims {
		if chance(t, "claim", 30) {
			asked.Claims = append(asked.Claims, c.params.Seq)
		}
	}
	if len(m.claims) > 0 && chance(t, "range", 50) {
		asked.From = one(t, "from", m.claims).params.Seq + pick(t, "after", int64(0), 1)
		asked.To = one(t, "to", m.claims).params.Seq + pick(t, "after", int64(0), 1)
	}
	return asked
}

// beat lets a node beat, and compares what it is told of its jobs.
func (m *machine) beat(i int, params store.BeatParams) (got, want store.Beat) {
	params.Node = m.nodes[i].store
	got, err := m.store.Beat(m.ctx, params)
	params.Node = m.nodes[i].model
	want, err2 := m.model.Beat(m.ctx, params)
	m.sameErr("Beat", err, err2)
	m.same("mode", got.Mode, want.Mode)
	if err2 == nil {
		m.nodes[i].beats = append(m.nodes[i].beats, m.clock.Now())
	}
	byJob := func(a, b store.CancelRequest) int { return slices.Compare(a.Job[:], b.Job[:]) }
	slices.SortFunc(got.Cancels, byJob)
	slices.SortFunc(want.Cancels, byJob)
	for i, c := range want.Cancels {
		told := i < len(got.Cancels) && m.asTold(c.Job, c.Reason) == m.asTold(c.Job, got.Cancels[i].Reason)
		if told && c.Reason != got.Cancels[i].Reason || m.ownWords(c.Reason) && i < len(got.Cancels) {
			got.Cancels[i].Reason, got.Cancels[i].Actor = c.Reason, c.Actor
		}
	}
	m.same("cancels", got.Cancels, want.Cancels, cmpopts.IgnoreFields(store.CancelRequest{}, "At"))
	m.same("pauses", sortedIDs(got.Pauses), sortedIDs(want.Pauses))
	byLease := func(a, b store.Lease) int { return slices.Compare(a.Job[:], b.Job[:]) }
	slices.SortFunc(got.Held, byLease)
	slices.SortFunc(want.Held, byLease)
	m.same("held", got.Held, want.Held, cmpopts.IgnoreFields(store.Lease{}, "Node", "Slot"))
	return got, want
}

// placed makes beats of the two sides the same if they say the same. Nodes whose answer to the join
// was lost is unknown.
func (m *machine) placed(beats []store.NodeBeat, side func(node) int64) []store.NodeBeat {
	var placed []store.NodeBeat
	for _, b := range beats {
		if i := m.place(b.Node, side); i >= 0 || !m.mode.lossy {
			placed = append(placed, store.NodeBeat{Node: i, At: b.At.UTC()})
		}
	}
	slices.SortFunc(placed, func(a, b store.NodeBeat) int { return int(a.Node - b.Node) })
	return placed
}

func (m *machine) moveClock(t *rapid.T) {
	if chance(t, "back", 8) && !m.rated {
		m.clock.Advance(-pick(t, "by", time.Millisecond, time.Second, time.Minute, time.Hour))
		t.Logf("the clock goes back: it is %v", m.clock.Now())
		return
	}
	d := pick(t, "by", time.Millisecond, time.Second, time.Second, 10*time.Second, 30*time.Second, 5*time.Minute, time.Hour, 4*24*time.Hour)
	// Most nodes are not late, or nothing would ever run to its end.
	if chance(t, "all beat", 80) {
		m.pass(t, d, -1)
	} else {
		m.clock.Advance(d)
		t.Logf("it is %v, and nobody beats", m.clock.Now())
	}
}

// pass moves the clock, and lets every node beat but one.
func (m *machine) pass(t *rapid.T, d time.Duration, silent int) {
	m.clock.Advance(d)
	t.Logf("it is %v, and all but node %d beat", m.clock.Now(), silent)
	for i, n := range m.nodes {
		if n.alive && i != silent {
			m.beat(i, store.BeatParams{})
		}
	}
}

// anyDead draws which nodes are named as dead, with their last sign of life or another one.
func (m *machine) anyDead(t *rapid.T) (got, want []store.NodeBeat) {
	for i, n := range m.nodes {
		percent := 15
		for _, r := range m.runs { // or rescues would find little, and no attempt after the first
			if r.job.live && r.store.Lease.Node == n.store && r.store.Lease.Number == r.job.lease {
				percent = max(percent, min(40*r.model.Job.Attempt, 90))
			}
		}
		if !chance(t, "named", percent) {
			continue
		}
		at := n.beats[len(n.beats)-1]
		if chance(t, "stale", 30) {
			at = pick(t, "seen", append([]time.Time{{}, at.Add(time.Microsecond)}, n.beats...)...)
		}
		t.Logf("node %d is named as dead since %v", i, at)
		got, want = append(got, store.NodeBeat{Node: n.store, At: at}), append(want, store.NodeBeat{Node: n.model, At: at})
	}
	return got, want
}

func (m *machine) rescueNodes(t *rapid.T) {
	dead, modelDead := m.anyDead(t)
	limit := pick(t, "limit", 100, 0, 1, 2)
	t.Logf("rescue, with the limit %d", limit)
	rescue := func(s store.Store, dead []store.NodeBeat, side func(node) int64) (all []store.RescuedJob, died []int64) {
		for {
			rescued, err := s.Rescue(m.ctx, store.RescueParams{Dead: dead, Limit: limit})
			m.must("Rescue", err)
			for _, id := range rescued.Died {
				died = append(died, m.place(id, side))
			}
			if len(rescued.Jobs) == 0 {
				break
			}
			all, dead = append(all, rescued.Jobs...), nil
		}
		slices.Sort(died)
		return m.tidyRescued(all, side), died
	}
	got, died := rescue(m.store, dead, storeSide)
	want, modelDied := rescue(m.model, modelDead, modelSide)
	for _, r := range want {
		m.find(r.Job).pass(r.State)
	}
	if !m.mode.lossy {
		m.same("Rescue", got, want)
		m.same("nodes declared dead", died, modelDied)
	}
	listed, err := m.model.Nodes(m.ctx)
	m.must("Nodes", nil, err)
	for _, n := range listed {
		if i := m.place(n.ID, modelSide); !n.DeadAt.IsZero() && m.nodes[i].alive {
			m.nodes[i].alive = false
			m.gone(int(i))
		}
	}
}

// tidyRescued makes what the two sides say of jobs that were rescued the same if it says the same.
func (m *machine) tidyRescued(all []store.RescuedJob, side func(node) int64) []store.RescuedJob {
	for i := range all {
		r := &all[i]
		r.Node = m.place(r.Node, side)
		if r.State != store.Retryable {
			r.RunAt = time.Time{}
		}
		if r.State == store.Waiting {
			r.Reason = "" // Reading: it is not promised here why a rescued job is held
		}
	}
	slices.SortFunc(all, func(a, b store.RescuedJob) int { return slices.Compare(a.Job[:], b.Job[:]) })
	return all
}

// giveUpRuns draws runs that their nodes give up, live or not.
func (m *machine) giveUpRuns(t *rapid.T) {
	var got, want []store.Lease
	var ids []store.ID
	for _, r := range m.runs {
		percent := 10
		if r.job.live && r.store.Lease.Number == r.job.lease {
			percent = 40
		}
		if chance(t, "given up", percent) {
			got, want = append(got, r.store.Lease), append(want, r.model.Lease)
			ids = append(ids, r.store.Lease.Job)
		}
	}
	if len(got) == 0 {
		t.Skip("nothing to give up")
	}
	t.Logf("give up runs of %v", m.names(ids))
	rescued, err := m.store.Rescue(m.ctx, store.RescueParams{Lost: got})
	expected, err2 := m.model.Rescue(m.ctx, store.RescueParams{Lost: want})
	m.must("Rescue", err, err2)
	for _, r := range expected.Jobs {
		k := m.find(r.Job)
		k.live = false
		k.pass(r.State)
	}
	if !m.mode.lossy {
		m.same("Rescue", m.tidyRescued(rescued.Jobs, storeSide), m.tidyRescued(expected.Jobs, modelSide))
	}
}

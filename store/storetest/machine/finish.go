package machine

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// finish ends a check that passed: every job can still be brought to an end, and the store is left
// as good as empty, with no node and nothing unfinished, for the next check.
func (m *machine) finish(p *pool, inner store.Store) {
	m.compareJobs()
	nodes, err := inner.Nodes(m.ctx)
	m.must("Nodes", err)
	for _, n := range nodes {
		_, err := inner.Leave(m.ctx, n.ID)
		m.must("Leave", err)
	}
	m.endLease(inner)
	var ids []store.ID
	for _, k := range m.jobs {
		if !k.removed {
			ids = append(ids, k.enqueue.Job.ID)
		}
	}
	_, err = inner.SweepCancels(m.ctx)
	m.must("SweepCancels", err)
	_, _, err = inner.Cancel(m.ctx, store.CancelParams{Jobs: ids, Reason: "the check is over", Terminate: true})
	m.must("Cancel", err)
	m.closeAll(inner)
	ended, err := inner.Ended(m.ctx, "", ids)
	m.must("Ended", err)
	if len(ended) != len(ids) {
		m.t.Fatalf("NoLoss: of %d jobs that were all cancelled only %d have ended", len(ids), len(ended))
	}
	m.dropSchedules(inner)
	m.dropLimits(inner)
	p.store = inner
}

// How a machine ends a check that passed.

// compareJobs compares all that is known of every job.
func (m *machine) compareJobs() {
	var ids []store.ID
	for _, k := range m.jobs {
		id := k.enqueue.Job.ID
		ids = append(ids, id)
		got, gotErr := m.store.Get(m.ctx, "", id)
		want, wantErr := m.model.Get(m.ctx, "", id)
		m.sameErr("Get", gotErr, wantErr)
		m.noteClosed([]store.Record{want})
		m.same("Get", m.tidy(got, storeSide), m.tidy(want, modelSide))
	}
	got, err := m.store.Ended(m.ctx, "", ids)
	m.must("Ended", err)
	want, err := m.model.Ended(m.ctx, "", ids)
	m.must("Ended", nil, err)
	byID := func(a, b store.Ended) int { return slices.Compare(a.ID[:], b.ID[:]) }
	slices.SortFunc(got, byID)
	slices.SortFunc(want, byID)
	for i := range want {
		want[i].Error = m.asTold(want[i].ID, want[i].Error)
	}
	for i := range got {
		got[i].Error = m.asTold(got[i].ID, got[i].Error)
		if i < len(want) && want[i].Error == "" && want[i].State == store.Failed {
			got[i].Error = "" // of a rescue
		}
		if i < len(want) && m.closed[want[i].ID] {
			got[i].Error, want[i].Error = "", ""
		}
	}
	m.same("Ended", got, want)
	m.checkJournals(m.list(m.store))
}

// endLease ends the leader lease for good: that of a node that was declared dead may be one again
// when the clock goes back. If there is one now it has at most its whole length to go.
func (m *machine) endLease(inner store.Store) {
	node, err := inner.Join(m.ctx, store.NodeInfo{Name: "last"})
	m.must("Join", err)
	for range 2 {
		beat, err := inner.Beat(m.ctx, store.BeatParams{Node: node, LeaderTTL: machineTTL})
		m.must("Beat", err)
		if beat.Leader {
			_, err := inner.Leave(m.ctx, node)
			m.must("Leave", err)
			return
		}
		m.clock.Advance(machineTTL)
	}
	m.t.Fatal("the lease of a leader that is gone does not end")
}

// closeAll closes the children of one side until nothing is left, and returns those that were
// ended.
func (m *machine) closeAll(s store.Store) []store.ID {
	var ended []store.ID
	for calls := 0; ; calls++ {
		closed, err := s.CloseChildren(m.ctx, 3)
		m.must("CloseChildren", err)
		ended = append(ended, closed.Ended...)
		if !closed.More {
			return sortedIDs(ended)
		}
		if calls > 1000 {
			m.t.Fatal("CloseChildren never comes to an end")
		}
	}
}

// settleLives looks which runs are over since their jobs were terminated.
func (m *machine) settleLives() {
	for _, k := range m.jobs {
		if !k.live {
			continue
		}
		record, err := m.model.Get(m.ctx, "", k.enqueue.Job.ID)
		m.must("Get", nil, err)
		k.live = record.State == store.Running
	}
}

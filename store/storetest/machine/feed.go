package machine

import (
	"github.com/holdfastdev/holdfast/store"
)

// followFeed begins to follow the feed of the store, and switches it on if it is off.
func (m *machine) followFeed() {
	m.must("OrderFeed", m.store.OrderFeed(m.ctx)) // of what was done to the store before
	status, err := m.store.SetFeed(m.ctx, true, "")
	m.must("SetFeed", err)
	m.follows, m.feedAt, m.inFeed = true, status.Newest, map[store.ID]store.State{}
}

// checkFeed reads what the feed says of the jobs since it was read last: the positions are dense,
// each job goes only where Transitions lets it, and in the end it is where List finds it.
func (m *machine) checkFeed(records []store.Record) {
	if !m.follows {
		return
	}
	m.must("OrderFeed", m.store.OrderFeed(m.ctx))
	for more := true; more; {
		page, err := m.store.ReadFeed(m.ctx, store.FeedParams{After: m.feedAt, Limit: 100})
		m.must("ReadFeed", err)
		for _, c := range page.Changes {
			if m.feedAt.Count++; c.Position != m.feedAt {
				m.t.Fatalf("the feed: %+v has not the position %v", c, m.feedAt)
			}
			// A job that starts with its enqueue is told once.
			before := m.inFeed[c.Job]
			if before != c.State && !store.Allowed(before, c.State) && !(before == 0 && c.State == store.Running) {
				m.t.Fatalf("the feed: %v went from %v to %v", m.names([]store.ID{c.Job}), before, c.State)
			}
			m.inFeed[c.Job] = c.State
		}
		if page.Next != m.feedAt {
			m.t.Fatalf("the feed goes on after %v, and not %v", page.Next, m.feedAt)
		}
		more = page.More
	}
	for _, r := range records {
		if told := m.inFeed[r.ID]; told != r.State {
			m.t.Fatalf("the feed says of %v that it is %v; it is %v", m.names([]store.ID{r.ID}), told, r.State)
		}
	}
}

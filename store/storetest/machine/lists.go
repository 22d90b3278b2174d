package machine

import (
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// listJobs compares what a filter selects, in an order, and how many that is.
func (m *machine) listJobs(t *rapid.T) {
	f, node := m.anyFilter(t)
	sort := pick(t, "sort", store.Sorts...)
	if sort == store.SortRunAt || sort == store.SortFinished {
		f.States = nil // or those that can be sorted like this
		if chance(t, "own states", 50) {
			f.States = m.anyStates(t, sort.States())
		}
	}
	params := store.ListParams{Filter: f, Sort: sort, Limit: pick(t, "limit", 2, 1, 5, 1000)}
	t.Logf("list %d at once by %s: %s", params.Limit, sort, m.filterText(&f, node))
	of := params
	if node >= 0 {
		params.Filter.LostFrom, of.Filter.LostFrom = m.nodes[node].store, m.nodes[node].model
	}
	got, want := m.pages(m.store, params), m.pages(m.model, of)
	m.same("list by "+sort.String(), m.names(got), m.names(want))
	m.same("count", m.count(m.store, params.Filter), m.count(m.model, of.Filter))
}

// groupDead compares the groups of dead letters.
func (m *machine) groupDead(t *rapid.T) {
	params := store.DeadParams{
		Filter: store.Filter{Namespace: m.namespace}, Limit: pick(t, "limit", 1, 2, 1000), Most: pick(t, "most", 0, 1, 2),
	}
	if chance(t, "fingerprints", 30) {
		params.Filter.Fingerprints = pick(t, "fingerprints", []int64{-5}, []int64{0, 7})
	}
	t.Logf("groups of dead letters %v, %d at once, up to %d", params.Filter.Fingerprints, params.Limit, params.Most)
	m.same("groups of dead letters", m.deadGroups(m.store, params), m.deadGroups(m.model, params))
}

// deadGroups are the groups of all pages. Of several jobs that failed at one moment each may be the
// last: the ids of the two stores are not in the same order.
func (m *machine) deadGroups(s store.Store, params store.DeadParams) (texts []string) {
	for range 1000 {
		page, err := s.DeadGroups(m.ctx, params)
		m.must("DeadGroups", err)
		for _, g := range page.Groups {
			record, err := s.Get(m.ctx, params.Filter.Namespace, g.Job)
			m.must("Get", err)
			if record.Fingerprint != g.Fingerprint || record.Kind != g.Kind || !record.FinishedAt.Equal(g.LastSeen) ||
				record.Reason != g.Reason || record.Error != g.Error {
				m.t.Fatalf("the group %+v is not that of its last job %+v", g, record)
			}
			texts = append(texts, fmt.Sprint(g.Kind, g.Fingerprint, g.Count, g.FirstSeen.UnixMicro(), g.LastSeen.UnixMicro(), g.Queues))
		}
		if params.After = page.Next; params.After == "" {
			return texts
		}
	}
	m.t.Fatal("DeadGroups never ends")
	return nil
}

// pages are the jobs of all pages.
func (m *machine) pages(s store.Store, params store.ListParams) (ids []store.ID) {
	for range 1000 {
		page, err := s.List(m.ctx, params)
		m.must("List", err)
		if len(page.Jobs) > params.Limit {
			m.t.Fatalf("a page of %d has %d jobs", params.Limit, len(page.Jobs))
		}
		for i := range page.Jobs {
			ids = append(ids, page.Jobs[i].ID)
		}
		if params.After = page.Next; params.After == "" {
			return ids
		}
	}
	m.t.Fatal("List never ends")
	return nil
}

func (m *machine) count(s store.Store, f store.Filter) (n int) {
	params := store.CountParams{Filter: f}
	for range 1000 {
		part, err := s.Count(m.ctx, params)
		m.must("Count", err)
		n += part.N
		if params.After = part.Next; params.After == "" {
			return n
		}
	}
	m.t.Fatal("Count never ends")
	return 0
}

// anyFilter draws a filter of some fields, and the node from which runs were lost, or -1.
func (m *machine) anyFilter(t *rapid.T) (f store.Filter, node int) {
	f.Namespace, node = m.namespace, -1
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		switch pick(t, "field", "states", "queues", "kinds", "ids", "reasons", "fingerprints", "tags", "key", "family", "node", "time", "path") {
		case "states":
			f.States = m.anyStates(t, store.SetOf(store.States...))
		case "queues":
			f.Queues = pick(t, "queues", machineQueues[:1], machineQueues, []string{"none"})
		case "kinds":
			f.Kinds = pick(t, "kinds", machineKinds[:1], machineKinds[1:])
		case "ids":
			for range rapid.IntRange(1, 4).Draw(t, "ids") {
				f.IDs = append(f.IDs, m.anyJob(t))
			}
		case "reasons":
			f.Reasons = pick(t, "reasons", []store.Reason{store.ReasonTerminal}, []store.Reason{store.ReasonCancelled, store.ReasonTerminated},
				[]store.Reason{store.ReasonNodeLost, store.ReasonAttemptsExhausted, store.ReasonDeadline})
		case "fingerprints":
			f.Fingerprints = pick(t, "fingerprints", []int64{-5}, []int64{0, 7}, []int64{7, -5, 7}, []int64{8})
		case "tags":
			f.Tags = m.anyTags(t)
		case "key":
			m.anyKey(t, &f)
		case "family":
			m.anyFamily(t, &f)
		case "node":
			node = rapid.IntRange(-1, len(m.nodes)-1).Draw(t, "node")
		case "time":
			m.anyTimes(t, &f)
		default:
			m.anyMatch(t, &f)
		}
	}
	return f, node
}

// anyKey draws a unique key, or a business key that a job holds: of one that is free it is open how
// long the job is told that held it last.
func (m *machine) anyKey(t *rapid.T, f *store.Filter) {
	held := store.JobKey{Namespace: m.namespace, Kind: pick(t, "kind", machineKinds...), Key: pick(t, "business key", machineKeys...)}
	if m.isFree(held) {
		f.UniqueKey = []byte(m.namespace + pick(t, "key", "a", "b"))
		return
	}
	f.Kinds, f.Key = []string{held.Kind}, held.Key
}

func (m *machine) anyStates(t *rapid.T, of store.StateSet) (states []store.State) {
	for _, state := range store.States {
		if of.Has(state) && chance(t, "state "+state.String(), 40) {
			states = append(states, state)
		}
	}
	return states
}

func (m *machine) anyFamily(t *rapid.T, f *store.Filter) {
	switch pick(t, "family", "parent", "root", "none") {
	case "parent":
		f.Parent = m.anyJob(t)
	case "root":
		f.Root = m.anyJob(t)
	case "none":
		f.NoParent = true
	}
}

// anyTimes draws a range that begins or ends at a moment that jobs know.
func (m *machine) anyTimes(t *rapid.T, f *store.Filter) {
	moment := func(what string, from, to time.Duration) time.Time {
		if !chance(t, what, 60) {
			return time.Time{}
		}
		if len(m.last) > 0 && chance(t, "of a job", 50) {
			r := one(t, "job", m.last)
			for _, at := range []time.Time{r.FinishedAt, r.RunAt} {
				if !at.IsZero() {
					return at
				}
			}
		}
		return m.clock.Now().Add(pick(t, what+" by", 0, from, to))
	}
	switch pick(t, "time", "created", "run", "finished") {
	case "created":
		f.CreatedAfter, f.CreatedBefore = moment("after", -time.Minute, time.Second), moment("before", -time.Second, time.Minute)
	case "run":
		f.RunAfter, f.RunBefore = moment("after", -time.Minute, time.Second), moment("before", time.Second, time.Hour)
	case "finished":
		f.FinishedAfter, f.FinishedBefore = moment("after", -time.Hour, -time.Second), moment("before", -time.Second, time.Second)
	}
	inOrder(&f.CreatedAfter, &f.CreatedBefore)
	inOrder(&f.RunAfter, &f.RunBefore)
	inOrder(&f.FinishedAfter, &f.FinishedBefore)
}

// inOrder makes a range of one that ends before it begins, which no store takes.
func inOrder(after, before *time.Time) {
	if !before.IsZero() && after.After(*before) {
		*after, *before = *before, *after
	}
}

func (m *machine) anyMatch(t *rapid.T, f *store.Filter) {
	if m.mode.searched && rapid.Bool().Draw(t, "of an attribute") {
		m.anyAttributeMatch(t, f)
		return
	}
	match := store.Match{
		Path:  pick(t, "path", "n", "a.b", "a.c.1", "0.n", "/a/b/0"),
		Value: []byte(pick(t, "value", "1", "null", `"x"`, "2.5", "2", `["x"]`)),
	}
	if rapid.Bool().Draw(t, "of the args") {
		f.Args = append(f.Args, match)
	} else {
		f.Metadata = append(f.Metadata, match)
	}
}

// filterText tells what a filter selects, with jobs and nodes by their place.
func (m *machine) filterText(f *store.Filter, node int) string {
	plain := *f
	plain.IDs, plain.Parent, plain.Root, plain.Args, plain.Metadata, plain.UniqueKey = nil, store.ID{}, store.ID{}, nil, nil, nil
	var text strings.Builder
	fmt.Fprintf(&text, "%+v, ids %v, parent and root %v, key %s, lost from %d", plain, m.names(f.IDs),
		m.names([]store.ID{f.Parent, f.Root}), f.UniqueKey, node)
	for _, one := range f.Args {
		fmt.Fprintf(&text, ", args %s = %s", one.Path, one.Value)
	}
	for _, one := range f.Metadata {
		fmt.Fprintf(&text, ", metadata %s = %s", one.Path, one.Value)
	}
	return text.String()
}

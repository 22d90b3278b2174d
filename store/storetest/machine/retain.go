package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// retainJobs lets the model follow the store, which may keep jobs longer than asked but never
// shorter.
func (m *machine) retainJobs(t *rapid.T) {
	keep := func(what string) time.Duration { return pick(t, what, 0, time.Minute, time.Hour, 24*time.Hour) }
	params := store.Retention{
		Completed: keep("completed"), Failed: keep("failed"), Cancelled: keep("cancelled"), Audit: keep("audit"), Limit: 10,
	}
	// A store may go on where it was if it is asked for the same again, as it is by one program.
	if m.retained != (store.Retention{}) && !chance(t, "other times", 25) {
		params = m.retained
	}
	m.retained = params
	params.Archived = chance(t, "archived", 40)
	t.Logf("retain %+v", params)
	m.retain(params)
	for tries := 0; tries < patience && m.keepsTooLong(params); tries++ {
		m.clock.Advance(looksAgain)
		m.retain(params)
	}
	for _, k := range m.jobs {
		if k.removed || !k.state.Finished() {
			continue
		}
		id := k.enqueue.Job.ID
		_, err := m.store.Get(m.ctx, "", id)
		record, err2 := m.model.Get(m.ctx, "", id)
		m.must("Get", nil, err2)
		age, limit := m.clock.Now().Sub(record.FinishedAt), m.model.KeepOf(id, params)
		over := limit > 0 && age >= limit
		switch {
		case err == nil && over && m.model.IsNeeded(id):
		case err == nil && over && age >= limit+env.Slack:
			t.Fatalf("%v job %v finished %v ago and is kept, although %v was asked for", record.State, id, age, limit)
		case err == nil:
		case !errors.Is(err, store.ErrNotFound):
			t.Fatalf("Get: %v", err)
		case !over:
			t.Fatalf("NoLoss: %v job %v was removed %v after it finished, although %v was asked for", record.State, id, age, limit)
		case m.model.IsNeeded(id):
			t.Fatalf("NoLoss: job %v was removed before its batch was called back", id)
		default:
			m.wantStub(&record, err, params.Archived)
			m.model.Forget(id)
			k.removed = true
			m.countRemoved(&record)
		}
	}
	m.sameCounts()
	m.followJobBatches(params.Completed)
	m.model.ForgetKeys()
	m.model.ForgetNodes()
	m.followQueues()
}

// A store that drops whole days may leave one for this time to a later call, an hour or more after,
// if others used its tables just then, such as a vacuum; but not again and again.
const (
	looksAgain = time.Hour + time.Minute
	patience   = 5
)

// retain removes until there is nothing left to remove.
func (m *machine) retain(params store.Retention) {
	for more := params.Archived; more; {
		var jobs []store.EndedJob
		var err error
		jobs, more, err = m.store.Expired(m.ctx, params)
		m.must("Expired", err)
		for i := range jobs {
			if m.files++; m.files%3 != 0 { // some leave none
				jobs[i].Archived = fmt.Sprint("file ", m.files)
			}
			if m.places == nil {
				m.places = map[store.ID]string{}
			}
			m.places[jobs[i].ID] = jobs[i].Archived
		}
		_, err = m.store.RemoveExpired(m.ctx, jobs)
		m.must("RemoveExpired", err)
	}
	for range 1000 {
		retained, err := m.store.Retain(m.ctx, params)
		m.must("Retain", err)
		if !retained.More {
			return
		}
	}
	m.t.Fatal("Retain says More for ever")
}

// wantStub looks whether a job that was removed has left the stub that it was to leave, if it was
// archived.
func (m *machine) wantStub(record *store.Record, err error, archived bool) {
	var is *store.ArchivedError
	left := errors.As(err, &is)
	place := m.places[record.ID]
	if want := archived && place != ""; left != want {
		m.t.Fatalf("AtomicTransitions: job %v was removed, and a stub is left: %v, want %v", record.ID, left, want)
	}
	if left && (is.Stub.Archive != place || is.Stub.State != record.State || is.Stub.Queue != record.Queue || is.Stub.Kind != record.Kind) {
		m.t.Fatalf("job %v (%v, queue %s, kind %s) was archived in %q, and its stub is %+v", record.ID, record.State, record.Queue, record.Kind,
			place, is.Stub)
	}
}

// keepsTooLong reports whether a job is there that should have been removed.
func (m *machine) keepsTooLong(params store.Retention) bool {
	for _, k := range m.jobs {
		if k.removed || !k.state.Finished() {
			continue
		}
		record, err := m.model.Get(m.ctx, "", k.enqueue.Job.ID)
		m.must("Get", nil, err)
		limit := m.model.KeepOf(record.ID, params)
		if limit == 0 || m.clock.Now().Sub(record.FinishedAt) < limit+env.Slack || m.model.IsNeeded(record.ID) {
			continue
		}
		if _, err := m.store.Get(m.ctx, "", record.ID); err == nil {
			return true
		}
	}
	return false
}

// countedAs is what jobs that were removed are counted by, whenever that was.
type countedAs struct {
	queue string
	state store.State
}

// countRemoved counts a job that retention has removed.
func (m *machine) countRemoved(record *store.Record) {
	if m.removed == nil {
		m.removed, m.firstRemoved = map[countedAs]int64{}, m.clock.Now()
	}
	m.removed[countedAs{record.Queue, record.State}]++
}

// sameCounts checks that the store has counted what it has removed, as long as it keeps all counts.
func (m *machine) sameCounts() {
	if m.clock.Now().Sub(m.firstRemoved) >= store.RemovedKept {
		return
	}
	removed, err := m.store.Removed(m.ctx, store.RemovedParams{Namespace: m.namespace, Limit: 1000})
	m.must("Removed", err)
	got := map[countedAs]int64{}
	for _, r := range removed {
		got[countedAs{r.Queue, r.State}] += r.Jobs
	}
	want := m.removed
	if want == nil {
		want = map[countedAs]int64{}
	}
	m.same("Removed", got, want)
}

// followQueues lets the model forget the queues that the store has removed, which it may do at any
// time to those that are not needed.
func (m *machine) followQueues() {
	got, err := m.store.Queues(m.ctx, m.namespace)
	m.must("Queues", err)
	want, err := m.model.Queues(m.ctx, m.namespace)
	m.must("Queues", nil, err)
	for _, q := range want {
		listed := slices.ContainsFunc(got, func(g store.Queue) bool { return g.Name == q.Name })
		if !listed && !m.model.ForgetQueue(m.namespace, q.Name) {
			m.t.Fatalf("NoLoss: the queue %s was removed, which has jobs or is paused", q.Name)
		}
	}
	// Of queues that are not listed it cannot be seen whether the store has removed them.
	for _, name := range m.model.Unlisted(m.namespace) {
		params := store.PauseParams{Namespace: m.namespace, Queue: name}
		m.must("Pause", m.store.Pause(m.ctx, params))
		got, err := m.store.Queues(m.ctx, m.namespace)
		m.must("Queues", err)
		i := slices.IndexFunc(got, func(q store.Queue) bool { return q.Name == name })
		if i < 0 {
			m.t.Fatalf("the queue %s is not listed, although it was resumed", name)
		}
		if got[i].CreatedAt.Equal(m.clock.Now()) {
			m.model.ForgetQueue(m.namespace, name)
		}
		m.must("Pause", nil, m.model.Pause(m.ctx, params))
	}
}

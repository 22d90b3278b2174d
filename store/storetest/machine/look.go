package machine

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// check compares the states of both sides after an operation, and looks at the invariants.
func (m *machine) check(*rapid.T) {
	if m.mode.keyed {
		m.settle()
	}
	got, want := m.list(m.store), m.list(m.model)
	m.noteClosed(want)
	// The words of a rescue are the store's own; whether there may be any is seen in the attempts,
	// which List leaves out.
	for i := range want {
		if i < len(got) && want[i].Error == "" && got[i].Error != "" {
			full, err := m.model.Get(m.ctx, "", want[i].ID)
			m.must("Get", err)
			if last := full.Attempts; len(last) > 0 && slices.ContainsFunc(last, func(a store.Attempt) bool { return a.StartedAt.IsZero() }) {
				got[i].Error = ""
			}
		}
		want[i] = m.tidy(want[i], modelSide)
	}
	for i := range got {
		got[i] = m.tidy(got[i], storeSide)
	}
	m.same("List", got, want)
	m.invariants(got)
	m.checkKeys(got)
	m.last = got
	m.checkFeed(got)
	m.checkSchedules()
	m.checkLimits()
	m.checkJobBatches()

	if m.looks++; m.looks%3 == 0 { // the counts follow from what List has shown, at a price
		m.checkQueues(got)
		m.checkJournals(got)
		m.checkLogs()
		m.checkAudit(got)
	}
}

// settle hands on free ordering keys on both sides, and makes available what is due.
func (m *machine) settle() {
	for _, s := range []store.Store{m.store, m.model} {
		for {
			promoted, err := s.Promote(m.ctx, 1000)
			m.must("Promote", err)
			if !promoted.More {
				break
			}
		}
	}
}

// noteClosed remembers which jobs were ended, or asked to end, in such words.
func (m *machine) noteClosed(records []store.Record) {
	for _, r := range records {
		own := m.ownWords(r.Error)
		for _, a := range r.Attempts {
			own = own || m.ownWords(a.Error)
		}
		if own {
			m.closed[r.ID] = true
		}
	}
}

func (m *machine) checkQueues(records []store.Record) {
	queues, err := m.store.Queues(m.ctx, m.namespace)
	m.must("Queues", err)
	wantQueues, err := m.model.Queues(m.ctx, m.namespace)
	m.must("Queues", nil, err)
	for i := range queues {
		queues[i].Counts = env.Counted(queues[i])
	}
	for i := range wantQueues {
		wantQueues[i].Counts = env.Counted(wantQueues[i])
	}
	m.same("Queues", queues, wantQueues, cmpopts.IgnoreFields(store.Queue{}, "PausedAt"))

	counts, unfinished := 0, 0
	for _, q := range queues {
		for _, c := range q.Counts {
			counts += c.N
		}
	}
	for _, r := range records {
		if !r.State.Finished() {
			unfinished++
		}
	}
	if counts != unfinished {
		m.t.Fatalf("NoLoss: the queues count %d jobs, %d are listed as unfinished", counts, unfinished)
	}
}

// invariants looks at the store alone: what follows would be wrong even if the model had the same
// mistake.
func (m *machine) invariants(records []store.Record) {
	// NoLoss: every job that was enqueued is somewhere, once.
	seen := map[store.ID]bool{}
	for _, r := range records {
		if seen[r.ID] {
			m.t.Fatalf("NoLoss: job %v is in two places", r.ID)
		}
		seen[r.ID] = true
	}
	for _, k := range m.jobs {
		if !k.removed && !seen[k.enqueue.Job.ID] {
			m.t.Fatalf("NoLoss: job %v is nowhere", k.enqueue.Job.ID)
		}
	}

	holders, turns := map[string]store.ID{}, map[string]store.ID{}
	for _, r := range records {
		k := m.find(r.ID)
		// FinishedIsFinal.
		if k.state.Finished() && r.State != k.state && !k.retried {
			m.t.Fatalf("FinishedIsFinal: job %v was %v and is %v, and nobody asked for it", r.ID, k.state, r.State)
		}
		// OneOwner: lease numbers never go back, and a job runs if and only if its lease was handed
		// out and not ended.
		if r.LeaseNumber < k.lease {
			m.t.Fatalf("OneOwner: the lease number of job %v went from %d to %d", r.ID, k.lease, r.LeaseNumber)
		}
		if (r.State == store.Running) != k.live {
			m.t.Fatalf("OneOwner: job %v is %v, and its lease is live: %v", r.ID, r.State, k.live)
		}
		// UniqueIsUnique. A key that was released is not taken back, except by an operator's retry
		// of a finished job.
		if k.retried && k.state.Finished() {
			k.released = false
		}
		if len(r.UniqueKey) > 0 {
			k.pass(r.State)
			if other, taken := holders[string(r.UniqueKey)]; taken && !k.released {
				m.t.Fatalf("UniqueIsUnique: jobs %v and %v both hold the key %q", r.ID, other, r.UniqueKey)
			}
			if !k.released {
				holders[string(r.UniqueKey)] = r.ID
			}
		}
		// Order: one at a time within an ordering key.
		if r.OrderingKey != "" && r.State == store.Running {
			name := r.Queue + "/" + r.OrderingKey
			if other, taken := turns[name]; taken {
				m.t.Fatalf("Order: jobs %v and %v of one ordering key both run", r.ID, other)
			}
			turns[name] = r.ID
		}
		if (r.CancelRequested || r.PauseRequested) && r.State != store.Running {
			m.t.Fatalf("job %v is %v and still asked to stop", r.ID, r.State)
		}
		k.timeless = r.State.Finished() && (k.timeless || k.state == store.Waiting)
		k.state, k.retried = r.State, false
	}
}

// checkJournals compares what all jobs remember and what was sent to them, and looks whether one
// sleeps that should not.
func (m *machine) checkJournals(records []store.Record) {
	if !m.mode.durable || len(m.jobs) == 0 {
		return
	}
	var ids []store.ID
	for _, k := range m.jobs {
		ids = append(ids, k.enqueue.Job.ID)
	}
	got, err := m.store.Journals(m.ctx, "", ids)
	m.must("Journals", err)
	want, err := m.model.Journals(m.ctx, "", ids)
	m.must("Journals", nil, err)
	for i := range want {
		if i < len(got) {
			m.tidyJournal(m.jobs[i], &got[i], &want[i])
		}
	}
	m.same("Journals", got, want)
	for _, id := range ids {
		m.checkEarlier(id)
	}

	sleeping := map[store.ID]bool{}
	for _, r := range records {
		sleeping[r.ID] = r.State == store.Waiting && !r.Wait.Held
	}
	m.checkUpdates(ids, sleeping)
	for i, journal := range got {
		if n := env.Misnumbered(journal.Entries); n >= 0 {
			m.t.Fatalf("Remembered: entry %d of job %d has the number %d", n+1, i, journal.Entries[n].Seq)
		}
		for _, message := range journal.Messages {
			if sleeping[journal.Job] && m.jobs[i].wait.Wakes(&message) {
				m.t.Fatalf("NoLoss: job %d sleeps although message %d has come", i, message.Seq)
			}
		}
	}
}

// checkEarlier compares what a job has published and streamed, whether it has continued as new
// since or not. Of values that were replaced before it did, nothing is promised.
func (m *machine) checkEarlier(id store.ID) {
	for _, params := range []store.JournalParams{
		{Kinds: env.Items, Limit: 1000},
		{Kinds: env.Items, Name: "a", Limit: 1000},
		{Kinds: env.Values, Name: "a", Newest: true, Limit: 1},
		{Kinds: env.Values, Name: "b", Newest: true, Limit: 1},
	} {
		params.Job, params.Earlier = id, true
		got, err := m.store.Entries(m.ctx, params)
		m.must("Entries", err)
		want, err := m.model.Entries(m.ctx, params)
		m.must("Entries", nil, err)
		tidyEntries(got)
		tidyEntries(want)
		m.same(fmt.Sprintf("Entries of job %d, %v", m.names([]store.ID{id}), params), got, want)
	}
}

package machine

import (
	"errors"
	"slices"
	"strconv"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// updateKeys name requests: few, so that they meet.
var updateKeys = []string{"u1", "u2", "u3", "u4"}

// anyUpdate makes a send one of a request.
func (m *machine) anyUpdate(t *rapid.T, q *store.Send) {
	q.Message = store.Message{Kind: store.MessageUpdate, Name: pick(t, "update", "add", "remove"), Data: []byte(`1`)}
	q.Key = pick(t, "update key", updateKeys...)
}

// drawAnswers draws answers to requests of a job, mostly to those that wait for one, by the numbers
// of their keys.
func (m *machine) drawAnswers(t *rapid.T, job store.ID) (answers []store.UpdateAnswer) {
	var open []int64
	for i, key := range updateKeys {
		if u, known := m.update(m.model, job, key); known && u.Answer == nil {
			open = append(open, int64(i))
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "answers") {
		seq := rapid.Int64Range(0, int64(len(updateKeys))-1).Draw(t, "answered")
		if len(open) > 0 && !chance(t, "any request", 20) {
			seq = one(t, "open", open)
		}
		a := store.UpdateAnswer{
			Seq:     seq,
			Verdict: pick(t, "verdict", store.UpdateDone, store.UpdateDone, store.UpdateFailed, store.UpdateRefused),
		}
		if a.Verdict == store.UpdateDone {
			a.Data, a.Codec = []byte(strconv.Itoa(len(m.appends))), 1
		} else {
			a.Error = "no"
		}
		answers = append(answers, a)
	}
	return answers
}

// update returns what one side has of a request, if there is one.
func (m *machine) update(s store.Store, job store.ID, key string) (store.Update, bool) {
	u, err := s.GetUpdate(m.ctx, "", job, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		m.t.Fatalf("GetUpdate: %v", err)
	}
	return u, err == nil
}

// answering returns answers to the requests of one side that have such keys, and to one that is not
// there for each other.
func (m *machine) answering(s store.Store, job store.ID, answers []store.UpdateAnswer) []store.UpdateAnswer {
	answers = slices.Clone(answers)
	for i := range answers {
		a := &answers[i]
		u, found := m.update(s, job, updateKeys[a.Seq])
		if a.Seq = u.Seq; !found {
			a.Seq = 1 << 40
		}
	}
	return answers
}

// accepting sets the numbers of the requests that entries accept, which are each side's own. Their
// keys are in the data of the entries.
func (m *machine) accepting(s store.Store, job store.ID, entries []store.Entry) []store.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		if e := &entries[i]; e.Kind == store.EntryUpdated {
			u, _ := m.update(s, job, string(e.Data))
			e.Ref = u.Seq
		}
	}
	return entries
}

// seenUpdate draws the last request that a run knows which parks, by the store's number.
func (m *machine) seenUpdate(t *rapid.T, job store.ID) int64 {
	var seqs []int64
	for _, key := range updateKeys {
		if u, found := m.update(m.store, job, key); found {
			seqs = append(seqs, u.Seq)
		}
	}
	if len(seqs) == 0 || chance(t, "knows no update", 20) {
		return 0
	}
	return pick(t, "known update", append(seqs, slices.Max(seqs), slices.Max(seqs))...)
}

// forModel returns an outcome as the model's run would send it: it knows the requests by the
// model's numbers.
func (m *machine) forModel(o store.Outcome, job store.ID) store.Outcome {
	if o.Wait == nil || o.Wait.SeenUpdate == 0 {
		return o
	}
	wait := *o.Wait
	wait.SeenUpdate = 0
	for _, key := range updateKeys {
		ours, found := m.update(m.store, job, key)
		theirs, known := m.update(m.model, job, key)
		if found && known && ours.Seq <= o.Wait.SeenUpdate {
			wait.SeenUpdate = max(wait.SeenUpdate, theirs.Seq)
		}
	}
	o.Wait = &wait
	return o
}

// checkUpdates compares all requests to jobs, and looks whether a job sleeps that should not.
// Numbers are each side's own; their order is not.
func (m *machine) checkUpdates(ids []store.ID, sleeping map[store.ID]bool) {
	for i, id := range ids {
		for _, key := range updateKeys {
			got, found := m.update(m.store, id, key)
			want, known := m.update(m.model, id, key)
			if known && !found && want.Answer != nil && want.Answer.Verdict == store.UpdateRefused &&
				m.clock.Now().Sub(want.Answer.At) >= store.RefusedKept {
				m.must("ForgetUpdate", nil, m.model.ForgetUpdate(m.ctx, "", id, key)) // the model does not retain
				continue
			}
			m.same("update "+key, tidyUpdate(got), tidyUpdate(want))
		}
		if k := m.find(id); sleeping[id] && k.wait.Kinds.Has(store.MessageUpdate) {
			if last := m.lastOpen(id); last > k.wait.SeenUpdate {
				m.t.Fatalf("NoLoss: job %d sleeps although request %d has come", i, last)
			}
		}
	}
	got, err := m.store.OpenUpdates(m.ctx, env.AllOf(ids...))
	m.must("OpenUpdates", err)
	want, err := m.model.OpenUpdates(m.ctx, env.AllOf(ids...))
	m.must("OpenUpdates", nil, err)
	for i := range got {
		for n, u := range got[i] {
			if n > 0 && u.Seq <= got[i][n-1].Seq {
				m.t.Fatalf("Order: the requests to job %d are out of order: %+v", i, got[i])
			}
			got[i][n] = tidyUpdate(u)
		}
		for n, u := range want[i] {
			want[i][n] = tidyUpdate(u)
		}
	}
	m.same("OpenUpdates", got, want)
}

// lastOpen is the number of the last open request to a job.
func (m *machine) lastOpen(id store.ID) (last int64) {
	open, err := m.store.OpenUpdates(m.ctx, env.AllOf(id))
	m.must("OpenUpdates", err)
	for _, u := range open[0] {
		last = max(last, u.Seq)
	}
	return last
}

func tidyUpdate(u store.Update) store.Update {
	u.Seq, u.At = 0, u.At.UTC()
	if u.Answer != nil {
		a := *u.Answer
		a.Seq, a.At = 0, a.At.UTC()
		u.Answer = &a
	}
	return u
}

// forgetUpdate lets a caller forget a request: mostly one that was refused, since nothing becomes
// of any other.
func (m *machine) forgetUpdate(t *rapid.T) {
	id, key := m.anyJob(t), pick(t, "forgotten", updateKeys...)
	if refused := m.refused(key); len(refused) > 0 && !chance(t, "any request", 20) {
		id = one(t, "refused", refused)
	}
	t.Logf("forget update %s of %v", key, m.names([]store.ID{id}))
	m.must("ForgetUpdate", m.store.ForgetUpdate(m.ctx, "", id, key), m.model.ForgetUpdate(m.ctx, "", id, key))
}

// refused returns the jobs of which the model knows that they refused such a request.
func (m *machine) refused(key string) (jobs []store.ID) {
	for _, k := range m.jobs {
		u, known := m.update(m.model, k.enqueue.Job.ID, key)
		if known && u.Answer != nil && u.Answer.Verdict == store.UpdateRefused {
			jobs = append(jobs, k.enqueue.Job.ID)
		}
	}
	return jobs
}

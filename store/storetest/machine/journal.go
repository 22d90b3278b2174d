package machine

import (
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// drawAppends draws appends of some runs, one each, and returns the runs.
func (m *machine) drawAppends(t *rapid.T, batch, model *store.Batch) []*run {
	var runs []*run
	for range rapid.IntRange(0, 3).Draw(t, "appends") {
		r, a := m.anyAppend(t)
		if r == nil || slices.Contains(runs, r) {
			break
		}
		x, y := a, a
		x.Lease, y.Lease = r.store.Lease, r.model.Lease
		x.Enqueues, y.Enqueues = nil, nil
		x.Entries = m.accepting(m.store, a.Lease.Job, a.Entries)
		y.Entries = m.accepting(m.model, a.Lease.Job, a.Entries)
		x.Answers = m.answering(m.store, a.Lease.Job, a.Answers)
		y.Answers = m.answering(m.model, a.Lease.Job, a.Answers)
		for _, q := range a.Enqueues {
			p, o := *q, *q
			x.Enqueues, y.Enqueues = append(x.Enqueues, &p), append(y.Enqueues, &o)
		}
		batch.Appends, model.Appends = append(batch.Appends, &x), append(model.Appends, &y)
		runs = append(runs, r)
	}
	return runs
}

// anyAppend draws an append, or one that was accepted before, as a caller repeats it whose run goes
// on.
func (m *machine) anyAppend(t *rapid.T) (*run, store.Append) {
	if chance(t, "repeat", 15) {
		live := slices.DeleteFunc(slices.Clone(m.appends), func(n noted) bool {
			return !n.run.job.live || n.run.store.Lease.Number != n.run.job.lease
		})
		if len(live) > 0 {
			n := one(t, "noted", live)
			n.a.Repeat = true
			return n.run, n.a
		}
	}
	r := m.anyRun(t)
	if r == nil {
		return nil, store.Append{}
	}
	first, last, messages := m.lengths(r.store.Job.ID)
	a := store.Append{Lease: r.store.Lease, Closing: chance(t, "closing", 5), Answers: m.drawAnswers(t, r.store.Job.ID), Meta: m.anyMeta(t)}
	seq := last + 1
	// One that was lost, and is repeated with a number that its own run has written, would be taken
	// for that.
	if last > 0 && !m.mode.lossy && chance(t, "taken", 8) {
		seq = rapid.Int64Range(first, last).Draw(t, "seq")
	}
	for i := range rapid.Int64Range(1, 3).Draw(t, "entries") {
		entry := store.Entry{Seq: seq + i, Path: "1", Data: []byte(strconv.Itoa(len(m.appends))), Took: time.Duration(seq+i) * 1500}
		switch kind := pick(t, "entry", store.EntryStep, store.EntryStep, store.EntryCallback, store.EntryReceived, store.EntryChild,
			store.EntryPublished, store.EntryStreamed, store.EntryUpdated); kind {
		case store.EntryCallback:
			entry.Kind, entry.Name = kind, pick(t, "token", "a", "b")
		case store.EntryReceived:
			entry.Kind, entry.Ref = kind, rapid.Int64Range(1, messages+1).Draw(t, "ref")
		case store.EntryChild:
			q := m.newEnqueue(t)
			withoutKeys(&q)
			q.Job.OrderingKey = "" // when a free one is handed on is the store's choice, in the middle of a batch too
			q.Job.Parent, q.Job.Answers = r.store.Job.ID, chance(t, "answers", 80)
			q.Job.OnParentClose = pick(t, "policy", store.CancelChild, store.TerminateChild, store.AbandonChild, store.CancelAndWait)
			entry.Kind, entry.Name = kind, q.Job.Kind
			a.Enqueues = append(a.Enqueues, &q)
		case store.EntryPublished, store.EntryStreamed:
			entry.Kind, entry.Name = kind, pick(t, "key", "a", "b")
		case store.EntryUpdated:
			entry.Kind, entry.Data = kind, []byte(pick(t, "accepted", updateKeys...))
		default:
			entry.Kind, entry.Name = kind, "charge"
		}
		a.Entries = append(a.Entries, entry)
	}
	return r, a
}

// checkAppends compares what became of appends. ended are the runs that the same batch ends.
func (m *machine) checkAppends(runs, ended []*run, batch, model *store.Batch) {
	for i, a := range batch.Appends {
		want := model.Appends[i]
		// Reading: an append that is repeated along with the end of its run may be refused, as a
		// checkpoint is.
		if !m.mode.lossy || !slices.Contains(ended, runs[i]) {
			m.sameErr("append", a.Err, want.Err)
		}
		if want.Err != nil {
			continue
		}
		if !want.Repeat {
			plain := store.Append{
				Lease: want.Lease, Entries: want.Entries, Enqueues: copyPlain(want.Enqueues), Closing: want.Closing, Meta: want.Meta,
			}
			m.appends = append(m.appends, noted{runs[i], plain})
		}
		for n, q := range want.Enqueues {
			runs[i].job.parent = true
			if !m.mode.lossy && !want.Repeat {
				m.same("child", a.Enqueues[n].Result, q.Result)
			}
			if m.find(q.Job.ID) == nil {
				m.jobs = append(m.jobs, &known{enqueue: store.Enqueue{Job: q.Job, Delay: q.Delay}})
			}
		}
	}
}

// drawSends draws messages, most of them to jobs that wait or run.
func (m *machine) drawSends(t *rapid.T, batch, model *store.Batch) {
	for range rapid.IntRange(0, 3).Draw(t, "sends") {
		var ids []store.ID
		m.drawJobs(t, &ids, func(k *known) bool { return k.live || k.state == store.Waiting })
		q := store.Send{Job: ids[0], Message: store.Message{
			Kind: pick(t, "message", store.MessageSignal, store.MessageSignal, store.MessageSignal,
				store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat),
			Name: pick(t, "name", "a", "b"), Data: []byte(`1`),
		}}
		if q.Message.Kind == store.MessageCallbackFailed {
			q.Message.Error = "it broke"
		}
		if chance(t, "traced", 30) {
			q.Message.TraceParent = env.TraceParent
		}
		if m.mode.lossy {
			q.Key = m.key()
		}
		// Reading: whether the messages of a fork keep their keys is not promised. And a message
		// that is refused must not find its key taken by a later one of its batch when it is
		// repeated.
		k := m.find(q.Job)
		if chance(t, "key", 30) && (k == nil || !k.forked) && (!m.mode.lossy || q.Message.Kind == store.MessageSignal) {
			q.Key = pick(t, "of", "k1", "k2")
		}
		if chance(t, "request", 30) {
			m.anyUpdate(t, &q)
		}
		x, y := q, q
		batch.Sends, model.Sends = append(batch.Sends, &x), append(model.Sends, &y)
	}
}

// wakes reports whether a send of the batch woke a job. Reading: whether it was a message or a
// request is not promised if both have come.
func wakes(batch *store.Batch, job store.ID) bool {
	return slices.ContainsFunc(batch.Sends, func(q *store.Send) bool { return q.Job == job && q.Result.Woken })
}

func (m *machine) checkSends(batch, model *store.Batch) {
	for i, q := range batch.Sends {
		want := model.Sends[i]
		if m.mode.lossy && q.Err != nil && want.Err != nil {
			continue // the second time another error may come first: the batch has finished the job
		}
		m.sameErr("send", q.Err, want.Err)
		if want.Err != nil {
			continue
		}
		got, wanted := q.Result, want.Result
		if q.Message.Kind == store.MessageUpdate { // the numbers are each side's own
			got.Seq, wanted.Seq = 0, 0
		}
		got.Woken, wanted.Woken = wakes(batch, q.Job), wakes(model, q.Job)
		if m.mode.lossy { // the second time it is a duplicate
			got, wanted = store.SendResult{Seq: got.Seq}, store.SendResult{Seq: wanted.Seq}
		}
		m.same("send", got, wanted)
	}
	if m.mode.lossy {
		return
	}
	for _, w := range model.Woken {
		if w.Kind == store.WakeReady && !slices.ContainsFunc(batch.Woken, func(g store.Wake) bool {
			return g.Kind == store.WakeReady && g.Namespace == w.Namespace && g.Queue == w.Queue
		}) {
			m.t.Fatalf("the batch woke a job of %s, and tells of %+v", w.Queue, batch.Woken)
		}
	}
}

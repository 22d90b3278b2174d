package machine

import (
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// anyEnqueue draws a new job, or now and then one that was enqueued before.
func (m *machine) anyEnqueue(t *rapid.T) store.Enqueue {
	if len(m.along) > 0 && chance(t, "along again", 8) {
		if q := one(t, "of those", m.along); m.find(q.Job.ID) == nil && m.isTold(&q) {
			return q
		}
	}
	if len(m.jobs) > 0 && chance(t, "again", 8) {
		if k := one(t, "job", m.jobs); !k.removed {
			return k.enqueue
		}
	}
	return m.newEnqueue(t)
}

// isTold reports whether an enqueue is answered alike when its answer is lost and it is repeated.
// One that is refused because a job is not there after which it is to come may meet another one of
// its batch then that has its key: it is told of that one, and both answers are right.
func (m *machine) isTold(q *store.Enqueue) bool {
	hasKey := len(q.Job.UniqueKey) > 0 || q.Job.Options.Key != ""
	return !m.mode.lossy || !hasKey || m.allThere(q.After)
}

func (m *machine) newEnqueue(t *rapid.T) store.Enqueue {
	q := store.Enqueue{Job: store.Job{
		ID: m.ids.Next(), Namespace: m.namespace, Queue: m.anyQueue(t), Kind: pick(t, "kind", machineKinds...),
		Priority: rapid.IntRange(1, 4).Draw(t, "priority"), MaxAttempts: pick(t, "attempts", 3, 2, 1, 0, 9),
		Args: []byte(pick(t, "args", machineArgs...)),
	}}
	if chance(t, "words", 30) {
		q.Job.Tags, q.Job.Metadata = m.anyTags(t), []byte(pick(t, "metadata", machineMetadata...))
	}
	drawPolicy(t, &q)
	if m.mode.durable && chance(t, "bound", 15) {
		q.Job.Version = "v1"
	}
	if chance(t, "named", 30) {
		m.drawKey(t, &q)
	} else if chance(t, "unique", 40) {
		q.Job.UniqueKey = []byte(m.namespace + pick(t, "key", "a", "b"))
		q.Job.UniqueStates = pick(t, "states", store.Unfinished, store.SetOf(store.Scheduled, store.Available),
			store.SetOf(store.Scheduled, store.Available, store.Running), store.SetOf(store.States...))
		q.OnConflict = pick(t, "conflict", store.ReturnExisting, store.Reject, store.Replace, store.Replace)
		q.MaxDelay = pick(t, "max delay", 0, 0, time.Second, 30*time.Second)
	}
	m.drawKeys(t, &q)
	switch pick(t, "when", "now", "now", "later", "at", "past") {
	case "later":
		q.Delay = pick(t, "delay", time.Second, 20*time.Second, time.Hour)
	case "at":
		q.Job.RunAt = m.clock.Now().Add(pick(t, "in", time.Millisecond, time.Minute))
	case "past":
		q.Job.RunAt = m.clock.Now().Add(-pick(t, "ago", time.Millisecond, time.Minute))
	}
	if chance(t, "never", 2) {
		q.Job.RunAt = env.BeyondTime
	}
	if chance(t, "after others", 20) {
		q.After = m.anyDependencies(t)
		if !m.isTold(&q) {
			q.After = nil
		}
	}
	if m.mode.batched && chance(t, "member", 40) {
		q.Job.Batch = m.anyJobBatch(t)
	}
	if chance(t, "followed", 10) {
		m.drawFollowUps(t, &q)
	}
	if chance(t, "deadline", 10) {
		q.Job.Options.Deadline = m.clock.Now().Add(pick(t, "within", time.Second, time.Minute))
	}
	return q
}

// checkEnqueues compares what became of enqueues, and remembers the jobs. plain are those that were
// sent.
func (m *machine) checkEnqueues(plain, batch, model *store.Batch) {
	for i, q := range batch.Enqueues {
		want := model.Enqueues[i]
		m.sameErr("enqueue", q.Err, want.Err)
		if q.Err != nil {
			continue
		}
		m.gatesForgotten = m.gatesForgotten && q.Job.Options.Limit == ""
		got, wantResult := q.Result, want.Result
		if got.Existing && !got.Replaced {
			got.RunAt, wantResult.RunAt = time.Time{}, time.Time{} // Reading: that of the holder is not promised
		}
		if m.mode.lossy {
			got, wantResult = store.EnqueueResult{ID: got.ID}, store.EnqueueResult{ID: wantResult.ID}
		}
		m.same("enqueue", got, wantResult)
		m.checkAlong(plain.Enqueues[i], q, want)
		m.checkFollowUps(plain.Enqueues[i], q, want)
		if q.Result.ID == q.Job.ID && m.find(q.Job.ID) == nil {
			m.jobs = append(m.jobs, &known{enqueue: *plain.Enqueues[i]})
		}
	}
}

// drawPolicy says how a new job is attempted.
func drawPolicy(t *rapid.T, q *store.Enqueue) {
	if q.Job.Kind == machineKinds[2] || chance(t, "own backoff", 15) { // see anyPolicies
		q.Job.Options.Backoff = store.Backoff{Base: 5 * time.Second, Cap: 20 * time.Second}
	}
	if chance(t, "of the kind", 20) { // but for that of the third kind, of which nothing else is said
		q.Job.Options.OfKind = pick(t, "of kind", store.SettingMaxAttempts, store.SettingMaxAttempts|store.SettingBackoff)
		if q.Job.Kind == machineKinds[2] {
			q.Job.Options.OfKind = store.SettingMaxAttempts
		}
	}
	if chance(t, "traced", 20) {
		q.Job.Options.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		q.Job.Options.TraceState = pick(t, "trace state", "", "congo=t61", `quoted="\\"`)
	}
}

// drawKeys gives a new job the keys that decide when it is claimed.
func (m *machine) drawKeys(t *rapid.T, q *store.Enqueue) {
	q.Job.Attributes = m.anyAttributes(t, false)
	if m.mode.keyed && chance(t, "ordered", 60) {
		q.Job.OrderingKey, q.Job.Options.KeepTurn = pick(t, "ordering key", "x", "y"), chance(t, "keeps its turn", 30)
	}
	if m.mode.fair && chance(t, "fair", 70) {
		q.Job.Options.FairKey = pick(t, "fair key", "x", "x", "x", "y", "z")
	}
	if m.mode.gated && chance(t, "bounded", 70) {
		m.drawGate(t, q)
	}
}

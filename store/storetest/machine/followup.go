package machine

import (
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// drawFollowUps gives an enqueue follow-ups, now and then with one of their own.
func (m *machine) drawFollowUps(t *rapid.T, q *store.Enqueue) {
	for range rapid.IntRange(1, 2).Draw(t, "follow-ups") {
		f := m.newFollowUp(t, q)
		if chance(t, "followed too", 20) {
			m.newFollowUp(t, f)
		}
	}
}

func (m *machine) newFollowUp(t *rapid.T, of *store.Enqueue) *store.Enqueue {
	f := &store.Enqueue{Job: store.Job{
		ID: m.ids.Next(), Namespace: of.Job.Namespace, Queue: m.anyQueue(t), Kind: pick(t, "kind", machineKinds[:2]...),
		Priority: rapid.IntRange(1, 4).Draw(t, "priority"), MaxAttempts: pick(t, "attempts", 2, 1), Args: []byte("{}"),
		Options: store.Options{Follows: of.Job.ID},
	}}
	f.After = []store.Dependency{{On: of.Job.ID, IfFailed: pick(t, "follows", store.CancelIfFailed, store.RunIfFailed,
		store.OnlyIfFailed, store.OnlyIfCancelled)}}
	if m.mode.keyed && chance(t, "ordered", 30) {
		f.Job.OrderingKey = pick(t, "ordering key", "x", "y")
	}
	if chance(t, "later", 20) {
		f.Delay = pick(t, "delay", 20*time.Second, time.Second)
	}
	of.FollowUps = append(of.FollowUps, f)
	return f
}

func copyFollowUps(list []*store.Enqueue) (copied []*store.Enqueue) {
	for _, f := range list {
		one := *f
		one.FollowUps = copyFollowUps(f.FollowUps)
		copied = append(copied, &one)
	}
	return copied
}

// checkFollowUps compares what became of the follow-ups of an enqueue, and remembers those that are
// there.
func (m *machine) checkFollowUps(plain, q, want *store.Enqueue) {
	all, model := q.AllFollowUps(), want.AllFollowUps()
	for i, f := range plain.AllFollowUps() {
		if !m.mode.lossy {
			m.sameErr("follow-up", all[i].Err, model[i].Err)
			m.same("follow-up", all[i].Result, model[i].Result)
		}
		if _, err := m.model.Get(m.ctx, "", f.Job.ID); err == nil && m.find(f.Job.ID) == nil {
			m.jobs = append(m.jobs, &known{enqueue: *f})
		}
	}
}

package rules

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// post sends what a sender outside has to say, and keeps it if no answer comes.
func (w *world) post(l *letter) {
	batch := faults.Copy(l.batch)
	err := store.ApplyEach(w.ctx, w.store, batch)
	if isLost(err) {
		w.letters = append(w.letters, l)
	}
	for _, q := range store.Unfold(batch.Enqueues) {
		w.tellf("enqueue %s (%s, %s, %d, key %q, in %q, for %q, batch %v, after %v): %v, %v, %s", short(q.Job.ID), q.Job.Queue, q.Job.Kind,
			q.Job.Priority, q.Job.OrderingKey, q.Job.Options.LimitKey, q.Job.Options.FairKey, q.Job.Batch, q.After,
			q.Result.State, outcome(err), outcome(q.Err))
	}
}

func (w *world) enqueue(d *play.Dice) {
	if w.unfinished() >= crowd {
		w.claim(d)
		return
	}
	l := &letter{seed: d.Seed, batch: &store.Batch{}}
	for range play.Among(d, 1, 1, 2, 4, 8) {
		q := w.job(d)
		if w.about.has(Edges) {
			w.after(d, q, l.batch.Enqueues)
		}
		l.batch.Enqueues = append(l.batch.Enqueues, q)
	}
	w.post(l)
}

// job draws what is enqueued.
func (w *world) job(d *play.Dice) *store.Enqueue {
	q := &store.Enqueue{KnownID: d.Chance(30), Job: store.Job{
		ID: w.newID(d), Namespace: namespace, Queue: play.Among(d, queues...), Kind: play.Among(d, kinds...), Priority: 1 + d.Below(2),
		MaxAttempts: play.Among(d, 1, 2, 3), Args: []byte("1"),
	}}
	if d.Chance(15) {
		q.Delay = play.Among(d, time.Second, 20*time.Second)
	}
	if w.about.has(Keys) && d.Chance(60) {
		q.Job.Options.Limit, q.Job.Options.LimitKey = perKey, play.Among(d, keys...)
	}
	if w.about.has(Fair) && d.Chance(85) {
		q.Job.Queue, q.Job.Priority = queues[0], 2
		q.Job.Options.FairKey = play.Among(d, "k0", "k0", "k0", "k1", "k1", "k1", "k2", "k2", "k2", "k3")
	}
	if w.about.has(Keys|Edges) && d.Chance(25) {
		q.Job.OrderingKey = play.Among(d, "s", "t")
		q.Job.Options.KeepTurn = w.about.has(Edges) && d.Chance(50)
	}
	if b, found := play.Choose(d, w.batches, nil); found && d.Chance(60) {
		q.Job.Batch = b.id
	}
	return q
}

// after draws what a job comes after, and its follow-ups.
func (w *world) after(d *play.Dice, q *store.Enqueue, before []*store.Enqueue) {
	policy := func() store.FailurePolicy { return store.FailurePolicy(d.Below(5)) }
	if d.Chance(45) {
		for range play.Among(d, 1, 1, 2, 3) {
			if len(before) > 0 && d.Chance(40) {
				q.After = append(q.After, store.Dependency{On: before[d.Below(len(before))].Job.ID, IfFailed: policy()})
			} else if j, found := play.Choose(d, w.eye.order, func(j *job) bool { return !j.State.Finished() || d.Chance(10) }); found {
				q.After = append(q.After, store.Dependency{On: j.ID, IfFailed: policy()})
			}
		}
	}
	if d.Chance(15) {
		f := w.job(d)
		f.KnownID, f.Job.Batch = false, store.ID{}
		f.After = []store.Dependency{{On: q.Job.ID, IfFailed: policy()}}
		q.FollowUps = append(q.FollowUps, f)
	}
}

// limit makes, changes or deletes a limit over all nodes.
func (w *world) limit(d *play.Dice) {
	l := store.Limit{Namespace: namespace, Name: play.Among(d, limitNames...)}
	known := w.eye.limitNamed(l.Name)
	capacity := play.Among(d, 0, 1, 2, 2, 4, 6)
	switch {
	case known != nil && l.Name != "r" && d.Chance(25):
		force := d.Chance(60)
		err := w.store.DeleteLimit(w.ctx, namespace, l.Name, force, "")
		w.tellf("the limit %s is deleted, by force: %v: %s", l.Name, force, outcome(err))
		return
	case known != nil && l.Name == "r":
		return // its rate is what it was: what was taken by another one is another question
	case known != nil:
		l.LimitSettings = known.LimitSettings
	case l.Name == "a":
		l.Queues = play.Among(d, nil, queues[:1])
	case l.Name == "b":
		l.Kinds = play.Among(d, map[string]int{"send": 1}, map[string]int{"send": 2, "charge": 1})
	default:
		l.Rate = &store.Rate{Count: play.Among(d, 1, 5, 60, 1000), Per: play.Among(d, time.Second, 3*time.Second)}
		l.Rate.Burst = l.Rate.LeastBurst() + play.Among(d, 0, 1, 5)
		l.Kinds = play.Among(d, nil, map[string]int{"charge": 1})
		l.Uncapped, capacity = d.Chance(60), 8
	}
	if l.Capacity = capacity; l.Uncapped {
		l.Capacity = 0
	}
	for _, weight := range l.Kinds {
		if l.Capacity > 0 {
			l.Capacity = max(l.Capacity, weight)
		}
	}
	w.saveLimit(l, known)
}

func (w *world) saveLimit(l store.Limit, known *store.Limit) {
	expect := int64(0)
	if known != nil {
		expect = known.Version
	}
	saved, err := w.store.SaveLimit(w.ctx, l, expect, "")
	w.tellf("the limit %s has %d slots, of %v %v %v, id %d: %s", l.Name, l.Capacity, l.Queues, l.Kinds, l.Rate, saved.ID, outcome(err))
}

// keyLimit makes, changes or deletes the limit per key.
func (w *world) keyLimit(d *play.Dice) {
	known := w.eye.limitNamed(perKey)
	if known != nil && d.Chance(20) {
		err := w.store.DeleteLimit(w.ctx, namespace, perKey, true, "")
		w.tellf("the limit per key is deleted: %s", outcome(err))
		return
	}
	l := store.Limit{Namespace: namespace, Name: perKey}
	l.PerKey, l.Capacity = true, play.Among(d, 0, 1, 1, 2, 2, 3)
	w.saveLimit(l, known)
}

// rests ends a run because its service says no: the queue rests first, and the run ends when that
// is known.
func (w *world) rests(d *play.Dice, r *run, o *store.Outcome) {
	p := &store.RestParams{
		Namespace: namespace, Queue: r.claimed.Job.Queue, For: play.Among(d, time.Second, 10*time.Second, time.Minute),
		Curve: store.Backoff{Base: time.Second, Cap: time.Minute},
	}
	resting, err := w.store.Rest(w.ctx, *p)
	w.tellf("%s lets %s rest: %v, %s", short(r.claimed.Job.ID), p.Queue, resting, outcome(err))
	if err == nil {
		o.Rest, o.RunAt = p, resting.Until
	}
}

func (w *world) rest(d *play.Dice) {
	p := store.RestParams{
		Namespace: namespace, Queue: play.Among(d, queues...), For: play.Among(d, 0, time.Second, 10*time.Second, time.Hour),
		Curve: play.Among(d, store.Backoff{}, store.Backoff{Base: time.Second, Cap: time.Minute}), Actor: "ada",
	}
	resting, err := w.store.Rest(w.ctx, p)
	w.tellf("%s is to rest for %v: %v, %s", p.Queue, p.For, resting, outcome(err))
}

func (w *world) pause(d *play.Dice) { w.setPaused(play.Among(d, queues...), true) }

func (w *world) unpause(d *play.Dice) { w.setPaused(play.Among(d, queues...), false) }

func (w *world) setPaused(queue string, paused bool) {
	err := w.store.Pause(w.ctx, store.PauseParams{Namespace: namespace, Queue: queue, Paused: paused, Actor: "ada"})
	w.tellf("%s is paused: %v: %s", queue, paused, outcome(err))
}

// choose draws a job that is in one of the states, or enqueues one.
func (w *world) choose(d *play.Dice, fits func(*job) bool) *job {
	j, found := play.Choose(d, w.eye.order, fits)
	if !found {
		w.enqueue(d)
		return nil
	}
	return j
}

func (w *world) cancel(d *play.Dice) {
	if j := w.choose(d, func(j *job) bool { return !j.State.Finished() || j.Options.KeepTurn && j.State == store.Failed }); j != nil {
		p := store.CancelParams{Jobs: []store.ID{j.ID}, Reason: "enough", Actor: "ada", Terminate: d.Chance(40)}
		p.Unrecorded = d.Chance(30)
		results, _, err := w.store.Cancel(w.ctx, p)
		w.tellf("cancel %v, at once: %v: %v, %s", j, p.Terminate, results, outcome(err))
	}
}

func (w *world) skip(d *play.Dice) {
	if j := w.choose(d, func(j *job) bool { return j.State == store.Failed && (j.Options.KeepTurn || d.Chance(10)) }); j != nil {
		results, _, err := w.store.Cancel(w.ctx, store.CancelParams{Jobs: []store.ID{j.ID}, Actor: "ada", Skip: true})
		w.tellf("skip %v: %v, %s", j, results, outcome(err))
	}
}

func (w *world) retry(d *play.Dice) {
	j := w.choose(d, func(j *job) bool {
		return j.State == store.Failed || j.State == store.Cancelled || j.State == store.Retryable
	})
	if j != nil {
		results, _, err := w.store.Retry(w.ctx, store.RetryParams{Jobs: []store.ID{j.ID}, Actor: "ada"})
		w.tellf("retry %v: %v, %s", j, results, outcome(err))
	}
}

func (w *world) resume(d *play.Dice) {
	if j := w.choose(d, (*job).depends); j != nil {
		state, _, err := w.store.Resume(w.ctx, store.ResumeParams{Job: j.ID, Keep: -1, Expect: -1, Actor: "ada"})
		w.tellf("resume %v: %v, %s", j, state, outcome(err))
	}
}

// depend lets a job that has not started come after another one.
func (w *world) depend(d *play.Dice) {
	j := w.choose(d, func(j *job) bool { return !j.State.Finished() && j.LeaseNumber == 0 })
	if j == nil {
		return
	}
	on, found := play.Choose(d, w.eye.order, func(o *job) bool { return o != j && (!o.State.Finished() || d.Chance(10)) })
	if found {
		p := store.DependParams{Job: j.ID, On: []store.Dependency{{On: on.ID, IfFailed: store.FailurePolicy(d.Below(5))}}}
		state, _, err := w.store.Depend(w.ctx, p)
		w.tellf("%v comes after %v, %v: %v, %s", j, on, p.On[0].IfFailed, state, outcome(err))
	}
}

func (w *world) promote(d *play.Dice) {
	limit := play.Among(d, 1000, 1000, 2)
	promoted, err := w.store.Promote(w.ctx, limit)
	w.tellf("promote %d: %d, more %v, %s", limit, promoted.Jobs, promoted.More, outcome(err))
}

func (w *world) closeChildren(d *play.Dice) {
	closed, err := w.store.CloseChildren(w.ctx, play.Among(d, 100, 100, 1))
	w.tellf("close children: %d ended, more %v, watch %v, %s", len(closed.Ended), closed.More, closed.Watch, outcome(err))
}

func (w *world) makeBatch(d *play.Dice) {
	if len(w.eye.batches) > 12 {
		w.shut(d)
		return
	}
	b := store.JobBatch{ID: w.newID(d), Namespace: namespace}
	for _, when := range []store.BatchEnd{store.BatchEnded, store.BatchSucceeded, store.BatchFailed} {
		b.Calls = append(b.Calls, store.BatchJob{When: when, ID: w.newID(d), Job: store.ScheduledJob{
			Kind: kinds[0], Queue: queues[0], Priority: 1, Args: []byte("1"), MaxAttempts: 1,
		}})
	}
	err := w.store.CreateBatch(w.ctx, nil, b)
	w.tellf("batch %v is made: %s", b.ID, outcome(err))
	w.batches = append(w.batches, &batchOf{b.ID})
}

// shut closes a batch. Some go on to add jobs to it.
func (w *world) shut(d *play.Dice) {
	b, found := play.Choose(d, w.batches, nil)
	if !found {
		w.makeBatch(d)
		return
	}
	err := w.store.CloseBatch(w.ctx, nil, namespace, b.id)
	w.tellf("batch %v is closed: %s", b.id, outcome(err))
	if d.Chance(70) {
		w.batches = slices.DeleteFunc(w.batches, func(other *batchOf) bool { return other == b })
	}
}

// count lets one of those who lead, or believe to, count members, and keeps what it learns.
func (w *world) count(d *play.Dice) {
	p := store.CountBatchesParams{Limit: play.Among(d, 100, 100, 1), Members: play.Among(d, 100, 1, 3)}
	counted, err := w.store.CountBatches(w.ctx, p)
	w.tellf("count %d members of %d batches: %d are through, %s", p.Members, p.Limit, len(counted.Through), outcome(err))
	if w.through = append(w.through, counted.Through...); len(w.through) > 20 {
		w.through = w.through[len(w.through)-20:]
	}
}

// call calls back a batch, by what was counted once.
func (w *world) call(d *play.Dice) {
	if len(w.through) == 0 {
		w.count(d)
		return
	}
	i := d.Below(len(w.through))
	w.calls(w.through[i])
	if d.Chance(50) {
		w.through = slices.Delete(w.through, i, i+1)
	}
}

func (w *world) calls(b store.JobBatch) {
	u, batch := b.Call(), &store.Batch{}
	batch.Add(u)
	err := w.store.Apply(w.ctx, batch)
	w.tellf("batch %v, version %d, is called back: %s, %s", b.ID, b.Version, outcome(err), outcome(u.Err()))
}

package simulate

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// post sends what a sender outside has to say, and keeps it if no answer comes.
func (w *world) post(l *letter) {
	err := store.ApplyEach(w.ctx, w.store, faults.Copy(l.batch))
	if isLost(err) {
		w.letters = append(w.letters, l)
	}
	w.tellf("%s: %s", describe(l.batch), outcome(err))
}

func (w *world) enqueue(d *play.Dice) bool {
	l := &letter{seed: d.Seed, batch: &store.Batch{}}
	for range play.Among(d, 1, 1, 1, 2, 4) {
		l.batch.Enqueues = append(l.batch.Enqueues, w.job(d))
	}
	if d.Aside("crowd").Chance(1) { // more than one statement, or one claim record, holds
		for range 2 * store.MaxClaimSlots {
			l.batch.Enqueues = append(l.batch.Enqueues, w.plain(d))
		}
	}
	w.post(l)
	return true
}

func (w *world) signal(d *play.Dice) bool {
	to, found := play.Choose(d, w.witness.order, func(j *job) bool { return j.state == store.Waiting || j.running() && j.durable() })
	if !found || d.Chance(15) {
		if to, found = play.Choose(d, w.witness.order, nil); !found {
			return w.enqueue(d)
		}
	}
	w.post(&letter{d.Seed, &store.Batch{Sends: []*store.Send{{
		Job: to.body.ID, Key: d.Key(),
		Message: store.Message{Kind: store.MessageSignal, Name: play.Among(d, "go", "stop"), Data: []byte(d.Key())},
	}}}})
	return true
}

func (w *world) callback(d *play.Dice) bool {
	to, found := play.Choose(d, w.witness.order, func(j *job) bool { return !j.finished() && token(j) != "" })
	if !found {
		return w.signal(d)
	}
	m := store.Message{Kind: play.Among(d, store.MessageCallback, store.MessageCallbackFailed, store.MessageHeartbeat), Name: token(to)}
	if m.Kind == store.MessageCallbackFailed {
		m.Error = "it broke"
	}
	w.post(&letter{d.Seed, &store.Batch{Sends: []*store.Send{{Job: to.body.ID, Key: d.Key(), Message: m}}}})
	return true
}

// token is that of the last callback that a job has opened.
func token(j *job) (last string) {
	for _, e := range j.journal {
		if e.Kind == store.EntryCallback {
			last = e.Name
		}
	}
	return last
}

func (w *world) cancel(d *play.Dice) bool { return w.stop(d, false) }

func (w *world) terminate(d *play.Dice) bool { return w.stop(d, true) }

func (w *world) stop(d *play.Dice, terminate bool) bool {
	j, found := play.Choose(d, w.witness.order, func(j *job) bool { return !j.finished() || d.Chance(5) })
	if !found {
		return w.enqueue(d)
	}
	params := store.CancelParams{Jobs: []store.ID{j.body.ID}, Reason: "enough", Actor: "ada", Terminate: terminate}
	results, _, err := w.store.Cancel(w.ctx, params)
	w.tellf("cancel %v, at once: %v: %v, %s", j, terminate, results, outcome(err))
	return true
}

func (w *world) pauseJob(d *play.Dice) bool {
	j, found := play.Choose(d, w.witness.order, func(j *job) bool { return !j.finished() && !j.held() || d.Chance(3) })
	if !found {
		return w.enqueue(d)
	}
	results, _, err := w.store.PauseJobs(w.ctx, store.PauseJobsParams{Jobs: []store.ID{j.body.ID}, Reason: "look first", Actor: "ada"})
	w.tellf("pause %v: %v, %s", j, results, outcome(err))
	return true
}

func (w *world) resume(d *play.Dice) bool {
	j, found := play.Choose(d, w.witness.order, func(j *job) bool {
		return j.held() || j.pause || (j.state == store.Failed || j.state == store.Cancelled) && d.Chance(20) || d.Chance(1)
	})
	if !found {
		return w.retry(d)
	}
	p := store.ResumeParams{Job: j.body.ID, Keep: -1, Expect: -1, Actor: "ada"}
	if !j.running() {
		p.Keep = play.Among(d, -1, -1, -1, j.lastEntry(), j.lastEntry()-1, 1, 0)
		p.Expect = play.Among(d, -1, -1, j.lastEntry(), j.lastEntry()+1)
	}
	state, _, err := w.store.Resume(w.ctx, p)
	w.tellf("resume %v, keep %d, expect %d: %v, %s", j, p.Keep, p.Expect, state, outcome(err))
	return true
}

func (w *world) retry(d *play.Dice) bool {
	j, found := play.Choose(d, w.witness.order, func(j *job) bool {
		return j.state == store.Failed || j.state == store.Cancelled || j.state == store.Retryable || d.Chance(3)
	})
	if !found {
		return w.enqueue(d)
	}
	results, _, err := w.store.Retry(w.ctx, store.RetryParams{Jobs: []store.ID{j.body.ID}, Actor: "ada"})
	w.tellf("retry %v: %v, %s", j, results, outcome(err))
	return true
}

func (w *world) fork(d *play.Dice) bool {
	from, found := play.Choose(d, w.witness.order, (*job).durable)
	if !found || w.unfinished() > crowd {
		return w.append(d)
	}
	q := w.job(d)
	q.Job.UniqueKey, q.Job.UniqueStates, q.Job.Args = nil, 0, from.body.Args
	first := from.journal[0].Seq
	p := store.ForkParams{From: from.body.ID, Keep: first - 1 + int64(d.Below(len(from.journal)+1)), Job: q.Job, Actor: "ada"}
	if next := from.entry(p.Keep + 1); next != nil && d.Chance(70) {
		known := *next
		known.LeaseNumber += int64(play.Among(d, 0, 0, 0, 1))
		p.Next = &known
	}
	_, err := w.store.Fork(w.ctx, p)
	w.tellf("fork %v up to %d: %s", from, p.Keep, outcome(err))
	return true
}

func (w *world) pauseQueue(d *play.Dice) bool { return w.setPaused(play.Among(d, queues...), true) }

func (w *world) resumeQueue(d *play.Dice) bool {
	queue := play.Among(d, queues...)
	for _, q := range queues {
		if w.witness.paused[q] {
			queue = q
		}
	}
	return w.setPaused(queue, false)
}

func (w *world) setPaused(queue string, paused bool) bool {
	err := w.store.Pause(w.ctx, store.PauseParams{Namespace: namespace, Queue: queue, Paused: paused, Actor: "ada"})
	w.tellf("%s is paused: %v: %s", queue, paused, outcome(err))
	return true
}

func (w *world) retain(d *play.Dice) bool {
	keep := func() time.Duration { return play.Among(d, time.Minute, time.Minute, time.Hour, 24*time.Hour, 0) }
	p := store.Retention{Completed: keep(), Failed: keep(), Cancelled: keep(), Audit: keep(), Limit: play.Among(d, 3, 10, 100)}
	retained, err := w.store.Retain(w.ctx, p)
	w.tellf("retain %+v: %+v, %s", p, retained, outcome(err))
	return true
}

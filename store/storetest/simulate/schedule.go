package simulate

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Schedules: leaders, and those who believe to lead, decide from what they have read, which may be
// long ago. It is the store that sees to it that of two decisions one is carried out.

// period is that of all schedules, whose nominal times are its multiples.
const period = 5 * time.Minute

// catchUp is how many times one decision is about, at the most.
const catchUp = 30

var schedules = []string{"hourly", "daily"}

// plan is a schedule as a node has read it.
type plan struct {
	seed uint64
	store.Schedule
}

func (p *plan) Name() uint64 { return p.seed }

// trigger is what a person has asked for, or a leader has decided.
type trigger struct {
	seed uint64
	unit *store.Unit
}

func (t *trigger) Name() uint64 { return t.seed }

// schedule lets a person, or code, make a schedule, pause or resume one, or clear what is to be
// stopped, from what they read at this moment.
func (w *world) schedule(d *play.Dice) bool {
	name := play.Among(d, schedules...)
	found, err := w.store.Schedules(w.ctx, store.ScheduleFilter{Namespace: namespace, Name: name, Limit: 1})
	if err != nil {
		return true
	}
	now := w.clock.Now()
	s := store.Schedule{Namespace: namespace, Name: name, Left: -1, Cursor: now.Truncate(period), NextAt: now.Truncate(period).Add(period)}
	s.Times, s.Job = "every 5m", store.ScheduledJob{Kind: kinds[0], Queue: queues[0], Priority: 2, MaxAttempts: 3, Args: []byte("1")}
	if len(found) > 0 {
		s = found[0]
		switch d.Below(4) {
		case 0:
			s.PausedAt, s.PausedBy = now, "ada"
		case 1:
			s.Cancels, s.Note = store.ID{}, d.Key()
		default:
			s.PausedAt, s.PausedBy = time.Time{}, ""
		}
	}
	saved, err := w.store.SaveSchedule(w.ctx, s, s.Version, "")
	w.tellf("schedule %s, version %d, paused: %v, is saved: %d, %s", name, s.Version, !s.PausedAt.IsZero(), saved.Version, outcome(err))
	return true
}

// lookUp lets a leader read what is due.
func (w *world) lookUp(d *play.Dice) bool {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.leads })
	if !found {
		return w.lead(d)
	}
	due, next, err := w.store.DueSchedules(w.ctx, play.Among(d, 10, 10, 1))
	w.tellf("%v reads what is due: %d schedules, the next one at %v, %s", n, len(due), next, outcome(err))
	for _, s := range due {
		n.plans = append(n.plans, &plan{play.Mix(d.Seed ^ uint64(s.Version)), s})
	}
	n.plans = n.plans[max(0, len(n.plans)-4):]
	return true
}

// fire lets a node decide from something that it has read, now or before it froze. What it decided
// before, and sent, may arrive once more, also if it is dead.
func (w *world) fire(d *play.Dice) bool {
	if late, found := play.Choose(d, w.decided, nil); found && d.Chance(25) {
		_ = w.sendFire("once more", late)
		return true
	}
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && len(n.plans) > 0 })
	if !found {
		return w.lookUp(d)
	}
	p := n.plans[len(n.plans)-1]
	if d.Chance(30) {
		p, _ = play.Choose(d, n.plans, nil)
	}
	u := w.decide(d, &p.Schedule, w.clock.Now().Add(n.skew))
	if u == nil {
		n.plans = slices.DeleteFunc(n.plans, func(other *plan) bool { return other == p })
		return true
	}
	decided := &trigger{d.Seed, u}
	w.decided = append(w.decided, decided)
	w.decided = w.decided[max(0, len(w.decided)-8):]
	if err := w.sendFire(n.String(), decided); err == nil || errors.Is(err, store.ErrRefused) {
		n.plans = slices.DeleteFunc(n.plans, func(other *plan) bool { return other == p })
	}
	return true
}

// decide says of each nominal time between the cursor and now what becomes of it: the last two have
// jobs. It is nil if there is none.
func (w *world) decide(d *play.Dice, s *store.Schedule, now time.Time) *store.Unit {
	f := &store.Fire{Namespace: s.Namespace, Name: s.Name, Version: s.Version, Left: s.Left}
	for at := s.Cursor.Add(period); !at.After(now) && len(f.Runs) < catchUp; at = at.Add(period) {
		f.Runs = append(f.Runs, store.FireRun{Nominal: at, State: store.RunMissed})
	}
	if len(f.Runs) == 0 {
		return nil
	}
	u := &store.Unit{Fire: f}
	for i := max(0, len(f.Runs)-2); i < len(f.Runs) && w.unfinished() < crowd; i++ {
		q := w.plain(d)
		if d.Chance(30) {
			q.Job.UniqueKey, q.Job.UniqueStates = []byte("schedule "+s.Name), store.Unfinished
		}
		f.Runs[i].State, f.Runs[i].Enqueue = store.RunFired, q
		u.Enqueues, f.Cancels = append(u.Enqueues, q), play.Among(d, store.ID{}, s.Last)
	}
	f.Cursor = f.Runs[len(f.Runs)-1].Nominal
	f.NextAt = f.Cursor.Add(period)
	return u
}

// sendFire sends a decision, unless a job of it was removed since: to bring one back is no
// repetition.
func (w *world) sendFire(who string, t *trigger) error {
	batch := &store.Batch{}
	batch.Add(t.unit)
	if !w.knows(batch) {
		return nil
	}
	sent := faults.Copy(batch)
	err := w.store.Apply(w.ctx, sent)
	f := t.unit.Fire
	w.tellf("%s fires %s from version %d, number %d, %d times up to %v: %s",
		who, f.Name, f.Version, f.Manual, len(f.Runs), f.Cursor, outcome(err))
	return err
}

// trigger lets a person fire a schedule, and ask once more if no answer comes.
func (w *world) trigger(d *play.Dice) bool {
	if l, found := play.Choose(d, w.asked, nil); found && d.Chance(60) {
		w.asked = slices.DeleteFunc(w.asked, func(other *trigger) bool { return other == l })
		if isLost(w.sendFire("a person, again,", l)) {
			w.asked = append(w.asked, l)
		}
		return true
	}
	q := w.plain(d)
	at := w.clock.Now().Truncate(time.Second)
	l := &trigger{d.Seed, &store.Unit{Enqueues: []*store.Enqueue{q}, Fire: &store.Fire{
		Namespace: namespace, Name: play.Among(d, schedules...), Manual: int64(d.Seed>>2) + 1,
		Runs: []store.FireRun{{Nominal: at, State: store.RunFired, Enqueue: q}},
	}}}
	if isLost(w.sendFire("a person", l)) {
		w.asked = append(w.asked, l)
	}
	return true
}

// jump moves the clock by an hour, as when its setting was wrong, or is put right.
func (w *world) jump(d *play.Dice) bool {
	by := play.Among(d, time.Hour, -time.Hour)
	w.clock.Move(by)
	w.tellf("the clock jumps by %v", by)
	return true
}

// fireAll fires until nothing is due.
func (w *world) fireAll() {
	d := play.NewDice(1)
	for rounds := 0; ; rounds++ {
		due, _, err := w.witness.DueSchedules(w.ctx, 10)
		must("DueSchedules", err)
		if len(due) == 0 {
			return
		}
		if rounds > 10_000 {
			play.Brokenf("EveryDueThing", "the schedules are always due")
		}
		for i := range due {
			u := w.decide(d, &due[i], w.clock.Now())
			if u == nil {
				play.Brokenf("EveryDueThing", "schedule %s is due at %v, and has fired up to %v", due[i].Name, due[i].NextAt, due[i].Cursor)
			}
			batch := &store.Batch{}
			batch.Add(u)
			must("Apply", w.witness.Apply(w.ctx, batch))
		}
	}
}

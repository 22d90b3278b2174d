package env

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Slack is how much longer than asked a store may keep what is finished: a day, for one that drops
// whole days, and up to one more until that day is over.
const Slack = 48 * time.Hour

// Briefly keeps nothing for longer than it must.
var Briefly = store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Audit: time.Hour, Limit: 50}

// Retain removes until there is nothing left to remove, and returns how many jobs it was.
func (e *Env) Retain(params store.Retention) int {
	e.Helper()
	n := 0
	for range 1000 {
		retained, err := e.Store.Retain(e.Ctx, params)
		e.NoError("Retain", err)
		n += retained.Jobs
		if !retained.More {
			return n
		}
	}
	e.Fatal("Retain says More for ever")
	return 0
}

// Retire lets all that is over be removed: jobs, and then, day by day, what was not needed
// since.
func (e *Env) Retire(alive ...int64) {
	e.Helper()
	e.Clock.Advance(time.Hour + Slack)
	for range 8 {
		for _, node := range alive {
			e.Beat(node)
		}
		e.Retain(Briefly)
		e.Clock.Advance(24 * time.Hour)
	}
	for _, node := range alive {
		e.Beat(node)
	}
	e.Retain(Briefly)
}

// Used makes a job of each of the queues, which are all finished then, in different ways.
func (e *Env) Used(node int64, queues ...string) []store.ID {
	e.Helper()
	var ids []store.ID
	for i, name := range queues {
		id := e.Add(Queue(name), Kind([]string{"send", "push"}[i%2]), Priority(1+i%4))
		ids = append(ids, id)
		if i%4 == 3 {
			e.Cancel(id)
			continue
		}
		e.End(e.ClaimOne(node, id), []store.State{store.Completed, store.Failed, store.Cancelled}[i%3])
	}
	return ids
}

// SetRetention makes a class of retention.
func (e *Env) SetRetention(class store.RetentionClass) store.RetentionClass {
	e.Helper()
	class.SetBy = "ada"
	is, err := e.Store.SetRetention(e.Ctx, class)
	e.NoError("SetRetention", err)
	return is
}

// NameRetention lets a queue name a class; "": none any more.
func (e *Env) NameRetention(queue, class string) {
	e.Helper()
	var unset store.Setting
	if class == "" {
		unset = store.SettingRetention
	}
	e.SetQueue(queue, store.AttemptSettings{Retention: class}, unset)
}

// Removed returns how many jobs retention has removed, by day, queue and state.
func (e *Env) Removed(queue string) []store.Removed {
	e.Helper()
	removed, err := e.Store.Removed(e.Ctx, store.RemovedParams{Namespace: Namespace, Queue: queue, Limit: 1000})
	e.NoError("Removed", err)
	return removed
}

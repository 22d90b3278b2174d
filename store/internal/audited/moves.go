package audited

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// What Before and After say of a job that a person moves is its state, and of a running one, and
// one that ends itself, what it was asked for. PostgreSQL has the same texts in its statements.

// Cancelled is of a job that was cancelled or terminated, or asked to end itself: then it has not
// ended. A state of 0 is that of a job which moved at this moment.
func Cancelled(action store.ActionKind, actor, reason string, from, to store.State) store.AuditEntry {
	e := moved(action, actor, reason, from, to)
	if !to.Finished() {
		e.After = asked(to, "cancel")
	}
	return e
}

// Skipped is of a failed job that has given up the turn of its ordering key.
func Skipped(p *store.CancelParams) store.AuditEntry {
	e := moved(p.Action(), p.Actor, p.Reason, 0, 0)
	e.Before, e.After = set("holds_turn", true), set("holds_turn", false)
	return e
}

// Retried is of a job that runs again.
func Retried(actor, reason string, from store.State) store.AuditEntry {
	return moved(store.ActionRetry, actor, reason, from, store.Available)
}

// Paused is of a job that waits for a person from now on, or, if it runs, is asked to.
func Paused(p *store.PauseJobsParams, from store.State) store.AuditEntry {
	e := moved(store.ActionPause, p.Actor, p.Reason, from, 0)
	if e.After = held(true); from == 0 || from == store.Running {
		e.After = asked(from, "pause")
	}
	return e
}

// Resumed is of a job that goes on, or continues as new. A waiting one was held or not: one that
// waits for other jobs is not.
func Resumed(p *store.ResumeParams, from store.State, wasHeld bool, to store.State) store.AuditEntry {
	action := store.ActionResume
	if p.Continue != nil {
		action = store.ActionContinue
	}
	e := moved(action, p.Actor, p.Reason, from, to)
	if from == store.Running {
		e.Before = asked(from, "pause")
	}
	if from == store.Waiting {
		e.Before = held(wasHeld)
	}
	return e
}

// Ended is of a job that was handed over, and that another system has ended, or let compensate.
func Ended(end *store.End, actor string, to store.State) store.AuditEntry {
	return moved(end.Action(), actor, "", store.Waiting, to)
}

// Forked is of a job that was made from the beginning of another.
func Forked(p *store.ForkParams) store.AuditEntry {
	e := moved(store.ActionFork, p.Actor, p.Reason, 0, 0)
	e.After = fmt.Sprintf(`{"from":"%v"}`, p.From)
	return e
}

// Deleted is of a finished job that was removed.
func Deleted(p *store.DeleteParams, from store.State) store.AuditEntry {
	return moved(store.ActionDelete, p.Actor, p.Reason, from, 0)
}

func moved(action store.ActionKind, actor, reason string, from, to store.State) store.AuditEntry {
	e := store.AuditEntry{Actor: actor, Action: string(action), Detail: reason}
	if from != 0 {
		e.Before = state(from)
	}
	if to != 0 {
		e.After = state(to)
	}
	return e
}

func state(is store.State) string { return fmt.Sprintf(`{"state":%q}`, is) }

// asked is a job that is to do something by itself.
func asked(is store.State, what string) string {
	if is == 0 {
		return fmt.Sprintf(`{"asked":%q}`, what)
	}
	return fmt.Sprintf(`{"state":%q,"asked":%q}`, is, what)
}

// held is a job that waits, and whether it does so for a person.
func held(is bool) string {
	if is {
		return fmt.Sprintf(`{"state":%q,"held":true}`, store.Waiting)
	}
	return state(store.Waiting)
}

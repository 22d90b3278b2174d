package retention

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var expiredTests = env.Tests{
	"NoLoss_what_is_over_is_told_until_it_is_removed":         toldUntilRemoved,
	"NoLoss_a_job_that_ran_again_is_not_removed_by_its_end":   ranAgain,
	"NoLoss_a_job_that_others_need_is_told_when_they_do_not":  neededExpired,
	"pages_come_to_an_end_and_tell_all_that_is_over":          pagesEnd,
	"NoLoss_where_jobs_are_archived_retention_removes_none":   removesNone,
	"NoLoss_what_is_removed_by_hand_is_not_told_nor_counted":  removedByHand,
	"what_becomes_over_after_all_was_told_is_told_some_later": toldLater,
}

// archived is times for a caller that archives.
func archived(limit int) store.Retention {
	r := times
	r.Archived, r.Limit = true, limit
	return r
}

func expired(e *env.Env, limit int) (jobs []store.EndedJob, more bool) {
	e.Helper()
	jobs, more, err := e.Store.Expired(e.Ctx, archived(limit))
	e.NoError("Expired", err)
	if len(jobs) > limit {
		e.Fatalf("%d jobs on a page of %d", len(jobs), limit)
	}
	seen := map[store.ID]bool{}
	for _, j := range jobs {
		if seen[j.ID] {
			e.Fatalf("job %v is there twice", j.ID)
		}
		seen[j.ID] = true
	}
	return jobs, more
}

func idsOf(jobs []store.EndedJob) (ids []store.ID) {
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

func removeExpired(e *env.Env, jobs []store.EndedJob) int {
	e.Helper()
	n, err := e.Store.RemoveExpired(e.Ctx, jobs)
	e.NoError("RemoveExpired", err)
	return n
}

func toldUntilRemoved(e *env.Env) {
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour, Failed: hour, Cancelled: hour})
	e.NameRetention("mail", "short")
	var over, stay []store.ID
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		over = append(over, ended(e, "mail", state))
		stay = append(stay, ended(e, "other", state))
	}
	e.Clock.Advance(hour + env.Slack)
	for range 3 {
		e.Retain(archived(100))
		jobs, _ := expired(e, 100)
		e.WantSameIDs("expired", idsOf(jobs), over...)
		for _, j := range jobs {
			if r := e.Get(j.ID); r.State != j.State || !r.FinishedAt.Equal(j.FinishedAt) {
				e.Fatalf("%+v is %+v", j, r)
			}
		}
	}
	jobs, _ := expired(e, 100)
	e.Equal("removed", removeExpired(e, jobs[:2]), 2)
	left, _ := expired(e, 100)
	e.WantSameIDs("expired", idsOf(left), jobs[2].ID)
	e.Equal("removed", removeExpired(e, jobs), 1)
	e.Equal("removed", removeExpired(e, jobs), 0)
	left, more := expired(e, 100)
	if len(left) != 0 || more {
		e.Fatalf("expired: %+v, %v", left, more)
	}
	for _, id := range over {
		e.WantGone(id)
	}
	kept(e, stay...)
	e.Equal("counted", len(e.Removed("mail")), 3)
	e.Clock.Advance(30 * days)
	jobs, _ = expired(e, 100)
	e.WantSameIDs("expired", idsOf(jobs), stay...)
}

func ranAgain(e *env.Env) {
	id, other := ended(e, "mail", store.Cancelled), ended(e, "mail", store.Failed)
	e.Clock.Advance(25*days + env.Slack)
	jobs, _ := expired(e, 10)
	e.WantSameIDs("expired", idsOf(jobs), id, other)
	e.Retry(id)
	e.Retry(other)
	runs := e.ClaimRuns(e.Join())
	e.End(runs[other], store.Failed)
	e.Equal("removed", removeExpired(e, jobs), 0)
	e.WantState(id, store.Running)
	kept(e, other)
	e.End(runs[id], store.Cancelled)
	e.Equal("removed", removeExpired(e, jobs), 0)
	kept(e, id, other)
}

func neededExpired(e *env.Env) {
	turn := e.Add(env.Queue("mail"), env.Ordered("k"), func(q *store.Enqueue) { q.Job.Options.KeepTurn = true })
	e.Add(env.Queue("mail"), env.Ordered("k"))
	e.End(e.ClaimOne(e.Join(), turn), store.Failed)
	at := e.Get(turn).FinishedAt
	e.Clock.Advance(25*days + env.Slack)
	if jobs, _ := expired(e, 10); len(jobs) != 0 {
		e.Fatalf("expired: %+v", jobs)
	}
	e.Equal("removed", removeExpired(e, []store.EndedJob{{ID: turn, State: store.Failed, FinishedAt: at}}), 0)
	_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{turn}, Namespace: env.Namespace, Skip: true})
	e.NoError("Cancel", err)
	e.Clock.Advance(days)
	jobs, _ := expired(e, 10)
	e.WantSameIDs("expired", idsOf(jobs), turn)
}

func pagesEnd(e *env.Env) {
	const n = 40
	e.SetRetention(store.RetentionClass{Name: "short", Completed: hour, Cancelled: hour})
	e.SetRetention(store.RetentionClass{Name: "ever", Completed: store.KeepForever, Cancelled: store.KeepForever})
	e.NameRetention("mail", "short")
	e.NameRetention("audit", "ever")
	var over, stay []store.ID
	for i := range n {
		state := []store.State{store.Completed, store.Cancelled}[i/2%2]
		over = append(over, ended(e, "mail", state))
		stay = append(stay, ended(e, "audit", state))
	}
	e.Clock.Advance(hour + env.Slack)
	var gone []store.ID
	for range 4 * n {
		jobs, more := expired(e, 7)
		gone = append(gone, idsOf(jobs)...)
		e.Equal("removed", removeExpired(e, jobs), len(jobs))
		if len(jobs) == 0 && !more {
			break
		}
	}
	e.WantSameIDs("told and removed", gone, over...)
	kept(e, stay...)
	e.Retain(archived(7))
	kept(e, stay...)
}

func removesNone(e *env.Env) {
	var ids []store.ID
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		ids = append(ids, ended(e, "mail", state))
	}
	e.Clock.Advance(100 * days)
	if n := e.Retain(archived(10)); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	kept(e, ids...)
}

func removedByHand(e *env.Env) {
	id := ended(e, "mail", store.Completed)
	e.Clock.Advance(25*days + env.Slack)
	jobs, _ := expired(e, 10)
	e.WantSameIDs("expired", idsOf(jobs), id)
	e.Delete(id)
	e.Equal("removed", removeExpired(e, jobs), 0)
	if jobs, _ := expired(e, 10); len(jobs) != 0 {
		e.Fatalf("expired: %+v", jobs)
	}
	e.Equal("counted", len(e.Removed("")), 0)
}

func toldLater(e *env.Env) {
	first := ended(e, "mail", store.Completed)
	e.Clock.Advance(time.Minute)
	e.Clock.Advance(10*days + env.Slack)
	jobs, _ := expired(e, 10)
	e.WantSameIDs("expired", idsOf(jobs), first)
	e.Equal("removed", removeExpired(e, jobs), 1)
	for range 3 {
		id := ended(e, "mail", store.Completed)
		for range 13 {
			e.Retain(archived(10))
			expired(e, 10)
			e.Clock.Advance(days)
		}
		jobs, _ := expired(e, 10)
		e.WantSameIDs("expired", idsOf(jobs), id)
		e.Equal("removed", removeExpired(e, jobs), 1)
		e.WantGone(id)
	}
}

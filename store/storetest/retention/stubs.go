package retention

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var stubTests = env.Tests{
	"AtomicTransitions_an_archived_job_leaves_its_stub":  stubsLeft,
	"a_job_that_was_not_archived_leaves_no_stub":         noStub,
	"NoLoss_a_job_that_stays_leaves_no_stub":             stayedNoStub,
	"a_stub_is_of_its_namespace":                         stubElsewhere,
	"a_stub_is_kept_for_its_own_time":                    stubsGo,
	"many_stubs_go_and_come_to_an_end":                   manyStubs,
	"a_job_of_the_same_id_is_told_and_replaces_the_stub": stubAgain,
	"names_that_no_stub_can_have_are_refused":            stubsInvalid,
	"what_leaves_a_stub_is_counted":                      stubsCounted,
}

// removeTo removes jobs that are over, which are in a file.
func removeTo(e *env.Env, file string, want ...store.ID) {
	e.Helper()
	jobs, _ := expired(e, 100)
	e.WantSameIDs("expired", idsOf(jobs), want...)
	for i := range jobs {
		jobs[i].Archived = file
	}
	e.Equal("removed", removeExpired(e, jobs), len(want))
	if len(want) > 0 { // its answer was lost
		e.Equal("removed again", removeExpired(e, jobs), 0)
	}
}

// stubOf returns the stub of a job that is gone; nil: it has left none.
func stubOf(e *env.Env, namespace string, id store.ID) *store.Stub {
	e.Helper()
	_, err := e.Store.Get(e.Ctx, namespace, id)
	if !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("Get: %v", err)
	}
	if is, ok := errors.AsType[*store.ArchivedError](err); ok {
		if !strings.Contains(err.Error(), is.Stub.Archive) || !strings.Contains(err.Error(), id.String()) {
			e.Errorf("the error does not say where the job is: %v", err)
		}
		return &is.Stub
	}
	return nil
}

func stubsLeft(e *env.Env) {
	var ids []store.ID
	want := map[store.ID]*store.Stub{}
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		id := ended(e, "mail", state)
		r := e.Get(id)
		ids = append(ids, id)
		want[id] = &store.Stub{
			ID: id, Namespace: env.Namespace, Queue: "mail", Kind: r.Kind, State: state, FinishedAt: r.FinishedAt, Archive: "a/b 'c' \"ö\".gz",
		}
	}
	e.Clock.Advance(25*days + env.Slack)
	at := e.Clock.Now().Truncate(time.Microsecond)
	removeTo(e, "a/b 'c' \"ö\".gz", ids...)
	e.Clock.Advance(time.Hour)
	e.Retain(archived(100))
	for _, id := range ids {
		want[id].ArchivedAt = at
		e.Equal("stub", stubOf(e, env.Namespace, id), want[id])
		e.Equal("stub, in any namespace", stubOf(e, "", id), want[id])
		e.WantGone(id)
	}
}

func noStub(e *env.Env) {
	id := ended(e, "mail", store.Completed)
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "", id)
	e.Equal("stub", stubOf(e, env.Namespace, id), (*store.Stub)(nil))
	other := ended(e, "mail", store.Completed)
	after(e, 11*days)
	e.WantGone(other)
	e.Equal("stub of one that is not archived", stubOf(e, env.Namespace, other), (*store.Stub)(nil))
}

func stayedNoStub(e *env.Env) {
	id := ended(e, "mail", store.Cancelled)
	e.Clock.Advance(25*days + env.Slack)
	jobs, _ := expired(e, 10)
	jobs[0].Archived = "x"
	e.Retry(id)
	e.Equal("removed", removeExpired(e, jobs), 0)
	e.WantState(id, store.Available)
	e.Equal("counted", len(e.Removed("")), 0)
	e.Cancel(id)
	e.Delete(id)
	e.Equal("stub", stubOf(e, env.Namespace, id), (*store.Stub)(nil))
}

func stubElsewhere(e *env.Env) {
	other := e.Job(env.Queue("mail"), func(q *store.Enqueue) { q.Job.Namespace = env.OtherSpace })
	e.Enqueue(other)
	_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{other.Job.ID}, Namespace: env.OtherSpace})
	e.NoError("Cancel", err)
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "x", other.Job.ID)
	e.Equal("stub here", stubOf(e, env.Namespace, other.Job.ID), (*store.Stub)(nil))
	if s := stubOf(e, env.OtherSpace, other.Job.ID); s == nil || s.Namespace != env.OtherSpace {
		e.Errorf("stub there: %+v", s)
	}
}

func stubsGo(e *env.Env) {
	id := ended(e, "mail", store.Failed)
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "x", id)
	keep := archived(10)
	e.Clock.Advance(5000 * days)
	e.Retain(keep)
	if stubOf(e, "", id) == nil {
		e.Fatal("a stub that is kept for ever is gone")
	}
	keep.Stubs = 5001 * days
	e.Retain(keep)
	if stubOf(e, "", id) == nil {
		e.Fatal("the stub is gone too early")
	}
	e.Clock.Advance(days)
	e.Retain(keep)
	e.Equal("stub", stubOf(e, "", id), (*store.Stub)(nil))
}

func manyStubs(e *env.Env) {
	const n = 25
	var ids []store.ID
	for range n {
		ids = append(ids, ended(e, "mail", store.Cancelled))
	}
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "x", ids...)
	late := ended(e, "mail", store.Cancelled)
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "y", late)
	keep := archived(10)
	keep.Stubs = 20 * days
	for range 5 {
		e.Retain(keep)
	}
	for _, id := range ids {
		e.Equal("stub", stubOf(e, "", id), (*store.Stub)(nil))
	}
	if stubOf(e, "", late) == nil {
		e.Error("the stub of a later job is gone")
	}
}

func stubAgain(e *env.Env) {
	id := ended(e, "mail", store.Cancelled)
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "first", id)
	e.Retain(archived(10)) // what has no job any more goes
	again := e.Job(env.Queue("other"))
	again.Job.ID = id
	e.Enqueue(again)
	e.WantState(id, store.Available)
	e.End(e.ClaimOne(e.Join(), id), store.Completed)
	finishedAt := e.Get(id).FinishedAt
	e.Clock.Advance(40 * days)
	removeTo(e, "second", id)
	s := stubOf(e, "", id)
	if s == nil || s.Archive != "second" || s.Queue != "other" || s.State != store.Completed || !s.FinishedAt.Equal(finishedAt) {
		e.Errorf("%+v", s)
	}
}

func stubsInvalid(e *env.Env) {
	id := ended(e, "mail", store.Completed)
	e.Clock.Advance(25*days + env.Slack)
	jobs, _ := expired(e, 10)
	for _, name := range []string{"a\x00", "\xff", strings.Repeat("a", store.MostArchiveName+1)} {
		jobs[0].Archived = name
		_, err := e.Store.RemoveExpired(e.Ctx, jobs)
		e.WantErr(fmt.Sprintf("%.5q", name), err, store.ErrInvalid)
	}
	kept(e, id)
	removeTo(e, strings.Repeat("a", store.MostArchiveName), id)
}

func stubsCounted(e *env.Env) {
	var with, without []store.ID
	for range 3 {
		with = append(with, ended(e, "mail", store.Completed))
	}
	e.Clock.Advance(25*days + env.Slack)
	removeTo(e, "x", with...)
	for range 2 {
		without = append(without, ended(e, "mail", store.Completed))
	}
	e.Clock.Advance(11 * days)
	removeTo(e, "", without...)
	all := e.Removed("")
	for i := range all {
		all[i].Day = time.Time{}
	}
	e.Equal("counted", all, []store.Removed{
		{Queue: "mail", State: store.Completed, Jobs: 2},
		{Queue: "mail", State: store.Completed, Jobs: 3, Stubs: 3},
	})
	e.Equal("counted in the queue", len(e.Removed("mail")), 2)
	e.Equal("stubs in the queue", e.Removed("mail")[1].Stubs, int64(3))
}

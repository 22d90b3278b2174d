package joblogs

import (
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var logTests = env.Tests{
	"chunks_are_told_in_the_order_of_their_runs_and_lines":  inOrder,
	"a_page_begins_after_a_place":                           paged,
	"a_chunk_that_is_repeated_stays_as_it_is":               repeated,
	"a_run_whose_lease_is_over_may_still_say_why":           ofZombies,
	"a_chunk_removes_the_lines_of_its_run_that_are_too_old": trimmed,
	"the_last_runs_of_a_job_are_kept":                       lastRuns,
	"the_last_bytes_of_a_job_are_kept":                      lastBytes,
	"a_job_that_is_not_there_has_no_logs":                   ofNobody,
	"a_job_of_another_namespace_is_not_there":               ofOthers,
	"any_bytes_are_kept":                                    anyBytes,
	"a_chunk_that_cannot_be_one_is_refused_with_all_others": refused,
	"they_go_with_their_job":                                goneWithJob,
	"they_stay_while_their_job_goes_on":                     stay,
}

func run(e *env.Env) store.Claimed { return e.ClaimOne(e.Join(), e.Add(env.Attempts(200))) }

func inOrder(e *env.Env) {
	a, b := run(e), run(e)
	e.KeepLogs(env.Logged(a, 3, "three"), env.Logged(b, 1, "b"), env.Logged(a, 1, "one", "two"))
	e.End(a, store.Available)
	again := e.ClaimOne(e.Join(), a.Job.ID)
	e.KeepLogs(env.Logged(again, 1, "again"))
	e.KeepLogs(env.Logged(a, 4, "four"))
	e.Equal("the logs", e.Logs(a.Job.ID), []store.LogChunk{
		env.Logged(a, 1, "one", "two"), env.Logged(a, 3, "three"), env.Logged(a, 4, "four"), env.Logged(again, 1, "again"),
	})
	e.WantLogs(b.Job.ID, "1.1: b")
	e.KeepLogs()
}

func paged(e *env.Env) {
	a := run(e)
	e.KeepLogs(env.Logged(a, 1, "1"), env.Logged(a, 2, "2"), env.Logged(a, 3, "3"))
	e.End(a, store.Available)
	again := e.ClaimOne(e.Join(), a.Job.ID)
	e.KeepLogs(env.Logged(again, 1, "4"))
	var after store.LogPlace
	for _, want := range []string{"1", "2", "3", "4", ""} {
		page, err := e.Store.Logs(e.Ctx, store.LogParams{Job: a.Job.ID, After: after, Limit: 1})
		e.NoError("Logs", err)
		if want == "" {
			e.Equal("the page after the last", len(page), 0)
			return
		}
		if len(page) != 1 || string(page[0].Lines) != want+"\n" {
			e.Fatalf("the page after %+v: %+v", after, page)
		}
		after = page[0].Place()
	}
}

func repeated(e *env.Env) {
	a := run(e)
	e.KeepLogs(env.Opening(env.Logged(a, 1, "one")))
	e.KeepLogs(env.Opening(env.Logged(a, 1, "other")), env.Logged(a, 2, "two"))
	e.WantLogs(a.Job.ID, "1.1: one", "1.2: two")
}

func ofZombies(e *env.Env) {
	a := run(e)
	e.Lose(a)
	e.Clock.Advance(time.Minute)
	e.Promote()
	again := e.ClaimOne(e.Join(), a.Job.ID)
	e.KeepLogs(env.Logged(again, 1, "again"))
	e.KeepLogs(env.Logged(a, 1, "late"))
	e.End(again, store.Completed)
	e.KeepLogs(env.Logged(again, 2, "over"))
	e.WantLogs(a.Job.ID, "1.1: late", "2.1: again", "2.2: over")
}

func trimmed(e *env.Env) {
	a, b := run(e), run(e)
	e.KeepLogs(env.Logged(a, 1, "1", "2"), env.Logged(a, 3, "3"), env.Logged(b, 1, "b"))
	e.End(a, store.Available)
	again := e.ClaimOne(e.Join(), a.Job.ID)
	e.KeepLogs(env.Logged(again, 1, "other"))
	last := env.Logged(a, 4, "4")
	last.Keep = 3
	e.KeepLogs(last)
	e.WantLogs(a.Job.ID, "1.3: 3", "1.4: 4", "2.1: other")
	e.WantLogs(b.Job.ID, "1.1: b")
	// A chunk that comes too late is removed with those that it belongs to.
	last = env.Logged(a, 5, "5")
	last.Keep = 4
	e.KeepLogs(last, env.Logged(a, 2, "late"))
	e.WantLogs(a.Job.ID, "1.4: 4", "1.5: 5", "2.1: other")
}

// of is a chunk of a run with a lease, as later runs of the job would write it.
func of(run store.Claimed, lease int64, lines ...string) store.LogChunk {
	run.Lease.Number = lease
	return env.Logged(run, 1, lines...)
}

func lastRuns(e *env.Env) {
	a, b := run(e), run(e)
	e.KeepLogs(env.Logged(b, 1, "b"))
	for lease := range int64(store.LogJobRuns) {
		e.KeepLogs(env.Opening(of(a, 2*lease+1, "x")))
	}
	if kept := e.Logs(a.Job.ID); len(kept) != store.LogJobRuns || kept[0].Lease != 1 {
		e.Fatalf("%d runs are kept, of %d", len(kept), store.LogJobRuns)
	}
	e.KeepLogs(of(a, 1001, "does not open"))
	if kept := e.Logs(a.Job.ID); len(kept) != store.LogJobRuns+1 {
		e.Fatalf("%d runs are kept", len(kept))
	}
	e.KeepLogs(env.Opening(of(a, 1002, "opens")))
	kept := e.Logs(a.Job.ID)
	if len(kept) != store.LogJobRuns || kept[0].Lease != 5 || kept[len(kept)-1].Lease != 1002 {
		e.Fatalf("%d runs are kept, from %d to %d", len(kept), kept[0].Lease, kept[len(kept)-1].Lease)
	}
	e.WantLogs(b.Job.ID, "1.1: b")
}

func lastBytes(e *env.Env) {
	a := run(e)
	full := strings.Repeat("x", store.LogChunkBytes-1)
	e.KeepLogs(of(a, 1, "first"), of(a, 2, "second"))
	const enough = store.LogJobBytes / store.LogChunkBytes
	for i := range int64(enough) {
		c := of(a, 3, full)
		c.First = i + 1
		c.Opens = i == 0
		e.KeepLogs(c)
	}
	if kept := e.Logs(a.Job.ID); len(kept) != enough+2 {
		e.Fatalf("%d chunks are kept", len(kept))
	}
	e.KeepLogs(env.Opening(of(a, 4, "x")))
	if kept := e.Logs(a.Job.ID); len(kept) != enough+1 || kept[0].Lease != 3 {
		e.Fatalf("%d chunks are kept, from lease %d", len(kept), kept[0].Lease)
	}
	// A large run stays until those after it are large.
	for i := range int64(enough) {
		c := of(a, 5, full)
		c.First = i + 1
		e.KeepLogs(c)
	}
	e.KeepLogs(env.Opening(of(a, 6, "x")))
	if kept := e.Logs(a.Job.ID); len(kept) != enough+1 || kept[0].Lease != 5 {
		e.Fatalf("%d chunks are kept, from lease %d", len(kept), kept[0].Lease)
	}
}

func ofNobody(e *env.Env) {
	a := run(e)
	nobody := a
	nobody.Job.ID = e.IDs.Next()
	e.KeepLogs(env.Logged(nobody, 1, "nobody"), env.Logged(a, 1, "one"))
	e.WantLogs(nobody.Job.ID)
	e.WantLogs(a.Job.ID, "1.1: one")
}

func ofOthers(e *env.Env) {
	a := run(e)
	e.KeepLogs(env.Logged(a, 1, "one"))
	for space, want := range map[string]int{"": 1, env.Namespace: 1, env.OtherSpace: 0} {
		page, err := e.Store.Logs(e.Ctx, store.LogParams{Namespace: space, Job: a.Job.ID, Limit: 10})
		e.NoError("Logs", err)
		e.Equal("chunks seen from "+space, len(page), want)
	}
}

func anyBytes(e *env.Env) {
	a := run(e)
	want := env.Logged(a, 1, "\x00\xff\xfe \u2028 ü", `{"msg":"\u0000"}`)
	e.KeepLogs(want)
	e.Equal("the logs", e.Logs(a.Job.ID), []store.LogChunk{want})
}

func refused(e *env.Env) {
	a := run(e)
	for what, change := range map[string]func(*store.LogChunk){
		"no lease":        func(c *store.LogChunk) { c.Lease = 0 },
		"no first line":   func(c *store.LogChunk) { c.First = 0 },
		"no count":        func(c *store.LogChunk) { c.Count = 0 },
		"a negative keep": func(c *store.LogChunk) { c.Keep = -1 },
		"no attempt":      func(c *store.LogChunk) { c.Attempt = -1 },
		"no lines":        func(c *store.LogChunk) { c.Lines = nil },
		"too large":       func(c *store.LogChunk) { c.Lines = make([]byte, store.LogChunkBytes+1) },
	} {
		c := env.Logged(a, 2, "two")
		change(&c)
		e.WantErr(what, e.Store.KeepLogs(e.Ctx, []store.LogChunk{env.Logged(a, 1, "one"), c}), store.ErrInvalid)
	}
	e.WantLogs(a.Job.ID)
	for _, limit := range []int{0, 1001} {
		_, err := e.Store.Logs(e.Ctx, store.LogParams{Job: a.Job.ID, Limit: limit})
		e.WantErr("Logs", err, store.ErrInvalid)
	}
}

func goneWithJob(e *env.Env) {
	a, b := run(e), run(e)
	e.KeepLogs(env.Logged(a, 1, "one"), env.Logged(b, 1, "b"))
	e.End(a, store.Completed)
	e.WantLogs(a.Job.ID, "1.1: one")
	e.Delete(a.Job.ID)
	e.WantLogs(a.Job.ID)
	e.KeepLogs(env.Logged(a, 2, "two"))
	e.WantLogs(a.Job.ID)
	// A job that has its id later has none of its lines.
	e.Enqueue(e.Job(func(q *store.Enqueue) { q.Job.ID = a.Job.ID }))
	e.WantLogs(a.Job.ID)
	e.WantLogs(b.Job.ID, "1.1: b")
}

func stay(e *env.Env) {
	a := run(e)
	e.KeepLogs(env.Logged(a, 1, "one"))
	e.End(a, store.Failed)
	e.Retry(a.Job.ID)
	e.WantLogs(a.Job.ID, "1.1: one")
	again := e.ClaimOne(e.Join(), a.Job.ID)
	e.KeepLogs(env.Opening(env.Logged(again, 1, "two")))
	e.End(again, store.Completed)
	e.WantLogs(a.Job.ID, "1.1: one", "2.1: two")
}

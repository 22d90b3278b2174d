package lists

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What people change and remove while the jobs go somewhere else.
var raceTests = env.Tests{
	"AtomicTransitions_a_job_is_changed_while_it_is_claimed":              raceEditClaim,
	"AtomicTransitions_a_job_is_put_off_while_it_is_claimed":              racePutOffClaim,
	"EveryDueThingHappens_a_job_gets_another_time_while_it_is_promoted":   raceEditPromote,
	"NoLoss_many_change_the_same_jobs":                                    raceEdits,
	"AtomicTransitions_a_job_is_changed_while_it_is_paused_and_goes_on":   raceEditPause,
	"AtomicTransitions_a_job_is_deleted_while_it_is_retried":              raceDeleteRetry,
	"AtomicTransitions_a_job_is_deleted_while_it_is_forked":               raceDeleteFork,
	"of_many_deletes_and_retention_one_removes_a_job":                     raceRemovals,
	"AtomicTransitions_a_person_and_a_run_say_things_of_the_same_job":     raceMeta,
	"NoLoss_a_parent_is_deleted_while_its_last_child_ends":                raceDeleteParent,
	"what_is_listed_and_counted_while_jobs_are_changed_and_deleted_holds": raceLists,
}

// editNow changes a job in a goroutine of a test, and reports whether that was accepted.
func editNow(e *env.Env, id store.ID, change store.Edit) (accepted bool, err error) {
	err = store.ErrUnavailable
	for errors.Is(err, store.ErrUnavailable) { // on a busy machine another change may have the job for long
		_, _, err = e.Store.Edit(e.Ctx, env.Edits(id, change))
	}
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("Edit: %w", err)
	}
	return true, nil
}

// deleteNow removes jobs in a goroutine of a test.
func deleteNow(e *env.Env, ids ...store.ID) ([]store.Result, error) {
	results, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{Jobs: ids, Reason: "r", Actor: "a"})
	if err != nil {
		return nil, fmt.Errorf("Delete: %w", err)
	}
	return results, nil
}

// raceEditClaim: either the run has what was changed, or the change is refused. Those who change
// come from the end, so that they meet somewhere.
func raceEditClaim(e *env.Env) {
	const n = 60
	changes := []store.Edit{
		{Args: []byte(`"new"`)},
		{Args: []byte(`"new"`), Queue: new("b")},
		{Args: []byte(`"new"`), Priority: new(4)},
		{Args: []byte(`"new"`), Priority: new(1)},
	}
	for round, change := range changes {
		ids := env.IDsOf(e.Many(n, []func(*store.Enqueue){env.Priority(2), env.Ordered(fmt.Sprint("k", round))}[:1+round%2]...))
		node := e.Join()
		changed, ran := map[store.ID]bool{}, map[store.ID]store.Claimed{}
		crowd.Together(e, 2, func(i int) error {
			if i == 0 {
				for _, id := range slices.Backward(ids) {
					ok, err := editNow(e, id, change)
					if err != nil {
						return err
					}
					changed[id] = ok
				}
				return nil
			}
			for range n / 3 {
				if _, err := e.Store.Promote(e.Ctx, 10); err != nil {
					return fmt.Errorf("Promote: %w", err)
				}
				runs, err := crowd.ClaimNow(e, e.Demand(node, 2))
				if err != nil {
					return err
				}
				for _, run := range runs {
					ran[run.Job.ID] = run
				}
				if err := crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs)}); err != nil {
					return err
				}
			}
			return nil
		})
		for runs := e.ClaimRuns(node); len(runs) > 0; runs = e.ClaimRuns(node) {
			for id, run := range runs {
				if _, twice := ran[id]; twice {
					e.Fatalf("job %v ran twice", id)
				}
				ran[id] = run
				e.End(run, store.Completed)
			}
		}
		for _, id := range ids {
			run, has := ran[id]
			if isNew := string(run.Job.Args) == `"new"`; !has || isNew != changed[id] || isNew && change.Queue != nil && run.Job.Queue != "b" {
				e.Fatalf("the change of job %v was accepted: %v; it ran: %v, with %s in %s", id, changed[id], has, run.Job.Args, run.Job.Queue)
			}
		}
		e.Leave(node)
	}
}

// racePutOffClaim: a job that was put off does not run before its time.
func racePutOffClaim(e *env.Env) {
	const n = 60
	ids := env.IDsOf(e.Many(n))
	node := e.Join()
	later := e.Clock.Now().Add(time.Hour)
	changed, ran := map[store.ID]bool{}, map[store.ID]bool{}
	crowd.Together(e, 2, func(i int) error {
		if i == 0 {
			for _, id := range slices.Backward(ids) {
				ok, err := editNow(e, id, store.Edit{RunAt: &later})
				if err != nil {
					return err
				}
				changed[id] = ok
			}
			return nil
		}
		for range n / 2 {
			runs, err := crowd.ClaimNow(e, e.Demand(node, 2))
			if err != nil {
				return err
			}
			for _, run := range runs {
				ran[run.Job.ID] = true
			}
		}
		return nil
	})
	for id := range e.ClaimRuns(node) {
		ran[id] = true
	}
	for _, id := range ids {
		if ran[id] == changed[id] {
			e.Fatalf("job %v was put off: %v, and ran: %v", id, changed[id], ran[id])
		}
		e.WantState(id, map[bool]store.State{true: store.Running, false: store.Scheduled}[ran[id]])
	}
	e.Later(node, time.Hour)
	if runs := e.ClaimRuns(node); len(runs) != n-len(ran) {
		e.Fatalf("%d jobs run later, want %d", len(runs), n-len(ran))
	}
}

// raceEditPromote: whichever comes first, a job is where its last change put it, once.
func raceEditPromote(e *env.Env) {
	const n = 60
	node := e.Join()
	for _, keyed := range []bool{false, true} {
		var change []func(*store.Enqueue)
		if keyed {
			change = append(change, env.Ordered("k"))
		}
		ids := env.IDsOf(e.Many(n, append(change, env.Delay(time.Second))...))
		e.Clock.Advance(time.Second)
		later := e.Clock.Now().Add(time.Hour)
		crowd.Together(e, 3, func(i int) error {
			for at := range ids {
				switch i {
				case 0:
					if ok, err := editNow(e, ids[at], store.Edit{RunAt: &later}); err != nil || !ok {
						return fmt.Errorf("a change of the time of a job that does not run: %v, %w", ok, err)
					}
				case 1:
					if _, err := e.Store.Promote(e.Ctx, 2); err != nil {
						return fmt.Errorf("Promote: %w", err)
					}
				case 2:
					if ok, err := editNow(e, ids[n-1-at], store.Edit{Priority: new(3), Queue: new("b")}); err != nil || !ok {
						return fmt.Errorf("a change of the lane of a job that does not run: %v, %w", ok, err)
					}
				}
			}
			return nil
		})
		e.WantNothing(node)
		for _, id := range ids {
			if r := e.Get(id); r.State != store.Scheduled || !r.RunAt.Equal(later) || r.Queue != "b" || r.Priority != 3 {
				e.Fatalf("the job: %+v", r)
			}
		}
		e.Later(node, time.Hour)
		var ran crowd.Tally
		for runs := e.Claim(node, n); len(runs) > 0; runs = e.Claim(node, n) {
			ran.Add(env.ClaimedIDs(runs)...)
			e.EndAll(runs, store.Completed)
		}
		crowd.WantOnce(e, "claimed", &ran, ids)
	}
}

// raceEdits: the last change of each field stays, and a job is in one place.
func raceEdits(e *env.Env) {
	ids := env.IDsOf(append(e.Many(6), e.Many(6, env.Ordered("k"))...))
	queues := []string{"mail", "b", "c", "d"}
	crowd.Together(e, 4, func(i int) error {
		for round := range 20 {
			id := ids[(round*5+i)%len(ids)]
			change := store.Edit{Queue: &queues[i], AddTags: []string{queues[i]}}
			if round%3 == 0 {
				change.RunAt = new(e.Clock.Now().Add(time.Duration(round%2) * time.Second))
			}
			if ok, err := editNow(e, id, change); err != nil || !ok {
				return fmt.Errorf("an edit: %v, %w", ok, err)
			}
		}
		return nil
	})
	for _, id := range ids {
		if tags := e.Get(id).Tags; len(tags) != len(queues) {
			e.Fatalf("of the tags that four have added there are %q", tags)
		}
	}
	e.Clock.Advance(time.Minute)
	var ran crowd.Tally
	crowd.FinishRest(e, &ran)
	crowd.WantOnce(e, "claimed", &ran, ids)
}

// raceEditPause: a job that is held keeps its changes.
func raceEditPause(e *env.Env) {
	ids := env.IDsOf(e.Many(40))
	crowd.Together(e, 3, func(i int) error {
		for at := range ids {
			var err error
			switch i {
			case 0:
				_, _, err = e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Jobs: ids[at : at+1]})
			case 1:
				err = store.ErrUnavailable
				for errors.Is(err, store.ErrUnavailable) { // on a busy machine another change may have the job for long
					_, _, err = e.Store.Resume(e.Ctx, env.Resumption(ids[at]))
				}
				if errors.Is(err, store.ErrConflict) {
					err = nil
				}
			case 2:
				var ok bool
				if ok, err = editNow(e, ids[len(ids)-1-at], store.Edit{Queue: new("b"), Priority: new(3)}); err == nil && !ok {
					err = errors.New("a change of a job that does not run is refused")
				}
			}
			if err != nil {
				return fmt.Errorf("operation %d: %w", i, err)
			}
		}
		return nil
	})
	for _, id := range ids {
		if e.Get(id).State == store.Waiting {
			e.Resume(env.Resumption(id), store.Available)
		}
		if r := e.Get(id); r.Queue != "b" || r.Priority != 3 {
			e.Fatalf("the job: %+v", r)
		}
	}
	var ran crowd.Tally
	crowd.FinishRest(e, &ran)
	crowd.WantOnce(e, "claimed", &ran, ids)
}

// ended makes n jobs that have finished and remember something.
func ended(e *env.Env, n int, state store.State) []store.ID {
	e.Helper()
	runs := crowd.Remembering(e, n)
	for i := range runs {
		runs[i].Durable = true
	}
	e.EndAll(runs, state)
	e.Leave(runs[0].Lease.Node)
	return env.ClaimedIDs(runs)
}

// raceDeleteRetry: either it is removed, or it runs again.
func raceDeleteRetry(e *env.Env) {
	ids := ended(e, 60, store.Failed)
	deleted, retried := map[store.ID]error{}, map[store.ID]error{}
	crowd.Together(e, 2, func(i int) error {
		for at := range ids {
			if i == 0 {
				results, err := deleteNow(e, ids[at])
				if err != nil {
					return err
				}
				deleted[ids[at]] = results[0].Err
				continue
			}
			id := ids[len(ids)-1-at]
			results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: []store.ID{id}})
			if err != nil {
				return fmt.Errorf("Retry: %w", err)
			}
			retried[id] = results[0].Err
		}
		return nil
	})
	for _, id := range ids {
		d, r := deleted[id], retried[id]
		switch {
		case d == nil && errors.Is(r, store.ErrNotFound):
			e.WantGone(id)
		case errors.Is(d, store.ErrConflict) && r == nil:
			e.WantState(id, store.Available)
			e.WantEntries(id, 1)
		default:
			e.Fatalf("deleted: %v, retried: %v", d, r)
		}
	}
	crowd.FinishRest(e)
}

// raceDeleteFork: a fork has all of its beginning, or there is none.
func raceDeleteFork(e *env.Env) {
	ids := ended(e, 40, store.Failed)
	forks := map[store.ID]store.ID{}
	crowd.Together(e, 2, func(i int) error {
		for at := range ids {
			if i == 0 {
				if results, err := deleteNow(e, ids[at]); err != nil || results[0].Err != nil {
					return fmt.Errorf("Delete: %+v, %w", results, err)
				}
				continue
			}
			id, q := ids[len(ids)-1-at], e.Job()
			switch _, err := e.Store.Fork(e.Ctx, store.ForkParams{From: id, Keep: 1, Job: q.Job}); {
			case err == nil:
				forks[id] = q.Job.ID
			case !errors.Is(err, store.ErrNotFound):
				return fmt.Errorf("Fork: %w", err)
			}
		}
		return nil
	})
	for _, id := range ids {
		e.WantGone(id)
		e.Equal("journal of a deleted job", e.Journal(id), store.Journal{Job: id})
	}
	for _, fork := range forks {
		e.WantEntries(fork, 1)
	}
	if n := len(e.ListIDs(store.Filter{})); n != len(forks) {
		e.Fatalf("%d jobs are left, want the %d forks", n, len(forks))
	}
}

func raceRemovals(e *env.Env) {
	ids := ended(e, 60, store.Completed)
	e.Clock.Advance(time.Hour + env.Slack)
	var removed crowd.Tally
	retained := 0
	crowd.Together(e, 4, func(i int) error {
		if i == 3 {
			for range 4 {
				done, err := e.Store.Retain(e.Ctx, store.Retention{Completed: time.Hour, Limit: 10})
				if err != nil {
					return fmt.Errorf("Retain: %w", err)
				}
				retained += done.Jobs
			}
			return nil
		}
		for part := range slices.Chunk(ids, 5) {
			results, err := deleteNow(e, part...)
			if err != nil {
				return err
			}
			for _, r := range results {
				if r.Err == nil {
					removed.Add(r.Job)
				} else if !errors.Is(r.Err, store.ErrNotFound) && !errors.Is(r.Err, store.ErrBusy) {
					return fmt.Errorf("Delete: %w", r.Err)
				}
			}
		}
		return nil
	})
	for _, r := range e.TryDelete(ids...) {
		if r.Err == nil {
			removed.Add(r.Job)
		}
		e.WantGone(r.Job)
	}
	for id, n := range removed.Seen {
		if n != 1 {
			e.Fatalf("job %v was removed %d times", id, n)
		}
	}
	// Retention may count, before it removes, what people remove meanwhile.
	if len(removed.Seen)+retained < len(ids) {
		e.Fatalf("people removed %d jobs and retention %d, of %d", len(removed.Seen), retained, len(ids))
	}
}

// raceMeta: of what both say one word is the last, and tags and metadata are from one of them each.
func raceMeta(e *env.Env) {
	runs := e.Running(20)
	crowd.Together(e, 2, func(i int) error {
		for _, run := range runs {
			if i == 0 {
				change := store.Edit{Metadata: []byte(`{"by":"person"}`), AddTags: []string{"person"}}
				if ok, err := editNow(e, run.Job.ID, change); err != nil || !ok {
					return fmt.Errorf("Edit: %v, %w", ok, err)
				}
				continue
			}
			says := &store.Meta{Metadata: []byte(`{"by":"run"}`), Tags: []string{"run"}}
			batch := &store.Batch{Appends: []*store.Append{{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: says}}}
			if err := crowd.TryNow(e, batch); err != nil || batch.Appends[0].Err != nil {
				return fmt.Errorf("append: %w", errors.Join(err, batch.Appends[0].Err))
			}
		}
		return nil
	})
	for _, run := range runs {
		r := e.Get(run.Job.ID)
		first := string(r.Metadata) == `{"by":"run"}` && slices.Equal(r.Tags, []string{"run"})
		if last := string(r.Metadata) == `{"by":"person"}` && slices.Equal(r.Tags, []string{"run", "person"}); !first && !last {
			e.Fatalf("the job says %s and %q", r.Metadata, r.Tags)
		}
		e.WantEntries(r.ID, 1)
	}
}

// raceDeleteParent: the parent goes once its last child has ended, and not before.
func raceDeleteParent(e *env.Env) {
	for range 20 {
		parent := e.Started()
		e.Bear(&parent, 1, env.Kind("push"))
		e.End(parent, store.Completed)
		child := e.ClaimKinds(parent.Lease.Node, "push")[0]
		var deleted error
		crowd.Together(e, 2, func(i int) error {
			if i == 0 {
				return crowd.EndNow(e, crowd.Ending(env.Outcome(child, store.Completed)))
			}
			results, err := deleteNow(e, parent.Job.ID)
			if err == nil {
				deleted = results[0].Err
			}
			return err
		})
		if deleted != nil {
			e.WantErr("Delete of a parent", deleted, store.ErrConflict)
			e.Delete(parent.Job.ID)
		}
		e.WantState(child.Job.ID, store.Completed)
		e.Leave(parent.Lease.Node)
	}
}

// raceLists: a job that nothing happens to is on exactly one page, and counted, whatever happens to
// others.
func raceLists(e *env.Env) {
	still, moving := env.IDsOf(e.Many(20, env.Delay(time.Hour))), env.IDsOf(e.Many(20, env.Delay(time.Hour)))
	node := e.Join()
	done := make(chan struct{})
	crowd.Together(e, 3, func(i int) error {
		if i == 0 {
			defer close(done)
			return moveAround(e, node, moving)
		}
		for {
			select {
			case <-done:
				return nil
			default:
			}
			if err := lookOnce(e, still, []store.Sort{store.SortNewest, store.SortOldest, store.SortRunAt}); err != nil {
				return err
			}
		}
	})
}

// moveAround changes, ends and deletes jobs.
func moveAround(e *env.Env, node int64, ids []store.ID) error {
	for i, id := range ids {
		change := store.Edit{Queue: new(fmt.Sprint("q", i%3)), RunAt: new(e.Clock.Now().Add(time.Duration(i) * time.Minute))}
		if _, err := editNow(e, id, change); err != nil {
			return err
		}
		if i%2 == 0 {
			if _, err := crowd.CancelNow(e, []store.ID{id}); err != nil {
				return err
			}
			if _, err := deleteNow(e, id); err != nil {
				return err
			}
		}
		runs, err := crowd.ClaimNow(e, e.Demand(node, 1))
		if err == nil {
			err = crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs), Enqueues: []*store.Enqueue{e.Job()}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lookOnce reads all pages in all orders, and counts.
func lookOnce(e *env.Env, still []store.ID, sorts []store.Sort) error {
	for _, sort := range sorts {
		var seen crowd.Tally
		params := store.ListParams{Sort: sort, Limit: 7}
		for more := true; more; more = params.After != "" {
			page, err := e.Store.List(e.Ctx, params)
			if err != nil {
				return fmt.Errorf("List: %w", err)
			}
			for i := range page.Jobs {
				seen.Add(page.Jobs[i].ID)
			}
			params.After = page.Next
		}
		for _, id := range still {
			if seen.Seen[id] != 1 {
				return fmt.Errorf("by %s job %v is listed %d times", sort, id, seen.Seen[id])
			}
		}
	}
	counted, err := e.Store.Count(e.Ctx, store.CountParams{Filter: store.Filter{IDs: still}})
	if err != nil || counted.N != len(still) {
		return fmt.Errorf("counted %+v, %w", counted, err)
	}
	return nil
}

package copies

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var copyTests = map[string]func(*pair){
	"AtomicTransitions_all_of_every_job_is_there":      copied,
	"in_pages_of_any_size":                             copiedInPortions,
	"NoLoss_one_that_was_interrupted_goes_on":          copyGoesOn,
	"Remembered_runs_go_on_where_they_were":            goesOn,
	"UniqueIsUnique_keys_are_held":                     keysAreHeld,
	"UniqueIsUnique_business_keys_outlive_their_jobs":  businessKeys,
	"NoLoss_what_was_sent_along_is_known":              sentAlong,
	"a_run_that_was_lost_with_its_node_is_found_by_it": lostFrom,
	"a_job_that_was_handed_over_is_ended_from_outside": handedOver,
	"Order_turns_are_handed_on":                        turnsGoOn,
	"children_of_finished_parents_are_closed":          childrenAreClosed,
	"NoLoss_jobs_that_wait_for_others_go_on":           dependenciesGoOn,
	"OneOwner_a_job_that_runs_is_not_exported":         runningRefused,
	"a_target_with_jobs_or_nodes_is_refused":           targetRefused,
	"a_target_with_schedules_is_refused":               scheduleRefused,
	"a_target_with_limits_is_refused":                  limitRefused,
	"LimitsHold_limits_are_copied_and_grants_are_not":  limitsCopied,
	"classes_of_retention_are_copied":                  classesCopied,
	"search_attributes_are_copied":                     attributesCopied,
	"search_attributes_that_change_their_type":         attributesChanged,
	"LimitsHold_jobs_that_wait_for_their_key_go_on":    gatesGoOn,
	"LimitsHold_jobs_that_wait_for_a_rate_go_on":       keyRatesGoOn,
	"OneFire_schedules_fire_on_where_they_were":        schedulesGoOn,
	"schedules_that_changed_meanwhile_are_copied_anew": schedulesAgain,
	"a_copy_of_another_database_or_state_is_refused":   otherRefused,
	"stubs_of_archived_jobs_are_copied":                stubsCopied,
	"an_id_of_a_node_means_one_build":                  buildsCopied,
	"an_id_of_a_node_means_one_node":                   nodesGoOn,
	"nothing_of_the_origin_changes_and_all_is_counted": surveyed,
}

func copied(p *pair) {
	variety(p.from)
	before := everything(p.from)
	p.copy(1000, 1<<20)
	p.wantAlike()
	p.from.Equal("the source", everything(p.from), before)
	p.to.Equal("what people did to jobs", doneToJobs(p.to), doneToJobs(p.from))
}

// doneToJobs is what people did to jobs that are there, with the namespaces.
func doneToJobs(e *env.Env) (list []string) {
	all, err := e.Store.ListAudit(e.Ctx, store.AuditParams{Target: store.AuditTarget{Kind: store.AuditJob}, Limit: 1000})
	e.NoError("ListAudit", err)
	for i := range all {
		a := &all[i]
		if a.Namespace == "" {
			e.Errorf("an entry of job %s has no namespace", a.Job)
		}
		if a.Action == string(store.ActionDelete) {
			continue
		}
		list = append(list, a.Namespace+" "+a.Job.String()+" "+a.Action+" "+a.Actor+" "+a.Detail)
	}
	slices.Sort(list)
	return list
}

func copiedInPortions(p *pair) {
	variety(p.from)
	p.copy(1, 1)
	p.wantAlike()
}

// copyGoesOn: each page is imported twice, as if its answer was lost, and then all of them again
// from the beginning.
func copyGoesOn(p *pair) {
	variety(p.from)
	from := survey(p.from)
	var seen store.ID
	for range 2 {
		for exported := (store.Exported{}); !exported.End; {
			exported = page(p.from, exported.Next, 3, 2000)
			for range 2 {
				params := importOf(from.Origin, exported)
				params.Queues, params.Limits, params.Attributes = from.Queues, from.Limits, from.Attributes
				p.put(params)
			}
			seen = exported.Next.Job
		}
	}
	note := survey(p.to).Note
	if note == nil || note.Done || note.Last != seen || note.From != from.Origin {
		p.to.Fatalf("the note is %+v", note)
	}
	p.put(store.ImportParams{From: from.Origin, Done: true})
	if note := survey(p.to).Note; !note.Done || note.Last != seen {
		p.to.Fatalf("the note is %+v", note)
	}
	p.wantAlike()
}

// goesOn: what wakes a job in the source wakes it in the target, and its journal is continued.
func goesOn(p *pair) {
	parked := p.from.Parked(&store.Wait{Seen: 1, Kinds: store.MessagesOf(store.MessageSignal)})
	p.from.TrySend(parked.Job.ID, env.Signal("before"), "once")
	p.from.Later(parked.Lease.Node, time.Second)
	held := p.from.Held()
	due := p.from.Parked(&store.Wait{Until: p.from.Clock.Now().Add(time.Minute)})
	failed := p.from.Durable(2)
	p.from.End(failed, store.Failed)
	parent := p.from.Durable(2)
	child := p.from.Bear(&parent, 1)[0]
	p.from.Park(parent, &store.Wait{Kinds: store.MessagesOf(store.MessageChild)})
	stop(p.from)
	p.copy(10, 10_000)

	node := p.to.Join()
	p.to.End(p.to.ClaimOne(node, child), store.Completed)
	parentRun := p.to.ClaimOne(node, parent.Job.ID)
	if answers := p.to.Answers(parent.Job.ID); len(answers) != 1 || answers[0].From != child {
		p.to.Errorf("the answers are %+v", answers)
	}
	p.to.End(parentRun, store.Completed)
	if again := p.to.TrySend(parked.Job.ID, env.Signal("before"), "once"); !again.Result.Duplicate || again.Result.Seq != 1 {
		p.to.Errorf("a message that was sent before the copy: %+v, %v", again.Result, again.Err)
	}
	if !p.to.Send(parked.Job.ID, env.Signal("go")).Woken {
		p.to.Errorf("the signal woke nothing")
	}
	run := p.to.ClaimOne(node, parked.Job.ID)
	if !run.Durable || run.Lease.Number != parked.Lease.Number+1 {
		p.to.Errorf("the run after the copy: %+v", run)
	}
	last := int64(len(p.from.Journal(parked.Job.ID).Entries))
	p.to.Write(&run, env.Step(last+1))
	p.to.End(run, store.Completed)
	p.to.WantState(held.Job.ID, store.Waiting)
	p.to.GoOn(held.Job.ID)
	p.to.End(p.to.ClaimOne(node, held.Job.ID), store.Completed)
	p.to.Retry(failed.Job.ID)
	p.to.End(p.to.ClaimOne(node, failed.Job.ID), store.Completed)
	p.to.WantNothing(node)
	p.to.Later(node, time.Minute)
	p.to.Promote()
	p.to.End(p.to.ClaimOne(node, due.Job.ID), store.Completed)
	p.to.WantNothing(node)
}

func keysAreHeld(p *pair) {
	p.from.End(p.from.Started(env.Unique("free")), store.Completed)
	holder := p.from.Add(env.Unique("held"))
	stop(p.from)
	p.copy(10, 10_000)
	p.to.WantTaken("held", holder)
	p.to.WantFree("free")
	node := p.to.Join()
	p.to.End(p.to.ClaimOne(node, holder), store.Completed)
	p.to.WantFree("held")
}

func businessKeys(p *pair) {
	node := p.from.Join()
	kept := p.from.TakeKey("kept", env.KeepKey(store.KeepForever))
	p.from.End(p.from.ClaimOne(node, kept), store.Completed)
	p.from.Retire(node)
	p.from.WantGone(kept)
	free := p.from.TakeKey("free")
	p.from.End(p.from.ClaimOne(node, free), store.Completed)
	open := p.from.TakeKey("open")
	stop(p.from)
	p.copy(1, 1)
	p.to.WantKey("kept", kept)
	p.to.WantKey("open", open)
	p.to.TakeKey("free")
}

// sentAlong: an enqueue whose answer was lost is repeated after the copy, also if another job has
// the key by then.
func sentAlong(p *pair) {
	node := p.from.Join()
	first := p.from.SendOrStart("k", "one")
	second := p.from.SendOrStart("k", "two", env.Args("2"))
	other := p.from.SendOrStart("k", "three", env.ID(second.Job.ID), env.In(env.OtherSpace))
	p.from.End(p.from.ClaimOne(node, first.Job.ID), store.Completed)
	next := p.from.SendOrStart("k", "four")
	open := p.from.SendOrStart("open", "five")
	late := p.from.SendOrStart("late", "six")
	sent := p.from.Clock.Now()
	stop(p.from)
	p.from.Clock.Advance(time.Hour)
	p.copy(1, 1)

	node = p.to.Join()
	p.to.End(p.to.ClaimOne(node, next.Job.ID), store.Completed)
	p.to.End(p.to.ClaimOne(node, open.Job.ID), store.Completed)
	taken := p.to.TakeKey("open")
	p.to.WantRepeated(first, "one", "two")
	p.to.WantRepeated(second, "one", "two")
	p.to.WantRepeated(other, "three")
	p.to.WantRepeated(next, "four")
	p.to.WantRepeated(open, "five")
	p.to.Equal("messages", p.to.Names(taken), []string(nil))

	p.to.Clock.Advance(sent.Add(store.SentKept - time.Microsecond).Sub(p.to.Clock.Now()))
	p.to.Retain(env.Briefly)
	p.to.WantRepeated(late, "six")
	p.to.Clock.Advance(time.Microsecond)
	p.to.Retain(env.Briefly)
	if again := p.to.Repeat(late); again.Send.Result.Duplicate {
		p.to.Errorf("after a day: %+v", again.Send.Result)
	}
}

// lostFrom: that a run was lost is not always the reason of its attempt.
func lostFrom(p *pair) {
	cancelled, retried := started(p.from), started(p.from, env.Attempts(5))
	given, ended := started(p.from), started(p.from, env.Attempts(5))
	p.from.Cancel(cancelled.Job.ID)
	p.from.GiveUp(cancelled)
	p.from.Lose(retried)
	p.from.End(ended, store.Retryable)
	stop(p.from) // which gives back the last one
	p.copy(1, 1)
	for _, e := range []*env.Env{p.from, p.to} {
		e.WantState(cancelled.Job.ID, store.Cancelled)
		for _, run := range []store.Claimed{cancelled, retried} {
			e.WantSameIDs("what was lost", e.ListIDs(store.Filter{LostFrom: run.Lease.Node}), run.Job.ID)
		}
		for _, run := range []store.Claimed{given, ended} {
			e.WantSameIDs("what was not lost", e.ListIDs(store.Filter{LostFrom: run.Lease.Node}))
		}
	}
}

func handedOver(p *pair) {
	run := p.from.HandedOver()
	stop(p.from)
	p.copy(1, 1)
	p.to.Finish(env.CompletedBy(run.Job.ID))
}

func turnsGoOn(p *pair) {
	first := p.from.Add(env.Ordered("k"), env.Priority(4))
	p.from.Promote()
	second, third := p.from.Add(env.Ordered("k")), p.from.Add(env.Ordered("k"))
	p.copy(1, 1)
	node := p.to.Join()
	for _, id := range []store.ID{first, second, third} {
		p.to.Promote()
		run := p.to.ClaimOne(node, id)
		p.to.Promote()
		p.to.WantNothing(node)
		p.to.End(run, store.Completed)
	}
}

func childrenAreClosed(p *pair) {
	parent := p.from.Durable(1)
	children := p.from.Bear(&parent, 2)
	p.from.End(parent, store.Completed, env.WithChildren)
	stop(p.from)
	p.copy(1, 1)
	p.to.WantSameIDs("closed children", p.to.CloseChildren(10), children...)
}

func dependenciesGoOn(p *pair) {
	later, failed := p.from.Add(env.Delay(time.Hour)), started(p.from)
	after, lost := p.from.Add(env.After(later)), p.from.Add(env.After(failed.Job.ID))
	p.from.End(failed, store.Failed)
	stop(p.from)
	p.copy(1, 1)
	p.to.WantSameIDs("cancelled", p.to.CloseChildren(10), lost)
	p.to.WantAwaits(after, later)
	p.to.Clock.Advance(2 * time.Hour)
	p.to.CloseChildren(10)
	p.to.Promote()
	p.to.End(p.to.ClaimOne(p.to.Join(), later), store.Completed)
	p.to.CloseChildren(10)
	p.to.WantState(after, store.Available)
}

func runningRefused(p *pair) {
	p.from.Started()
	_, err := facet(p.from).Export(p.from.Ctx, store.ExportParams{Limit: 10, Bytes: 1000})
	p.from.WantErr("an export of a job that runs", err, store.ErrConflict)
}

func (p *pair) wantRefused(what string, params store.ImportParams) {
	p.to.Helper()
	before := survey(p.to)
	p.to.WantErr(what, facet(p.to).Import(p.to.Ctx, params), store.ErrConflict)
	p.to.Equal(what, survey(p.to), before)
}

func targetRefused(p *pair) {
	from := survey(p.from).Origin
	node := p.to.Join()
	p.wantRefused("a target in which a node lives", store.ImportParams{From: from})
	p.to.Leave(node)
	own := p.to.Add()
	p.wantRefused("a target with a job", store.ImportParams{From: from})
	p.to.Cancel(own)
	p.wantRefused("a target with a finished job", store.ImportParams{From: from})
}

func scheduleRefused(p *pair) {
	p.to.SaveSchedule(env.Schedule("nightly"))
	p.wantRefused("a target with a schedule", store.ImportParams{From: survey(p.from).Origin})
}

func limitRefused(p *pair) {
	p.to.SaveLimit(env.Limit("partner", 5))
	p.wantRefused("a target with a limit", store.ImportParams{From: survey(p.from).Origin})
}

// classesCopied: jobs are kept as long in the copy; each import that has classes makes them what
// they are, and others leave them alone.
func classesCopied(p *pair) {
	p.from.SetRetention(store.RetentionClass{Name: "short", Completed: time.Hour, Failed: store.KeepForever})
	p.from.NameRetention("mail", "short")
	p.to.SetRetention(store.RetentionClass{Name: "other", Cancelled: time.Hour})
	p.copy(100, 1<<20)
	want := survey(p.from).Classes
	p.to.Equal("copied", survey(p.to).Classes, want)
	if len(want) != 1 || want[0].Name != "short" || want[0].SetBy != "ada" {
		p.to.Fatalf("classes: %+v", want)
	}
	p.to.Equal("the queue", p.to.Queue("mail").Attempts.Retention, "short")
}

// limitsCopied: each import that has limits makes them what they are, and others leave them alone.
func limitsCopied(p *pair) {
	node := p.from.Join()
	l := p.from.SaveLimit(env.Limit("partner", 5, func(l *store.Limit) { l.Queues, l.Kinds = []string{"mail"}, map[string]int{"send": 2} }))
	gone := p.from.SaveLimit(env.Limit("gone", 7))
	p.from.SaveLimit(env.Limit("rated", 0, func(l *store.Limit) { l.Uncapped, l.Rate = true, &store.Rate{Count: 1, Per: time.Minute} }))
	for range 2 { // the first of which is taken back
		p.from.NoError("ResumeLimit", p.from.Store.ResumeLimit(p.from.Ctx, store.ResumeLimitParams{Namespace: env.Namespace, Name: "rated"}))
		p.from.NoError("Drain", p.from.Store.Drain(p.from.Ctx, env.Namespace, "rated", p.from.Clock.Now().Add(time.Hour), ""))
	}
	p.from.Slots(node, l, 0, 3)
	p.from.Leave(node)
	from := survey(p.from)
	p.put(store.ImportParams{From: from.Origin, Limits: from.Limits})
	p.put(store.ImportParams{From: from.Origin})
	p.to.Equal("copied", survey(p.to).Limits, from.Limits)
	drained := p.to.LimitOf("rated")
	taken, err := p.to.Store.TakePermits(p.to.Ctx, []store.PermitAsk{{Limit: drained.ID, Version: drained.Version, Want: 1}})
	if err != nil || len(taken) != 1 || taken[0].Count != 0 || drained.Resumed != 1 || !drained.NextAt.Equal(drained.DrainedUntil) {
		p.to.Errorf("a copied limit that was drained is %+v, and gives %+v, %v", drained, taken, err)
	}
	p.from.NoError("DeleteLimit", p.from.Store.DeleteLimit(p.from.Ctx, env.Namespace, "rated", false, ""))

	p.from.NoError("DeleteLimit", p.from.Store.DeleteLimit(p.from.Ctx, env.Namespace, "gone", false, ""))
	p.from.Clock.Advance(time.Second)
	l = p.from.ChangeLimit(env.Limit("partner", 6, func(l *store.Limit) { l.Fair, l.Kinds = true, map[string]int{"send": 2} }), l.Version)
	from = survey(p.from)
	if reflect.DeepEqual(from.Limits, survey(p.to).Limits) || len(from.Limits) != 1 || from.Limits[0].ID != 0 || gone.ID == l.ID {
		p.to.Errorf("nobody sees what has changed: %+v", from.Limits)
	}
	p.put(store.ImportParams{From: from.Origin, Limits: []store.Limit{}})
	p.to.Equal("none", survey(p.to).Limits, []store.Limit{})
	p.copy(1, 1)
	copied := p.to.LimitOf("partner")
	if copied.Version != l.Version || len(copied.Holders) != 0 {
		p.to.Errorf("the limit is %+v, and was %+v", copied, l)
	}
	p.to.Equal("copied again", survey(p.to).Limits, from.Limits)
	p.to.Equal("what there is", p.to.Slots(p.to.Join(), copied, 0, 9), 6)
	if g := p.to.Grants(p.to.Join(), env.Ask(copied, 0, 9)); len(g) != 1 || g[0].Part != 2 {
		p.to.Errorf("of a copied limit whose nodes share evenly the second one has %+v", g)
	}
}

// gatesGoOn: jobs that waited at their gates, and one that ran, are bounded by the limit that was
// copied with them.
func gatesGoOn(p *pair) {
	p.from.SaveLimit(env.Limit("tenant", 1, func(l *store.Limit) { l.PerKey = true }))
	jobs := env.IDsOf(p.from.Many(4, env.LimitKey("tenant", "a")))
	p.from.ClaimOne(p.from.Join(), jobs[0])
	stop(p.from)
	p.copy(1, 1)
	p.to.Equal("available", p.to.Count(store.Filter{States: []store.State{store.Available}}), 4)
	node := p.to.Join()
	var done []store.ID
	for range jobs {
		runs := p.to.Claim(node, 10)
		if len(runs) != 1 {
			p.to.Fatalf("%d jobs of the key run, want one", len(runs))
		}
		p.to.EndAll(runs, store.Completed)
		done = append(done, runs[0].Job.ID)
	}
	p.to.WantSameIDs("ended", done, jobs...)
}

// keyRatesGoOn: jobs that waited for the rate of their key wait for it there, and no longer than
// until its next permit.
func keyRatesGoOn(p *pair) {
	p.from.SaveLimit(env.Limit("tenant", 0, func(l *store.Limit) {
		l.PerKey, l.Uncapped, l.Rate = true, true, &store.Rate{Count: 1, Per: time.Minute, Burst: 1}
	}))
	jobs := env.IDsOf(p.from.Many(3, env.LimitKey("tenant", "a")))
	run := p.from.ClaimOne(p.from.Join(), jobs[0])
	p.from.End(run, store.Completed)
	stop(p.from)
	p.copy(1, 1)
	node := p.to.Join()
	for _, id := range jobs[1:] {
		p.to.ClaimOne(node, id)
		p.to.WantNothing(node)
		p.to.Clock.Advance(time.Minute)
		p.to.Beat(node)
	}
}

// schedulesGoOn: a decision of before the copy, and one about a time that has a run, are refused.
func schedulesGoOn(p *pair) {
	at := p.from.Clock.Now()
	s := p.from.SaveSchedule(env.Schedule("nightly", func(s *store.Schedule) { s.NextAt = at }))
	p.from.Apply(env.Batched(p.from.Fire(s, at)))
	p.copy(1, 1)
	due, next, err := p.to.Store.DueSchedules(p.to.Ctx, 10)
	if err != nil || len(due) > 0 || !next.Equal(at.Add(time.Hour)) {
		p.to.Errorf("due: %+v, %v, %v", due, next, err)
	}
	copied := p.to.ScheduleOf("nightly")
	for what, u := range map[string]*store.Unit{
		"from before": p.to.Fire(s, at.Add(time.Hour)), "for a time that has a run": p.to.Fire(copied, at),
	} {
		if err := p.to.Store.Apply(p.to.Ctx, env.Batched(u)); err == nil || !errors.Is(u.Err(), store.ErrConflict) {
			p.to.Errorf("a fire %s: %v, %v", what, err, u.Err())
		}
	}
	p.to.Apply(env.Batched(p.to.Fire(copied, at.Add(time.Hour))))
	if now := p.to.ScheduleOf("nightly"); now.Version != copied.Version+1 || now.Fired != 2 || len(p.to.RunsOf("nightly")) != 2 {
		p.to.Errorf("the schedule is %+v", now)
	}
}

// schedulesAgain: what an interrupted copy has of a schedule may be old when the next one begins.
func schedulesAgain(p *pair) {
	at := p.from.Clock.Now()
	s := p.from.SaveSchedule(env.Schedule("nightly"))
	from := survey(p.from).Origin
	all := wholes(p.from)
	p.put(store.ImportParams{From: from, Schedules: all.Schedules, Runs: all.Runs})
	p.from.Apply(env.Batched(p.from.Fire(s, at)))
	if survey(p.from).Schedules == survey(p.to).Schedules {
		p.to.Errorf("nobody sees that the schedule has fired: %+v", survey(p.to).Schedules)
	}
	p.copy(10, 10_000)
	p.wantAlike()
}

func otherRefused(p *pair) {
	p.from.Add()
	from := survey(p.from).Origin
	params := store.ImportParams{From: from}
	p.put(params)
	other, worked, acted, sent := params, params, params, params
	other.From.Database = "other"
	worked.From.Nodes++
	acted.From.Actions++
	sent.From.Messages++
	p.wantRefused("another database", other)
	p.wantRefused("a source in which a node worked", worked)
	p.wantRefused("a source in which a person did something", acted)
	p.wantRefused("a source whose jobs were sent something", sent)
	p.put(store.ImportParams{From: from, Done: true})
	p.wantRefused("a copy that is complete", params)
}

func nodesGoOn(p *pair) {
	p.from.Add()
	for range 3 {
		p.from.Leave(p.from.Join())
	}
	from := survey(p.from).Origin
	p.put(store.ImportParams{From: from})
	_, err := p.to.Store.Join(p.to.Ctx, store.NodeInfo{Name: "early"})
	p.to.WantErr("a node before the copy is complete", err, store.ErrConflict)
	p.put(store.ImportParams{From: from, Done: true})
	if node := p.to.Join(); node <= from.Nodes {
		p.to.Errorf("node %d of the target, and the source had %d", node, from.Nodes)
	}
	p.wantRefused("a target that a node has joined", store.ImportParams{From: from})
}

func surveyed(p *pair) {
	variety(p.from)
	s := survey(p.from)
	var listed int64
	for _, state := range store.States {
		listed += int64(len(p.from.List(store.Filter{States: []store.State{state}}, 100)))
	}
	if s.Jobs() != listed || s.Counts[store.Running] != 0 || s.Counts[store.Waiting] == 0 || s.Counts[store.Failed] == 0 {
		p.from.Errorf("counted %v, listed %d", s.Counts, listed)
	}
	p.from.Equal("the second survey", survey(p.from), s)
	p.from.Leave(p.from.Join())
	if again := survey(p.from).Origin; again == s.Origin || again.Database != s.Origin.Database {
		p.from.Errorf("after a node: %+v, before %+v", again, s.Origin)
	}
	sentTo := p.from.Add()
	for what, send := range map[string]func(){
		"a signal":  func() { p.from.Send(sentTo, store.Message{Kind: store.MessageSignal, Name: "paid"}) },
		"a request": func() { p.from.Ask(sentTo, "one") },
	} {
		before := survey(p.from).Origin
		send()
		if again := survey(p.from).Origin; again == before || again.Database != before.Database {
			p.from.Errorf("after %s: %+v, before %+v", what, again, before)
		}
	}
	if _, err := facet(p.from).Export(p.from.Ctx, store.ExportParams{Bytes: 1}); !errors.Is(err, store.ErrInvalid) {
		p.from.Errorf("a page of nothing: %v", err)
	}
}

// attributesCopied: jobs are found by the same values in the copy, whatever the target had declared
// before.
func attributesCopied(p *pair) {
	keyword := map[string]store.AttributeType{"customer": store.AttributeKeyword}
	p.from.Declare(keyword)
	p.to.Declare(map[string]store.AttributeType{"customer": store.AttributeInt, "other": store.AttributeInt})
	acme := env.Searched("customer", store.KeywordValue("acme"))
	b := p.from.Started(acme)
	a := p.from.Add(acme)
	p.from.End(b, store.Completed)
	p.copy(1, 1<<20)
	f := store.Filter{Namespace: env.Namespace, Attributes: []store.AttributeMatch{
		{Name: "customer", Op: store.AttributeIs, Value: store.KeywordValue("acme")},
	}}
	p.to.WantSameIDs("found", p.to.ListIDs(f), a, b.Job.ID)
	p.to.Equal("values", p.to.Values(a), []string{"customer=acme"})
	p.to.Declare(keyword)
	if want := survey(p.from).Attributes; len(want) != 1 || want[0].Namespace != env.Namespace || want[0].Type != store.AttributeKeyword {
		p.to.Fatalf("attributes: %+v", want)
	}
}

// attributesChanged: if the source declares a name with another type while it is copied, what was
// copied before has no value for it.
func attributesChanged(p *pair) {
	p.from.Declare(map[string]store.AttributeType{"customer": store.AttributeKeyword})
	a := p.from.Add(env.Searched("customer", store.KeywordValue("acme")))
	page, err := facet(p.from).Export(p.from.Ctx, store.ExportParams{Limit: 10, Bytes: 1 << 20})
	if err != nil {
		p.from.Fatal(err)
	}
	from := survey(p.from)
	put := func(all []store.NamespaceAttribute, jobs []store.Whole) {
		if err := facet(p.to).Import(p.to.Ctx, store.ImportParams{From: from.Origin, Attributes: all, Jobs: jobs}); err != nil {
			p.to.Fatal(err)
		}
	}
	put(from.Attributes, page.Jobs)
	p.to.Equal("values", p.to.Values(a), []string{"customer=acme"})
	from.Attributes[0].Type = store.AttributeInt
	put(from.Attributes, nil)
	p.to.Equal("values of another type", p.to.Values(a), []string(nil))
}

package lists

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var filterTests = env.Tests{
	"jobs_are_selected_by_their_ids":                           byIDs,
	"jobs_are_selected_by_the_time_in_their_id":                byCreation,
	"unfinished_jobs_are_selected_by_their_run_time":           byRunTime,
	"finished_jobs_are_selected_by_the_time_at_which_they_did": byFinish,
	"jobs_that_did_not_complete_are_selected_by_their_reason":  byReason,
	"the_holder_of_a_unique_key_is_selected_by_it":             byUniqueKey,
	"a_family_is_selected_by_its_root":                         byRoot,
	"jobs_are_selected_by_the_node_that_lost_a_run_of_them":    byLostNode,
	"fields_that_contradict_each_other_select_nothing":         byContradictions,
	"a_filter_that_is_none_is_invalid":                         noFilter,
}

// wantListed checks which jobs a filter selects, oldest first, in all orders that show all of them,
// and how many they are.
func wantListed(e *env.Env, what string, f store.Filter, want ...store.ID) {
	e.Helper()
	for _, limit := range []int{1, 3, 1000} {
		e.WantIDs(what+", oldest first", e.Sorted(store.SortOldest, f, limit), want...)
	}
	newest := slices.Clone(want)
	slices.Reverse(newest)
	e.WantIDs(what+", newest first", e.Sorted(store.SortNewest, f, 2), newest...)
	if n := e.Count(f); n != len(want) {
		e.Fatalf("%s: %d jobs are counted, want %d", what, n, len(want))
	}
	var byTime []store.ID
	for _, sort := range []store.Sort{store.SortRunAt, store.SortFinished} {
		if !slices.ContainsFunc(f.States, func(s store.State) bool { return !sort.States().Has(s) }) {
			byTime = append(byTime, e.Sorted(sort, f, 2)...)
		}
	}
	if len(f.States) == 0 && len(byTime) != len(want) {
		e.Fatalf("%s: %d jobs are listed by their times, want %d", what, len(byTime), len(want))
	}
	for _, id := range byTime {
		if !slices.Contains(want, id) {
			e.Fatalf("%s: %v is listed by its time", what, id)
		}
	}
}

func byIDs(e *env.Env) {
	ids := env.IDsOf(e.Many(5))
	wantListed(e, "three ids", store.Filter{IDs: []store.ID{ids[4], ids[0], ids[2], ids[0]}}, ids[0], ids[2], ids[4])
	wantListed(e, "an id of none", store.Filter{IDs: []store.ID{e.IDs.Next()}})
	wantListed(e, "ids in a queue", store.Filter{IDs: ids, Queues: []string{"none"}})
	wantListed(e, "ids in a namespace", store.Filter{IDs: ids[:2], Namespace: env.OtherSpace})
	wantListed(e, "ids in a state", store.Filter{IDs: ids[:2], States: []store.State{store.Available}}, ids[0], ids[1])
	wantListed(e, "ids in another state", store.Filter{IDs: ids[:2], States: []store.State{store.Running, store.Failed}})
}

func byCreation(e *env.Env) {
	var ids []store.ID
	start := e.Clock.Now().Truncate(time.Millisecond)
	for range 5 {
		ids = append(ids, e.Add())
		e.Clock.Advance(time.Minute)
	}
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	wantListed(e, "after the second", store.Filter{CreatedAfter: at(1)}, ids[1:]...)
	wantListed(e, "a moment later", store.Filter{CreatedAfter: at(1).Add(time.Millisecond)}, ids[2:]...)
	wantListed(e, "before the second", store.Filter{CreatedBefore: at(1)}, ids[0])
	wantListed(e, "between", store.Filter{CreatedAfter: at(1), CreatedBefore: at(4)}, ids[1:4]...)
	wantListed(e, "between, in a state",
		store.Filter{CreatedAfter: at(1), CreatedBefore: at(4), States: []store.State{store.Available}}, ids[1:4]...)
	wantListed(e, "never", store.Filter{CreatedAfter: at(1), CreatedBefore: at(1)})
	wantListed(e, "before there was time", store.Filter{CreatedBefore: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)})
	wantListed(e, "until there is none", store.Filter{CreatedBefore: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, ids...)
	// The time is that of the id, whenever the job was stored.
	early := e.IDs.Next()
	e.Clock.Advance(time.Hour)
	e.Add(env.ID(early))
	wantListed(e, "an id that was made early", store.Filter{CreatedBefore: at(6)}, append(ids, early)...)
}

func byRunTime(e *env.Env) {
	now := e.Clock.Now()
	due, later, ordered := e.Add(), e.Add(env.Delay(time.Hour)), e.Add(env.Ordered("o"), env.RunAt(now.Add(-time.Minute)))
	lined := e.Add(env.Ordered("o"), env.RunAt(now.Add(-time.Second)))
	node := e.Join()
	again := e.Add(env.Kind("push"))
	e.End(e.ClaimKinds(node, "push")[0], store.Retryable) // in a minute
	runs := e.Add(env.Kind("bill"))
	e.ClaimKinds(node, "bill")
	timed := e.Parked(&store.Wait{Until: now.Add(30 * time.Minute)}, env.Queue("w"), env.Priority(1))
	held := e.Held(env.Queue("w"), env.Priority(1))
	paused := e.Add(env.Delay(10 * time.Minute))
	e.PauseJob(paused, store.Waiting)
	done := e.Started(env.Queue("w"), env.Priority(1))
	e.End(done, store.Completed)

	now = e.Get(due).RunAt
	wantListed(e, "due by now", store.Filter{RunBefore: now.Add(time.Microsecond)}, due, ordered, lined, runs)
	wantListed(e, "before now", store.Filter{RunBefore: now}, ordered, lined)
	wantListed(e, "within an hour", store.Filter{RunAfter: now.Add(time.Second), RunBefore: now.Add(time.Hour)}, again, timed.Job.ID)
	wantListed(e, "from then on", store.Filter{RunAfter: now.Add(time.Hour)}, later)
	wantListed(e, "some time", store.Filter{RunAfter: now.Add(-time.Hour)}, due, later, ordered, lined, again, runs, timed.Job.ID)
	wantListed(e, "of those that wait", store.Filter{RunAfter: now, States: []store.State{store.Waiting}}, timed.Job.ID)
	wantListed(e, "that finished", store.Filter{RunAfter: now.Add(-time.Hour), States: []store.State{store.Completed}})
	wantListed(e, "that wait", store.Filter{States: []store.State{store.Waiting}}, timed.Job.ID, held.Job.ID, paused)
	wantListed(e, "in a queue", store.Filter{RunAfter: now.Add(-time.Hour), Queues: []string{"w"}}, timed.Job.ID)
}

func byFinish(e *env.Env) {
	node := e.Join()
	start := e.Clock.Now()
	var ids []store.ID
	for i := range 6 {
		id := e.Add(env.Queue([]string{"mail", "b"}[i%2]))
		ids = append(ids, id)
		e.End(e.ClaimOne(node, id), []store.State{store.Completed, store.Failed, store.Cancelled}[i%3])
		e.Clock.Advance(time.Minute)
		e.Beat(node)
	}
	waits := e.Add()
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	wantListed(e, "since the second", store.Filter{FinishedAfter: at(1)}, ids[1:]...)
	wantListed(e, "before the second", store.Filter{FinishedBefore: at(1)}, ids[0])
	wantListed(e, "between", store.Filter{FinishedAfter: at(1), FinishedBefore: at(4)}, ids[1:4]...)
	wantListed(e, "between, completed",
		store.Filter{FinishedAfter: at(1), FinishedBefore: at(4), States: []store.State{store.Completed}}, ids[3])
	wantListed(e, "between, not completed",
		store.Filter{FinishedAfter: at(1), FinishedBefore: at(5), States: []store.State{store.Failed, store.Cancelled}}, ids[1], ids[2], ids[4])
	wantListed(e, "between, in a queue", store.Filter{FinishedAfter: at(1), FinishedBefore: at(5), Queues: []string{"b"}}, ids[1], ids[3])
	wantListed(e, "between, unfinished", store.Filter{FinishedAfter: at(1), States: []store.State{store.Available}})
	e.Retry(ids[1])
	wantListed(e, "one that runs again", store.Filter{FinishedBefore: at(2)}, ids[0])
	wantListed(e, "one that waits", store.Filter{IDs: []store.ID{waits}, FinishedAfter: at(0)})
}

func byReason(e *env.Env) {
	node := e.Join()
	ended := func(state store.State, reason store.Reason) store.ID {
		id := e.Add()
		e.End(e.ClaimOne(node, id), state, func(o *store.Outcome) { o.Reason = reason })
		return id
	}
	terminal, exhausted, done := ended(store.Failed, store.ReasonTerminal), ended(store.Failed, store.ReasonAttemptsExhausted),
		ended(store.Completed, "")
	cancelled, terminated := e.Add(), e.Add()
	e.Cancel(cancelled)
	e.Terminate(terminated)
	wantListed(e, "one reason", store.Filter{Reasons: []store.Reason{store.ReasonTerminal}}, terminal)
	wantListed(e, "two", store.Filter{Reasons: []store.Reason{store.ReasonTerminated, store.ReasonAttemptsExhausted}}, exhausted, terminated)
	wantListed(e, "of failed ones", store.Filter{
		Reasons: []store.Reason{store.ReasonCancelled, store.ReasonTerminal}, States: []store.State{store.Failed, store.Completed},
	}, terminal)
	wantListed(e, "of completed ones", store.Filter{Reasons: []store.Reason{""}, IDs: []store.ID{done}})
	wantListed(e, "that there is not", store.Filter{Reasons: []store.Reason{"other", "\x00"}})
	held := e.Held()
	wantListed(e, "of one that waits", store.Filter{Reasons: []store.Reason{store.ReasonPaused}, IDs: []store.ID{held.Job.ID}})
}

func byUniqueKey(e *env.Env) {
	first := e.Started(env.Unique("k", store.Scheduled, store.Available, store.Running), env.Queue("b"))
	other := e.Add(env.Unique("l"))
	key := func(key string) store.Filter { return store.Filter{UniqueKey: []byte(key)} }
	wantListed(e, "of a job that runs", key("k"), first.Job.ID)
	wantListed(e, "in its queue", store.Filter{
		UniqueKey: []byte("k"), Queues: []string{"b"}, IDs: []store.ID{first.Job.ID, other},
	}, first.Job.ID)
	wantListed(e, "in another queue", store.Filter{UniqueKey: []byte("k"), Queues: []string{"mail"}})
	wantListed(e, "and another id", store.Filter{UniqueKey: []byte("k"), IDs: []store.ID{other}})
	wantListed(e, "of none", key("m"))
	e.End(first, store.Completed)
	wantListed(e, "that was given up", key("k"))
	second := e.Add(env.Unique("k"))
	wantListed(e, "of the next job", key("k"), second)
}

// offspring makes a parent with two children, of which one has two children as well, and a
// stranger.
func offspring(e *env.Env) (root store.Claimed, children, grandchildren []store.ID) {
	e.Helper()
	root = e.Started()
	e.Add(env.Kind("bill"))
	children = e.Bear(&root, 2, env.Kind("push"))
	runs := e.ClaimKinds(root.Lease.Node, "push")
	grandchildren = e.Bear(&runs[0], 2, env.Queue("deep"))
	return root, children, grandchildren
}

func byRoot(e *env.Env) {
	root, children, grandchildren := offspring(e)
	all := slices.Concat(children, grandchildren)
	wantListed(e, "the family", store.Filter{Root: root.Job.ID}, all...)
	wantListed(e, "the children", store.Filter{Parent: root.Job.ID}, children...)
	wantListed(e, "a branch", store.Filter{Root: children[0]}, grandchildren...)
	wantListed(e, "in a queue", store.Filter{Root: root.Job.ID, Queues: []string{"deep"}}, grandchildren...)
	wantListed(e, "in a state", store.Filter{Root: root.Job.ID, States: []store.State{store.Running}}, children...)
	wantListed(e, "and a parent", store.Filter{Root: root.Job.ID, Parent: children[0]}, grandchildren...)
	wantListed(e, "of one without children", store.Filter{Root: grandchildren[0]})
	wantListed(e, "no children", store.Filter{NoParent: true, Root: root.Job.ID})
	roots := e.Sorted(store.SortOldest, store.Filter{NoParent: true}, 10)
	if len(roots) != 2 || roots[0] != root.Job.ID {
		e.Fatalf("jobs that are no children: %v", roots)
	}
	// What the end of a parent did to its children is told by this, too.
	closing := e.Started(env.Priority(1))
	closed := e.Bear(&closing, 2, env.Kind("push"), env.OnParentClose(store.CancelChild))
	e.End(closing, store.Failed, env.WithChildren)
	e.CloseChildren(100)
	wantListed(e, "what was closed", store.Filter{Root: closing.Job.ID, States: []store.State{store.Cancelled}}, closed...)
}

func byLostNode(e *env.Env) {
	lost := e.Started()
	given, kept := e.ClaimOne(lost.Lease.Node, e.Add()), e.Started()
	fleeting := e.Started()
	e.End(given, store.Available)
	e.ClaimOne(lost.Lease.Node, given.Job.ID) // and again
	asked := e.ClaimOne(lost.Lease.Node, e.Add())
	e.Cancel(asked.Job.ID)
	ended := e.ClaimOne(lost.Lease.Node, e.Add())
	e.Terminate(ended.Job.ID)
	e.Clock.Advance(time.Second)
	e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(lost.Lease.Node)}})
	e.Leave(fleeting.Lease.Node)
	from := func(node int64) store.Filter { return store.Filter{LostFrom: node} }
	wantListed(e, "a node that died", from(lost.Lease.Node), lost.Job.ID, given.Job.ID, asked.Job.ID)
	wantListed(e, "in a state", store.Filter{LostFrom: lost.Lease.Node, States: []store.State{store.Cancelled}}, asked.Job.ID)
	wantListed(e, "of one job", store.Filter{LostFrom: lost.Lease.Node, IDs: []store.ID{given.Job.ID, kept.Job.ID}}, given.Job.ID)
	wantListed(e, "a node that lives", from(kept.Lease.Node))
	wantListed(e, "a node that left", from(fleeting.Lease.Node))
	e.GiveUp(kept)
	wantListed(e, "a node that gave it up", from(kept.Lease.Node), kept.Job.ID)
}

func byContradictions(e *env.Env) {
	e.Add()
	now := e.Clock.Now()
	for _, f := range []store.Filter{
		{States: []store.State{store.Available}, Reasons: []store.Reason{store.ReasonTerminal}},
		{RunAfter: now.Add(-time.Hour), FinishedAfter: now.Add(-time.Hour)},
		{Parent: e.IDs.Next()},
		{Root: e.IDs.Next()},
		{LostFrom: 77},
		{Namespace: "none", States: []store.State{store.Available}},
		{NoParent: true, Parent: e.IDs.Next()},
	} {
		wantListed(e, "nothing", f)
	}
}

func noFilter(e *env.Env) {
	e.Add()
	beyond := time.Date(10_000, time.January, 1, 0, 0, 0, 0, time.UTC)
	begins := e.Clock.Now()
	ends := begins.Add(-time.Microsecond)
	for what, f := range map[string]store.Filter{
		"too many ids":           {IDs: make([]store.ID, store.MaxFilterIDs+1)},
		"a time that is none":    {FinishedBefore: beyond},
		"a reversed creation":    {CreatedAfter: begins, CreatedBefore: ends},
		"a reversed run time":    {RunAfter: begins, RunBefore: ends},
		"a reversed end":         {FinishedAfter: begins, FinishedBefore: ends},
		"a state that is none":   {States: []store.State{store.Available, 99}},
		"a path with no name":    {Args: []store.Match{{Path: "a..b", Value: []byte("1")}}},
		"no path":                {Metadata: []store.Match{{Value: []byte("1")}}},
		"a pointer that is none": {Args: []store.Match{{Path: "/a~2", Value: []byte("1")}}},
		"no value":               {Args: []store.Match{{Path: "a"}}},
		"a value that is none":   {Args: []store.Match{{Path: "a", Value: []byte("x")}}},
		"two values":             {Args: []store.Match{{Path: "a", Value: []byte("1 2")}}},
	} {
		_, err := e.Store.List(e.Ctx, store.ListParams{Filter: f, Limit: 1})
		e.WantErr("a list by "+what, err, store.ErrInvalid)
		_, err = e.Store.Count(e.Ctx, store.CountParams{Filter: f})
		e.WantErr("a count by "+what, err, store.ErrInvalid)
	}
	// What a database cannot hold is in no job.
	for _, text := range []string{"\x00", "\xff"} {
		for _, f := range []store.Filter{
			{Namespace: text}, {Queues: []string{text}}, {Kinds: []string{text}}, {Tags: []string{text}}, {UniqueKey: []byte(text)},
		} {
			wantListed(e, "nothing", f)
		}
	}
}

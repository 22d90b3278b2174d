package lists

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var editTests = env.Tests{
	"what_is_changed_is_what_the_next_run_has":               editFields,
	"what_can_be_changed_depends_on_the_state":               editStates,
	"tags_are_replaced_added_and_dropped":                    editTags,
	"metadata_is_replaced":                                   editMetadata,
	"args_of_a_job_that_remembers_are_kept":                  editArgsOfDurable,
	"args_that_a_unique_key_may_depend_on_are_kept":          editArgsOfUnique,
	"an_edit_is_recorded_and_one_that_changes_nothing_not":   editActions,
	"a_change_that_is_none_is_invalid":                       editInvalid,
	"a_job_that_is_not_in_the_namespace_is_not_found":        editNamespace,
	"an_edit_that_is_refused_changes_nothing_of_many_things": editWhole,
}

// everything changes all that an edit can change, but for the run time.
func everything(now time.Time) store.Edit {
	return store.Edit{
		Queue: new("b"), Priority: new(4), MaxAttempts: new(9), Timeout: new(time.Minute), Deadline: new(now.Add(time.Hour)),
		Backoff: new(store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.5}), Tags: &[]string{"x", "y"},
		Metadata: []byte(`{"k": [1, "v"]}`), Args: []byte{0, 1, 0xff}, Codec: 7,
	}
}

func editFields(e *env.Env) {
	id := e.Add(env.Unique("u"), env.Ordered("k"))
	e.Add(env.Queue("b"))
	before := e.Get(id)
	e.Clock.Advance(time.Second)
	change := everything(e.Clock.Now())
	change.UniqueKey = []byte("u")
	got := e.Edit(id, change, store.Available)
	want := before.Job
	want.Queue, want.Priority, want.MaxAttempts, want.Tags = "b", 4, 9, []string{"x", "y"}
	want.Metadata, want.Args, want.Codec = change.Metadata, change.Args, 7
	want.Options.Timeout, want.Options.Deadline, want.Options.Backoff = time.Minute, e.Clock.Now().Add(time.Hour), *change.Backoff
	e.Equal("job", got.Job, want)
	node := e.Join()
	runs := e.Claim(node, 10)
	if len(runs) != 2 || runs[1].Job.ID != id {
		e.Fatalf("claimed %v, want the job last, as its priority says", env.ClaimedIDs(runs))
	}
	want.Attempt, want.LeaseNumber = 1, 1
	e.Equal("claimed job", runs[1].Job, want)
	e.WantTaken("u", id)
	// What is changed back to nothing is the handler's again.
	e.End(runs[1], store.Retryable)
	again := e.Edit(id, store.Edit{
		MaxAttempts: new(0), Timeout: new(time.Duration(0)), Deadline: new(time.Time{}), Backoff: new(store.Backoff{}), Tags: &[]string{},
	}, store.Retryable)
	if again.MaxAttempts != 0 || again.Options != (store.Options{}) || len(again.Tags) != 0 || again.Priority != 4 || again.Queue != "b" {
		e.Fatalf("the job: %+v", again.Job)
	}
	if again.Error != "it broke" || len(again.Attempts) != 1 {
		e.Fatalf("what is known of its run: %+v", again)
	}
}

// inEachState makes a job for every state.
func inEachState(e *env.Env) map[store.State]store.ID {
	e.Helper()
	node := e.Join()
	ids := map[store.State]store.ID{}
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled, store.Retryable} {
		ids[state] = e.Add()
		e.End(e.ClaimOne(node, ids[state]), state)
	}
	ids[store.Running] = e.Add()
	e.ClaimOne(node, ids[store.Running])
	ids[store.Scheduled], ids[store.Available], ids[store.Waiting] = e.Add(env.Delay(time.Hour)), e.Add(), e.Add()
	e.PauseJob(ids[store.Waiting], store.Waiting)
	return ids
}

func editStates(e *env.Env) {
	ids := inEachState(e)
	now := e.Clock.Now()
	for what, change := range map[string]store.Edit{
		"queue": {Queue: new("b")}, "priority": {Priority: new(3)}, "run time": {RunAt: new(now.Add(time.Hour))},
		"attempts": {MaxAttempts: new(7)}, "timeout": {Timeout: new(time.Minute)}, "deadline": {Deadline: new(now.Add(24 * time.Hour))},
		"backoff": {Backoff: new(store.Backoff{Base: time.Minute})}, "args": {Args: []byte(`2`)},
		"tags and a timeout": {AddTags: []string{"t"}, Timeout: new(time.Hour)},
	} {
		for _, state := range []store.State{store.Running, store.Completed, store.Failed, store.Cancelled} {
			e.WantNoEdit(ids[state], change, store.ErrConflict)
		}
		for _, state := range []store.State{store.Available, store.Scheduled, store.Retryable, store.Waiting} {
			switch id, next := ids[state], state; {
			case state == store.Waiting && what == "run time":
				e.WantNoEdit(id, change, store.ErrConflict)
			case state == store.Available && what == "run time":
				e.Edit(id, change, store.Scheduled)
				e.Edit(id, store.Edit{RunAt: new(now)}, store.Available)
			default:
				e.Edit(id, change, next)
			}
		}
	}
	for state, id := range ids {
		got := e.Edit(id, store.Edit{Tags: &[]string{"of", state.String()}, Metadata: []byte(`{"a":1}`), DropTags: []string{"of"}}, state)
		if !slices.Equal(got.Tags, []string{state.String()}) || string(got.Metadata) != `{"a":1}` {
			e.Errorf("a %s job has the tags %q and the metadata %s", state, got.Tags, got.Metadata)
		}
	}
}

func editTags(e *env.Env) {
	id := e.Add(func(q *store.Enqueue) { q.Job.Tags = []string{"a", "b"} })
	twenty := strings.Split("a b 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", " ")
	for _, c := range []struct {
		change store.Edit
		want   []string
	}{
		{store.Edit{AddTags: []string{"c", "a", "c"}}, []string{"a", "b", "c"}},
		{store.Edit{DropTags: []string{"b", "none"}}, []string{"a", "c"}},
		{store.Edit{AddTags: []string{"d"}, DropTags: []string{"a", "d"}}, []string{"c"}},
		{store.Edit{DropTags: []string{"c"}}, nil},
		{store.Edit{AddTags: []string{"é", "x y", `"q"`}}, []string{"é", "x y", `"q"`}},
		{store.Edit{Tags: &[]string{"1", "2"}, AddTags: []string{"3"}, DropTags: []string{"1"}}, []string{"2", "3"}},
		{store.Edit{Tags: &[]string{}}, nil},
		{store.Edit{AddTags: twenty}, twenty},
		{store.Edit{AddTags: []string{"21"}, DropTags: []string{"20"}}, append(slices.Clone(twenty[:19]), "21")},
	} {
		if got := e.Edit(id, c.change, store.Available).Tags; !slices.Equal(got, c.want) {
			e.Fatalf("tags after %+v: %q, want %q", c.change, got, c.want)
		}
	}
	e.WantNoEdit(id, store.Edit{AddTags: []string{"one", "too"}}, store.ErrInvalid)
	e.WantIDs("listed by a tag", e.ListIDs(store.Filter{Tags: []string{"21", "a"}}), id)
	e.WantIDs("listed by a tag that was dropped", e.ListIDs(store.Filter{Tags: []string{"20"}}))
}

func editMetadata(e *env.Env) {
	id := e.Add(func(q *store.Enqueue) { q.Job.Metadata = []byte(`{"old": true}`) })
	got := e.Edit(id, store.Edit{Metadata: []byte(`{"new": 12345678901234567890}`)}, store.Available)
	if string(got.Metadata) != `{"new": 12345678901234567890}` {
		e.Fatalf("metadata: %s", got.Metadata)
	}
	filter := func(path, value string) store.Filter {
		return store.Filter{Metadata: []store.Match{{Path: path, Value: []byte(value)}}}
	}
	e.WantIDs("listed by what it says", e.ListIDs(filter("new", "12345678901234567890")), id)
	e.WantIDs("listed by what it said", e.ListIDs(filter("old", "true")))
	run := e.ClaimOne(e.Join(), id)
	if string(run.Job.Metadata) != string(got.Metadata) {
		e.Fatalf("the run has the metadata %s", run.Job.Metadata)
	}
}

func editArgsOfDurable(e *env.Env) {
	args := store.Edit{Args: []byte(`"other"`)}
	waits := e.Parked(env.ForSignals())
	e.WantNoEdit(waits.Job.ID, args, store.ErrConflict)
	later := e.Durable(1)
	e.End(later, store.Retryable)
	e.WantNoEdit(later.Job.ID, args, store.ErrConflict)
	// Messages alone are no journal, and neither is a checkpoint.
	told := e.Started()
	e.Save(told, store.Checkpoint{Percent: 5})
	e.End(told, store.Retryable)
	e.Send(told.Job.ID, env.Signal("s"))
	if got := e.Edit(told.Job.ID, args, store.Retryable); string(got.Args) != `"other"` {
		e.Fatalf("args: %s", got.Args)
	}
}

func editArgsOfUnique(e *env.Env) {
	id := e.Add(env.Unique("u", store.Scheduled, store.Available))
	for _, key := range []string{"", "other"} {
		e.WantNoEdit(id, store.Edit{Args: []byte(`2`), UniqueKey: []byte(key)}, store.ErrConflict)
	}
	if got := e.Edit(id, store.Edit{Args: []byte(`2`), UniqueKey: []byte("u")}, store.Available); string(got.Args) != `2` {
		e.Fatalf("args: %s", got.Args)
	}
	e.WantTaken("u", id)
	plain := e.Add()
	e.Edit(plain, store.Edit{Args: []byte(`3`), UniqueKey: []byte("of no account")}, store.Available)
	e.WantFree("of no account")
}

func editActions(e *env.Env) {
	id := e.Add(env.Delay(time.Hour))
	e.Clock.Advance(time.Second)
	record := e.Edit(id, store.Edit{Priority: new(1)}, store.Scheduled)
	want := store.Action{Kind: store.ActionEdit, At: e.Clock.Now(), Actor: "ada", Reason: "it has to be"}
	e.Equal("actions", record.Actions, []store.Action{want})
	for what, change := range map[string]store.Edit{
		"nothing": {}, "the same priority": {Priority: new(1)}, "the same queue": {Queue: new("mail")},
		"the same run time": {RunAt: new(record.RunAt)}, "the same args": {Args: []byte(`{"to":"ada"}`)},
		"the same tags": {Tags: &[]string{}, DropTags: []string{"none"}}, "the same attempts": {MaxAttempts: new(3)},
		"no deadline": {Deadline: new(time.Time{})},
	} {
		if got := e.Edit(id, change, store.Scheduled); len(got.Actions) != 1 {
			e.Errorf("an edit to %s is recorded: %+v", what, got.Actions)
		}
	}
	e.End(e.Started(), store.Completed)
	done := e.ListIDs(store.Filter{States: []store.State{store.Completed}})[0]
	for _, tag := range []string{"t", "t"} {
		if got := e.Edit(done, store.Edit{AddTags: []string{tag}}, store.Completed).Actions; len(got) != 1 {
			e.Errorf("actions of a finished job: %+v", got)
		}
	}
}

func editInvalid(e *env.Env) {
	id := e.Add()
	none := "\xff"
	for what, change := range map[string]store.Edit{
		"queue": {Queue: &none}, "no queue": {Queue: new("")}, "priority": {Priority: new(5)}, "no priority": {Priority: new(0)},
		"attempts": {MaxAttempts: new(-1)}, "run time": {RunAt: &env.BeyondTime},
		"deadline": {Deadline: &env.BeyondTime}, "tags": {Tags: &[]string{none}}, "added": {AddTags: []string{"\x00"}},
		"metadata": {Metadata: []byte(`{`)}, "codec": {Args: []byte(`1`), Codec: -1},
	} {
		before := e.Get(id)
		_, err := e.TryEdit(env.Edits(id, change))
		e.WantErr("an edit of "+what, err, store.ErrInvalid)
		e.Equal("record", e.Get(id), before)
	}
	_, err := e.TryEdit(env.Edits(e.IDs.Next(), store.Edit{Priority: new(1)}))
	e.WantErr("an edit of no job", err, store.ErrNotFound)
}

func editNamespace(e *env.Env) {
	id := e.InOtherSpace().Add()
	params := env.Edits(id, store.Edit{Priority: new(1)})
	params.Namespace = env.Namespace
	_, err := e.TryEdit(params)
	e.WantErr("an edit from another namespace", err, store.ErrNotFound)
	params.Namespace = env.OtherSpace
	if state, err := e.TryEdit(params); err != nil || state != store.Available || e.Get(id).Priority != 1 {
		e.Fatalf("an edit from its namespace: %v, %v", state, err)
	}
	if id := e.Add(); e.Edit(id, store.Edit{Queue: new("elsewhere")}, store.Available).Namespace != env.Namespace {
		e.Fatal("the job changed its namespace")
	}
}

// editWhole: each of many changes happens, or none.
func editWhole(e *env.Env) {
	run := e.Started()
	all := everything(e.Clock.Now())
	e.WantNoEdit(run.Job.ID, all, store.ErrConflict)
	e.End(run, store.Available)
	all.Priority = new(5)
	e.WantNoEdit(run.Job.ID, all, store.ErrInvalid)
	waits := e.Parked(env.ForSignals(), env.Priority(1))
	all = everything(e.Clock.Now())
	e.WantNoEdit(waits.Job.ID, all, store.ErrConflict) // its args
	all.Args = nil
	all.Codec = 0
	if got := e.Edit(waits.Job.ID, all, store.Waiting); got.Queue != "b" || fmt.Sprint(got.Tags) != "[x y]" {
		e.Fatalf("the job: %+v", got.Job)
	}
}

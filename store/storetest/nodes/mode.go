package nodes

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var modeTests = env.Tests{
	"a_node_is_told_what_people_want_of_it":             modeTold,
	"asking_a_node_twice_does_nothing":                  modeTwice,
	"a_node_that_drains_cannot_be_asked_for_more":       modeFinal,
	"a_node_that_is_not_there_cannot_be_asked":          modeUnknown,
	"what_is_wanted_of_a_node_outlives_its_membership":  modeAgain,
	"what_is_wanted_of_a_node_ends_with_its_process":    modeNew,
	"NoLoss_a_quiet_node_keeps_its_leases_and_may_lead": modeWorks,
	"a_node_tells_what_is_wrong_with_it":                modeUnwell,
}

// ask asks a node for a mode.
func ask(e *env.Env, node int64, mode store.NodeMode, actor string) {
	e.Helper()
	e.NoError("AskNode", e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: node, Mode: mode, Actor: actor}))
}

// wantMode checks what a beat and the list say of a node.
func wantMode(e *env.Env, node int64, mode store.NodeMode, at time.Time, by string) {
	e.Helper()
	if got := e.Beat(node).Mode; got != mode {
		e.Fatalf("the beat of node %d says %v, want %v", node, got, mode)
	}
	if n := e.Nodes()[node]; n.Mode != mode || !n.ModeAt.Equal(at) || n.ModeBy != by {
		e.Fatalf("node %d is listed as %v since %v by %q, want %v since %v by %q", node, n.Mode, n.ModeAt, n.ModeBy, mode, at, by)
	}
}

func modeTold(e *env.Env) {
	node, other := e.Join(), e.Join()
	wantMode(e, node, store.NodeRuns, time.Time{}, "")
	for _, mode := range []store.NodeMode{store.NodeQuiet, store.NodeRuns, store.NodeDrains} {
		e.Clock.Advance(time.Second)
		ask(e, node, mode, "ada")
		wantMode(e, node, mode, e.Clock.Now(), "ada")
		wantMode(e, other, store.NodeRuns, time.Time{}, "")
	}
}

func modeTwice(e *env.Env) {
	node := e.Join()
	ask(e, node, store.NodeQuiet, "ada")
	at := e.Clock.Now()
	e.Clock.Advance(time.Second)
	ask(e, node, store.NodeQuiet, "bob")
	wantMode(e, node, store.NodeQuiet, at, "ada")
	untouched := e.Join()
	ask(e, untouched, store.NodeRuns, "bob")
	wantMode(e, untouched, store.NodeRuns, time.Time{}, "")
}

func modeFinal(e *env.Env) {
	node := e.Join()
	ask(e, node, store.NodeDrains, "ada")
	at := e.Clock.Now()
	e.Clock.Advance(time.Second)
	ask(e, node, store.NodeDrains, "bob")
	for _, mode := range []store.NodeMode{store.NodeRuns, store.NodeQuiet} {
		err := e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: node, Mode: mode, Actor: "bob"})
		e.WantErr("AskNode of one that drains", err, store.ErrConflict)
	}
	wantMode(e, node, store.NodeDrains, at, "ada")
}

func modeUnknown(e *env.Env) {
	left, dead := e.Join(), e.Join()
	for _, mode := range []store.NodeMode{store.NodeRuns, store.NodeQuiet, store.NodeDrains} {
		err := e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: dead + 1000, Mode: mode})
		e.WantErr("AskNode of one that never was", err, store.ErrNotFound)
	}
	e.WantErr("AskNode for what there is not", e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: left, Mode: 3}), store.ErrInvalid)
	e.Leave(left)
	e.Clock.Advance(env.DeadAfter)
	e.Rescue()
	for _, node := range []int64{left, dead} {
		for _, mode := range []store.NodeMode{store.NodeRuns, store.NodeQuiet, store.NodeDrains} {
			err := e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: node, Mode: mode})
			e.WantErr("AskNode of one that has ended", err, store.ErrNodeDead)
		}
		if n := e.Nodes()[node]; n.Mode != store.NodeRuns || n.ModeBy != "" {
			e.Fatalf("a node that has ended: %+v", n)
		}
	}
}

// joinAgain joins as a process does whose membership was lost.
func joinAgain(e *env.Env, was int64, known store.NodeMode) int64 {
	e.Helper()
	node, err := e.Store.Join(e.Ctx, store.NodeInfo{Name: "host/1", Version: "v1", Slots: 10, Was: was, Mode: known})
	e.NoError("Join", err)
	if n := e.Nodes()[node]; n.Info.Was != 0 || n.Info.Mode != 0 {
		e.Fatalf("the node is listed with %+v", n.Info)
	}
	return node
}

func modeAgain(e *env.Env) {
	// Whatever the process has heard of it.
	for _, known := range []store.NodeMode{store.NodeRuns, store.NodeQuiet} {
		for _, mode := range []store.NodeMode{store.NodeRuns, store.NodeQuiet, store.NodeDrains} {
			node := e.Join()
			ask(e, node, store.NodeQuiet, "bob")
			ask(e, node, mode, "ada")
			by, at := e.Nodes()[node].ModeBy, e.Clock.Now()
			e.Clock.Advance(env.DeadAfter)
			e.Rescue()
			again := joinAgain(e, node, known)
			wantMode(e, again, mode, at, by)
			e.Leave(again)
		}
	}
	// Of a membership that is forgotten it is what the process knows.
	node := e.Join()
	ask(e, node, store.NodeQuiet, "ada")
	e.Leave(node)
	e.Clock.Advance(48 * time.Hour)
	e.Retain(store.Retention{Limit: 100})
	wantMode(e, joinAgain(e, node, store.NodeQuiet), store.NodeQuiet, time.Time{}, "")
	wantMode(e, joinAgain(e, node, store.NodeRuns), store.NodeRuns, time.Time{}, "")
}

func modeNew(e *env.Env) {
	node := e.Join()
	ask(e, node, store.NodeQuiet, "ada")
	wantMode(e, e.Join(), store.NodeRuns, time.Time{}, "")
	e.Leave(node)
	wantMode(e, e.Join(), store.NodeRuns, time.Time{}, "")
}

// modeWorks: that the node claims nothing is its own doing; the store takes nothing away from it.
func modeWorks(e *env.Env) {
	e.Enqueue(e.Job(), e.Job())
	node := e.Join()
	runs := e.Claim(node, 2)
	ask(e, node, store.NodeQuiet, "ada")
	if beat := e.Lead(node); !beat.Leader {
		e.Fatalf("Beat: %+v", beat)
	}
	e.End(runs[0], store.Completed)
	ask(e, node, store.NodeDrains, "ada")
	e.End(runs[1], store.Completed)
	e.Leave(node)
	for _, run := range runs {
		e.WantState(run.Job.ID, store.Completed)
	}
}

func modeUnwell(e *env.Env) {
	node, other := e.Join(), e.Join()
	for _, unwell := range [][]string{{"claims: the loop has stood still for 2m0s", "\"odd\" ä"}, {"one"}, nil} {
		_, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: node, Unwell: unwell})
		e.NoError("Beat", err)
		e.Beat(other)
		e.Equal("what is wrong", e.Nodes()[node].Unwell, unwell)
		e.Equal("what is wrong with the other", e.Nodes()[other].Unwell, []string(nil))
	}
}

package operate

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var unservedTests = env.Tests{
	"a_kind_that_no_node_has_is_told":     unservedKind,
	"a_queue_that_no_node_serves_is_told": unservedQueue,
	"a_node_serves_its_own_namespace":     unservedNamespace,
	"a_node_may_serve_queues_by_pattern":  unservedPattern,
	"a_version_that_no_node_has_is_told":  unservedVersion,
	"dead_nodes_serve_nothing":            unservedDead,
	"paused_queues_are_not_told":          unservedPaused,
	"only_what_could_be_claimed_is_told":  unservedDue,
	"what_has_waited_longest_comes_first": unservedOrder,
}

// unserved asks for what waits in vain.
func unserved(e *env.Env, limit int) []store.Unserved {
	e.Helper()
	found, err := e.Store.Unserved(e.Ctx, limit)
	e.NoError("Unserved", err)
	return found
}

// wantUnserved checks what waits in vain: names as queueOfKind makes them.
func wantUnserved(e *env.Env, want ...string) {
	e.Helper()
	var names []string
	for _, u := range unserved(e, 100) {
		names = append(names, queueOfKind(u))
	}
	if diff := cmp.Diff(want, names); diff != "" {
		e.Fatalf("unserved (-want +got):\n%s", diff)
	}
}

// queueOfKind is "queue kind", with what else there is to say.
func queueOfKind(u store.Unserved) string {
	text := u.Queue + " " + u.Kind
	if u.Namespace != env.Namespace {
		text = u.Namespace + " " + text
	}
	if u.Version != "" {
		text += "@" + u.Version
	}
	if u.Known {
		text += ", known"
	}
	return text
}

// serve registers a node that serves the queues, all if there are none, and the kinds.
func serve(e *env.Env, queues []string, kinds ...string) int64 {
	e.Helper()
	return joinAs(e, store.NodeInfo{Name: "host/1", Namespace: env.Namespace, Slots: 10, Queues: queues, Kinds: kinds})
}

func joinAs(e *env.Env, info store.NodeInfo) int64 {
	e.Helper()
	node, err := e.Store.Join(e.Ctx, info)
	e.NoError("Join", err)
	return node
}

func unservedKind(e *env.Env) {
	wantUnserved(e)
	for i := range 30 {
		e.Add(env.Priority(1 + i%4))
	}
	e.Clock.Advance(time.Second)
	e.Add(env.Kind("push"))
	wantUnserved(e, "mail send", "mail push")
	serve(e, nil, "push")
	wantUnserved(e, "mail send")
	serve(e, []string{"news", "mail"}, "bill", "send")
	wantUnserved(e)
}

func unservedQueue(e *env.Env) {
	e.Add()
	serve(e, []string{"news"}, "send")
	wantUnserved(e, "mail send, known")
	serve(e, []string{"mail"}, "push")
	wantUnserved(e, "mail send, known")
	serve(e, []string{"mail"}, "push", "send")
	wantUnserved(e)
}

// unservedPattern: a node may serve all queues whose names begin alike.
func unservedPattern(e *env.Env) {
	e.Add()
	e.Add(env.Queue("mai"))
	e.Add(env.Queue("Mail"))
	serve(e, []string{"news", "mail-*"}, "send")
	wantUnserved(e, "Mail send, known", "mai send, known", "mail send, known")
	serve(e, []string{"mail*"}, "send")
	wantUnserved(e, "Mail send, known", "mai send, known")
	serve(e, []string{"*"}, "push")
	wantUnserved(e, "Mail send, known", "mai send, known")
	serve(e, []string{"*"}, "send")
	wantUnserved(e)
}

// unservedNamespace: a program that does not say which one it serves may serve any.
func unservedNamespace(e *env.Env) {
	e.Add(env.In("other"))
	serve(e, nil, "send")
	wantUnserved(e, "other mail send")
	joinAs(e, store.NodeInfo{Name: "of before", Kinds: []string{"send"}})
	wantUnserved(e)
	if nodes := e.Nodes(); nodes[1].Info.Namespace != env.Namespace || nodes[2].Info.Namespace != "" {
		e.Fatalf("the nodes: %+v", nodes)
	}
}

func unservedVersion(e *env.Env) {
	e.Add(env.Version("v1"))
	serve(e, nil, "send", "send@v2")
	wantUnserved(e, "mail send@v1")
	serve(e, []string{"news"}, "send@v1")
	wantUnserved(e, "mail send@v1, known")
	serve(e, nil, "send@v1")
	wantUnserved(e)
}

func unservedDead(e *env.Env) {
	e.Add()
	left := serve(e, nil, "send")
	died := serve(e, nil, "send")
	e.Leave(left)
	wantUnserved(e)
	e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(died)}})
	wantUnserved(e, "mail send")
}

func unservedPaused(e *env.Env) {
	e.Add()
	e.Clock.Advance(time.Second)
	e.Add(env.Queue("news"))
	e.Pause("mail", true)
	wantUnserved(e, "news send")
	e.Pause("mail", false)
	wantUnserved(e, "mail send", "news send")
}

func unservedDue(e *env.Env) {
	e.Add(env.Kind("later"), env.Delay(time.Hour))
	e.Add(env.Ordered("k"), env.Kind("first"))
	e.Add(env.Ordered("k"), env.Kind("second"))
	run := e.Started(env.Kind("send"))
	e.Promote()
	wantUnserved(e, "mail first")
	e.End(run, store.Completed)
	wantUnserved(e, "mail first")
	e.Clock.Advance(time.Hour)
	e.Promote()
	wantUnserved(e, "mail first", "mail later")
}

func unservedOrder(e *env.Env) {
	began := e.Clock.Now()
	for i := range 5 {
		e.Add(env.Kind(fmt.Sprint("kind", i)), env.RunAt(began.Add(-time.Duration(i)*time.Minute)))
		e.Add(env.Kind(fmt.Sprint("kind", i)), env.Priority(1))
	}
	wantUnserved(e, "mail kind4", "mail kind3", "mail kind2", "mail kind1", "mail kind0")
	found := unserved(e, 2)
	if len(found) != 2 || queueOfKind(found[1]) != "mail kind3" || !found[1].OldestDue.Equal(began.Add(-3*time.Minute)) {
		e.Fatalf("the first two: %+v", found)
	}
}

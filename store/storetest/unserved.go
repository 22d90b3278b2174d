package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

var unservedTests = []test{
	{"a_kind_that_no_node_has_is_told", unservedKind},
	{"a_queue_that_no_node_serves_is_told", unservedQueue},
	{"a_node_serves_its_own_namespace", unservedNamespace},
	{"a_version_that_no_node_has_is_told", unservedVersion},
	{"dead_nodes_serve_nothing", unservedDead},
	{"paused_queues_are_not_told", unservedPaused},
	{"only_what_could_be_claimed_is_told", unservedDue},
	{"what_has_waited_longest_comes_first", unservedOrder},
}

// unserved asks for what waits in vain.
func (e *env) unserved(limit int) []store.Unserved {
	e.Helper()
	found, err := e.store.Unserved(e.ctx, limit)
	if err != nil {
		e.Fatalf("Unserved: %v", err)
	}
	return found
}

// wantUnserved checks what waits in vain: names as queueOfKind makes them.
func (e *env) wantUnserved(want ...string) {
	e.Helper()
	var names []string
	for _, u := range e.unserved(100) {
		names = append(names, queueOfKind(u))
	}
	if diff := cmp.Diff(want, names); diff != "" {
		e.Fatalf("unserved (-want +got):\n%s", diff)
	}
}

// queueOfKind is "queue kind", with what else there is to say.
func queueOfKind(u store.Unserved) string {
	text := u.Queue + " " + u.Kind
	if u.Namespace != namespace {
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
func (e *env) serve(queues []string, kinds ...string) int64 {
	e.Helper()
	return e.joinAs(store.NodeInfo{Name: "host/1", Namespace: namespace, Slots: 10, Queues: queues, Kinds: kinds})
}

func (e *env) joinAs(info store.NodeInfo) int64 {
	e.Helper()
	node, err := e.store.Join(e.ctx, info)
	if err != nil {
		e.Fatalf("Join: %v", err)
	}
	return node
}

func unservedKind(e *env) {
	e.wantUnserved()
	for i := range 30 {
		e.add(priority(1 + i%4))
	}
	e.clock.Advance(time.Second)
	e.add(kind("push"))
	e.wantUnserved("mail send", "mail push")
	e.serve(nil, "push")
	e.wantUnserved("mail send")
	e.serve([]string{"news", "mail"}, "bill", "send")
	e.wantUnserved()
}

func unservedQueue(e *env) {
	e.add()
	e.serve([]string{"news"}, "send")
	e.wantUnserved("mail send, known")
	e.serve([]string{"mail"}, "push")
	e.wantUnserved("mail send, known")
	e.serve([]string{"mail"}, "push", "send")
	e.wantUnserved()
}

// unservedNamespace: a program that does not say which one it serves may serve any.
func unservedNamespace(e *env) {
	e.add(func(q *store.Enqueue) { q.Job.Namespace = "other" })
	e.serve(nil, "send")
	e.wantUnserved("other mail send")
	e.joinAs(store.NodeInfo{Name: "of before", Kinds: []string{"send"}})
	e.wantUnserved()
	if nodes := e.nodes(); nodes[1].Info.Namespace != namespace || nodes[2].Info.Namespace != "" {
		e.Fatalf("the nodes: %+v", nodes)
	}
}

func unservedVersion(e *env) {
	e.add(func(q *store.Enqueue) { q.Job.Version = "v1" })
	e.serve(nil, "send", "send@v2")
	e.wantUnserved("mail send@v1")
	e.serve([]string{"news"}, "send@v1")
	e.wantUnserved("mail send@v1, known")
	e.serve(nil, "send@v1")
	e.wantUnserved()
}

func unservedDead(e *env) {
	e.add()
	left := e.serve(nil, "send")
	died := e.serve(nil, "send")
	e.leave(left)
	e.wantUnserved()
	e.rescueWith(store.RescueParams{Dead: []store.NodeBeat{e.lastBeat(died)}})
	e.wantUnserved("mail send")
}

func unservedPaused(e *env) {
	e.add()
	e.clock.Advance(time.Second)
	e.add(queue("news"))
	e.pause("mail", true)
	e.wantUnserved("news send")
	e.pause("mail", false)
	e.wantUnserved("mail send", "news send")
}

func unservedDue(e *env) {
	e.add(kind("later"), delay(time.Hour))
	e.add(ordered("k"), kind("first"))
	e.add(ordered("k"), kind("second"))
	run := e.started(kind("send"))
	e.promote()
	e.wantUnserved("mail first")
	e.end(run, store.Completed)
	e.wantUnserved("mail first")
	e.clock.Advance(time.Hour)
	e.promote()
	e.wantUnserved("mail first", "mail later")
}

func unservedOrder(e *env) {
	began := e.clock.Now()
	for i := range 5 {
		e.add(kind(fmt.Sprint("kind", i)), runAt(began.Add(-time.Duration(i)*time.Minute)))
		e.add(kind(fmt.Sprint("kind", i)), priority(1))
	}
	e.wantUnserved("mail kind4", "mail kind3", "mail kind2", "mail kind1", "mail kind0")
	found := e.unserved(2)
	if len(found) != 2 || queueOfKind(found[1]) != "mail kind3" || !found[1].OldestDue.Equal(began.Add(-3*time.Minute)) {
		e.Fatalf("the first two: %+v", found)
	}
}

package memory

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/store"
)

func entry(seq int64, kind store.EntryKind, path string) store.Entry {
	return store.Entry{Seq: seq, Kind: kind, Path: path}
}

// TestBehind: the code has caught up when it has come past every place that the journal held at the
// start, each once, whatever it has added meanwhile.
func TestBehind(t *testing.T) {
	m := &Memory{}
	m.Index(store.Journal{Entries: []store.Entry{
		entry(1, store.EntryContinued, ""), entry(2, store.EntryTimer, "1"), entry(3, store.EntryReceived, "1"),
		entry(4, store.EntryStep, "2.1"), entry(5, store.EntryUpdated, "1:1"), entry(6, store.EntryStep, "~1/1"),
	}})
	if place, some := m.LastPlace("2."); place != 1 || !some || m.Stored != 6 || !m.Accepted {
		t.Errorf("%d, %v, %+v", place, some, m)
	}
	if first := m.Unvisited(); first == nil || first.Path != "1" {
		t.Errorf("first comes %+v", first)
	}
	m.Record(entry(0, store.EntryStep, "9"))
	for i, path := range []string{"1", "1", "new", "1:1", "2.1", "9"} {
		if caughtUp := m.Visit(path); caughtUp != (path == "2.1") || m.IsBehind() != (i < 4) {
			t.Errorf("after %s: %v, %v", path, caughtUp, m.IsBehind())
		}
	}
	if first := m.Unvisited(); first != nil {
		t.Errorf("not visited: %+v", first)
	}
}

// paths lists the entries of a write, and its children and answers.
func paths(a *store.Append) string {
	var list []string
	for _, e := range a.Entries {
		list = append(list, strconv.FormatInt(e.Seq, 10)+" "+e.Path)
	}
	for _, q := range a.Enqueues {
		list = append(list, q.Job.Kind)
	}
	for _, answer := range a.Answers {
		list = append(list, "answer "+strconv.FormatInt(answer.Seq, 10))
	}
	return strings.Join(list, ", ")
}

// TestPortions: a child goes with its entry, and answers with the last entries.
func TestPortions(t *testing.T) {
	m := &Memory{Stored: 3, Requests: &Requests{}}
	m.Requests.Refuse(store.Update{Seq: 8}, "no")
	add := func(kind store.EntryKind, path string, size int) {
		m.Record(store.Entry{Kind: kind, Path: path, Name: strings.Repeat("n", size)})
		if kind == store.EntryChild {
			m.Enqueue(&store.Enqueue{Job: store.Job{Kind: "child " + path}})
		}
	}
	add(store.EntryChild, "1", 0)
	add(store.EntryStep, "2", MaxAppendBytes)
	add(store.EntryChild, "3", 0)
	add(store.EntryChild, "4", 0)
	m.Drop(func(path string) bool { return path == "3" })
	var got []string
	for !m.IsSaved() {
		a := m.Portion(store.Lease{})
		if len(a.Entries) > 0 {
			m.Stored = a.Entries[len(a.Entries)-1].Seq
		}
		got = append(got, paths(a))
	}
	if diff := cmp.Diff([]string{"4 1, child 1", "5 2", "6 4, child 4, answer 8"}, got); diff != "" {
		t.Error(diff)
	}
	m.Requests.Refuse(store.Update{Seq: 9}, "no")
	if a := m.Portion(store.Lease{}); paths(a) != "answer 9" || !m.IsSaved() {
		t.Errorf("alone: %s", paths(a))
	}
	m.Requests.Refuse(store.Update{Seq: 10}, "no")
	add(store.EntryStep, "5", 0)
	if m.DropAll(); !m.IsSaved() {
		t.Error("something is left")
	}
}

// TestRefusalsStay: of what is taken back, a signal that did not decode stays received, at no
// place.
func TestRefusalsStay(t *testing.T) {
	m := &Memory{}
	received := func(path string, ref int64, name, data string) {
		m.Record(store.Entry{Kind: store.EntryReceived, Path: path, Ref: ref, Name: name, Data: []byte(data)})
	}
	m.Receive([]store.Message{{Seq: 1, Kind: store.MessageSignal, Name: "s"}, {Seq: 2, Kind: store.MessageSignal, Name: "s"}})
	received("~1.1", 1, "s", "")
	received("~1.2", 2, "s", "{}")
	received("1", 3, "s", "{}")
	m.Forget("~1.")
	if msg := m.Signal("s"); msg == nil || msg.Seq != 1 || m.At("~1.2") != nil {
		t.Errorf("the next signal is %+v", msg)
	}
	m.KeepRefusals()
	if got := paths(m.Portion(store.Lease{})); got != "1 , 2 " {
		t.Errorf("kept: %q", got)
	}
}

// TestGiveUp: what was accepted and is not done fails, and nothing else is answered.
func TestGiveUp(t *testing.T) {
	m := &Memory{}
	m.GiveUp("as new")
	accepted := func(seq, ref int64, key string) store.Entry {
		e := entry(seq, store.EntryUpdated, "1:"+strconv.FormatInt(seq, 10))
		e.Ref, e.Data = ref, journal.Encode(journal.Update{Key: key})
		return e
	}
	j := store.Journal{Entries: []store.Entry{
		accepted(1, 5, "done"), accepted(2, 6, "under way"), accepted(3, 7, "sent again"), accepted(4, 8, "answered"),
	}}
	m.Index(j)
	m.Requests = &Requests{}
	m.Requests.Receive([]store.Update{open(5, "done", "u"), open(6, "under way", "u"), open(9, "sent again", "u"), open(10, "open", "u")})
	for _, key := range []string{"done", "under way", "sent again", "answered"} {
		m.Requests.Recall(key)
	}
	m.Requests.Done("done", nil, "")
	m.Requests.Done("answered", nil, "")
	m.GiveUp("as new")
	got := map[int64]store.UpdateVerdict{}
	for _, a := range m.Requests.TakeAnswers() {
		got[a.Seq] = a.Verdict
	}
	want := map[int64]store.UpdateVerdict{5: store.UpdateDone, 6: store.UpdateFailed, 9: store.UpdateFailed}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// A run that has not come to its handlers does not know which are answered: the store does.
	m = &Memory{}
	m.Index(j)
	m.GiveUp("as new")
	if n := len(m.Requests.TakeAnswers()); n != 4 {
		t.Errorf("%d of 4", n)
	}
}

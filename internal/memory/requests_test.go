package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

func open(seq int64, key, name string) store.Update {
	return store.Update{Seq: seq, Key: key, Name: name}
}

func every(string) bool { return true }

// TestRequestsAreTakenOnceInOrder of those whose names may be taken.
func TestRequestsAreTakenOnceInOrder(t *testing.T) {
	b := &Requests{}
	b.Receive([]store.Update{open(3, "a", "add"), open(5, "b", "remove"), open(9, "c", "add")})
	b.Receive([]store.Update{open(5, "b", "remove"), open(9, "c", "add")}) // read twice
	if b.Seen() != 9 {
		t.Errorf("%+v", b)
	}
	add := func(name string) bool { return name == "add" }
	var keys []string
	for u, found := b.Next(add); found; u, found = b.Next(add) {
		keys = append(keys, u.Key)
		b.Accept(u)
	}
	if u, found := b.Next(every); !found || u.Key != "b" {
		t.Errorf("%+v, %v", u, found)
	}
	if diff := cmp.Diff([]string{"a", "c"}, keys); diff != "" {
		t.Error(diff)
	}
	if b.HasAnswers() {
		t.Error("what is under way has an answer")
	}
	b.Done("c", []byte("1"), "")
	b.Done("a", nil, "sold out")
	want := []store.UpdateAnswer{
		{Seq: 9, Verdict: store.UpdateDone, Data: []byte("1")}, {Seq: 3, Verdict: store.UpdateFailed, Error: "sold out"},
	}
	if diff := cmp.Diff(want, b.TakeAnswers()); diff != "" || b.HasAnswers() {
		t.Errorf("%v, %s", b.HasAnswers(), diff)
	}
	// The same key, once more, is not taken: but for one that was refused.
	b.Receive([]store.Update{open(10, "d", "add")})
	u, _ := b.Next(every)
	b.Refuse(u, "no")
	b.Receive([]store.Update{open(11, "d", "add")})
	if u, _ := b.Next(every); u.Seq != 11 {
		t.Error("a request that was refused cannot be sent again")
	}
}

// TestWhatTheJournalAccepted is taken, and answered if it is open: before it is done, or after.
func TestWhatTheJournalAccepted(t *testing.T) {
	b := &Requests{}
	b.Receive([]store.Update{open(1, "open", "add"), open(2, "new", "add")})
	b.Recall("answered") // before: it is not open
	b.Recall("open")
	b.Recall("late")
	b.Done("answered", []byte(`"answered"`), "")
	b.Done("open", []byte(`"open"`), "")
	if diff := cmp.Diff([]store.UpdateAnswer{{Seq: 1, Verdict: store.UpdateDone, Data: []byte(`"open"`)}}, b.TakeAnswers()); diff != "" {
		t.Error(diff)
	}
	if u, _ := b.Next(every); u.Key != "new" {
		t.Errorf("next is %+v", u)
	}
	// A fork is asked again, or a job whose open requests were forgotten.
	b.Receive([]store.Update{open(3, "answered", "add"), open(4, "late", "add")})
	if diff := cmp.Diff([]store.UpdateAnswer{{Seq: 3, Verdict: store.UpdateDone, Data: []byte(`"answered"`)}}, b.TakeAnswers()); diff != "" {
		t.Error(diff)
	}
	b.Done("late", nil, "too late")
	if diff := cmp.Diff([]store.UpdateAnswer{{Seq: 4, Verdict: store.UpdateFailed, Error: "too late"}}, b.TakeAnswers()); diff != "" {
		t.Error(diff)
	}
	if _, found := b.Next(every); found {
		t.Error("it is taken again")
	}
}

// TestNoRequests: a run that handles none has nothing to remember of them.
func TestNoRequests(t *testing.T) {
	var b *Requests
	if b.Seen() != 0 || b.HasAnswers() || b.TakeAnswers() != nil {
		t.Error("it knows something")
	}
}

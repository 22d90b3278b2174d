package await

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/store"
)

// family is some children, and what their run remembers.
type family struct {
	*Children

	memory memory.Memory
	inbox  []store.Message
}

func newFamily(n int, how FanOut) *family { return &family{Children: NewChildren("k", "3", n, how)} }

// startAll starts as many as may run.
func (f *family) startAll() {
	for i, may := f.Next(); may; i, may = f.Next() {
		f.Start(&Child{ID: uuid.New(), Kind: f.Kind, Path: f.PathOf(i)})
	}
}

// end ends the children of these numbers, and takes their answers.
func (f *family) end(state store.State, numbers ...int) {
	for _, i := range numbers {
		seq := int64(len(f.inbox) + 1)
		f.inbox = append(f.inbox, store.Message{Seq: seq, Kind: store.MessageChild, From: f.All[i].ID, State: state})
	}
	f.memory.Receive(append([]store.Message(nil), f.inbox...))
	f.Collect(&f.memory)
}

// remembered is what was decided.
func (f *family) remembered() (all []string) {
	entries, _ := f.memory.Pending()
	for _, e := range entries {
		all = append(all, e.Path+" "+strconv.FormatInt(e.Ref, 10)+" "+string(e.Data))
	}
	return all
}

// TestChildrenAtOnce: of seven children four run; the run is woken when two of them have ended, and
// at last when all have.
func TestChildrenAtOnce(t *testing.T) {
	f := newFamily(7, FanOut{AtOnce: 4})
	f.startAll()
	if i, may := f.Next(); i != 4 || may || f.All[4] != nil {
		t.Errorf("next comes %d (%v)", i, may)
	}
	if diff := cmp.Diff(blocked.On{Count: 2, What: "4 of 7 children of kind k"}, f.Blocked()); diff != "" {
		t.Error(diff)
	}
	f.end(store.Completed, 1, 3)
	f.startAll()
	if diff := cmp.Diff(blocked.On{Count: 2, What: "4 of 7 children of kind k"}, f.Blocked()); diff != "" {
		t.Error(diff)
	}
	f.end(store.Completed, 0)
	f.startAll()
	if diff := cmp.Diff(blocked.On{Count: 4, What: "4 of 7 children of kind k"}, f.Blocked()); diff != "" {
		t.Error(diff)
	}
	if f.end(store.Failed, 2); f.IsEnough() || f.IsReady(&f.memory) {
		t.Error("three are left")
	}
	f.end(store.Completed, 4, 5, 6)
	if !f.IsEnough() || f.Answers[2].State != store.Failed || f.Answers[6].Seq != 7 {
		t.Errorf("%+v", f.Answers)
	}
	f.Decide(&f.memory)
	if diff := cmp.Diff([]string{"3.3 4 "}, f.remembered()); diff != "" {
		t.Error("only a failure is to be remembered:", diff)
	}
}

// TestChildrenEnough: waiting ends with the first that fails, and what is remembered is which had
// ended by then.
func TestChildrenEnough(t *testing.T) {
	f := newFamily(3, FanOut{Failures: true, Enough: func(_, failed int) bool { return failed > 0 }})
	f.startAll()
	if diff := cmp.Diff(blocked.On{Count: 3, Failures: true, What: "3 of 3 children of kind k"}, f.Blocked()); diff != "" {
		t.Error(diff)
	}
	if f.end(store.Completed, 2); f.IsEnough() {
		t.Error("none has failed")
	}
	if f.end(store.Cancelled, 0); !f.IsEnough() || f.Answers[1] != nil {
		t.Errorf("%+v", f.Answers)
	}
	f.Decide(&f.memory)
	if diff := cmp.Diff([]string{"3.1 2 ", "3.3 1 ", "3 0 2"}, f.remembered()); diff != "" {
		t.Error(diff)
	}

	again := newFamily(3, FanOut{})
	for i, child := range f.All {
		again.Recall(&f.memory, i, child)
	}
	if again.Answers[0] == nil || again.Answers[0].Seq != 2 || again.Answers[1] != nil || again.Answers[2].Seq != 1 {
		t.Errorf("a replay finds %+v", again.Answers)
	}
}

// TestChildrenNone: nothing is to be waited for.
func TestChildrenNone(t *testing.T) {
	f := newFamily(0, FanOut{AtOnce: -1})
	if i, may := f.Next(); i != 0 || may || !f.IsEnough() {
		t.Errorf("%d, %v", i, may)
	}
}

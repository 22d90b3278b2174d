package faulttest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store"
)

// A family is a job, the parent that it calls, and children of that which wait for ever, one with
// each policy.
var (
	grandparent = holdfast.NewKind[string, int]("grandparent")
	parentKind  = holdfast.NewKind[string, int]("parent", holdfast.MaxAttempts(3), holdfast.Backoff(time.Hour, time.Hour))
	childKind   = holdfast.NewKind[string, int]("child")
	policies    = map[string]store.ClosePolicy{
		"cancelled": store.CancelChild, "tended": store.CancelAndWait, "terminated": store.TerminateChild, "abandoned": store.AbandonChild,
	}
	familyNote = holdfast.NewSignal[int]("family")
)

// How a parent ends, its args.
const (
	parentWaits     = "waits"
	parentHandsOver = "hands over"
	parentCompletes = "completes in a transaction"
	parentFails     = "fails in a transaction"
)

var errFamily = errors.New("as planned")

// house is where families live: a database, and what happens in it.
type house struct {
	t  *testing.T
	db *database
	hf *holdfast.Client // of people

	tx   *sql.DB
	wrap func(*sql.Tx) store.Tx

	// ended is called by a parent that has ended its job in a transaction, once with each attempt.
	// It commits or rolls back.
	ended func(run *holdfast.Run, tx *sql.Tx) error

	mu     sync.Mutex
	undone []string // what has compensated, in its order
	told   map[holdfast.ID]int
}

// hooks count how often the ends of jobs are told.
func (h *house) hooks() holdfast.Option {
	return holdfast.WithHooks(hooks.Hooks{Finished: func(e hooks.Finished) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.told[e.ID]++
	}})
}

func (h *house) undo(who string) func(*holdfast.Run) error {
	return func(run *holdfast.Run) error {
		return holdfast.Do(run, "undo", func(context.Context) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.undone = append(h.undone, who)
			return nil
		})
	}
}

// handlers are those of a node.
func (h *house) handlers(hf *holdfast.Client) {
	h.t.Helper()
	register(h.t, hf, grandparent, func(run *holdfast.Run, how string) (int, error) {
		n, err := parentKind.Call(run, how)
		if ended, ok := errors.AsType[*holdfast.JobError](err); ok {
			return -int(ended.State), nil
		}
		return n, err
	})
	register(h.t, hf, childKind, func(run *holdfast.Run, who string) (int, error) {
		if err := run.OnFailure("undo", h.undo(who)); err != nil {
			return 0, err
		}
		return familyNote.Wait(run)
	})
	register(h.t, hf, parentKind, func(run *holdfast.Run, how string) (int, error) {
		if err := run.OnFailure("undo", h.undo("parent")); err != nil {
			return 0, err
		}
		for _, who := range []string{"cancelled", "tended", "terminated", "abandoned"} {
			if _, err := childKind.Start(run, who, holdfast.OnParentClose(policies[who])); err != nil {
				return 0, err
			}
		}
		switch how {
		case parentHandsOver:
			return 0, holdfast.HandOver(0)
		case parentCompletes, parentFails:
			if _, err := familyNote.Wait(run); err != nil {
				return 0, err
			}
			return 0, h.endTx(run, how)
		}
		return familyNote.Wait(run)
	})
}

// endTx ends a parent in a transaction of its own.
func (h *house) endTx(run *holdfast.Run, how string) error {
	tx, err := h.tx.BeginTx(run, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if how == parentCompletes {
		err = run.CompleteTx(h.wrap(tx), 42)
	} else {
		err = run.FailTx(h.wrap(tx), errFamily)
	}
	if err != nil {
		return err
	}
	return h.ended(run, tx)
}

// family is one that waits.
type family struct {
	*house

	how         string
	top, parent holdfast.ID
	children    map[string]holdfast.ID
	goesOn      bool // the child that is abandoned has got its signal
}

// found makes a family, and waits until all of it waits.
func (h *house) found(how string) *family {
	h.t.Helper()
	f := &family{house: h, how: how, top: enqueue(h.t, h.hf, grandparent, how).ID, children: map[string]holdfast.ID{}}
	children := func(of holdfast.ID) []store.Record {
		page, err := h.hf.List(h.t.Context(), store.Filter{Parent: of}, "", 10)
		if err != nil {
			h.t.Fatal(err)
		}
		return page.Jobs
	}
	eventually(h.t, "the family waits", func() bool {
		if of := children(f.top); len(of) == 1 && of[0].State == store.Waiting {
			f.parent = of[0].ID
		} else {
			return false
		}
		for _, r := range children(f.parent) {
			if r.State == store.Waiting {
				f.children[string(r.Args)] = r.ID
			}
		}
		return len(f.children) == len(policies) && get(h.t, h.hf, f.top).State == store.Waiting
	})
	for who := range policies {
		id, ok := f.children[fmt.Sprintf("%q", who)]
		if !ok {
			h.t.Fatalf("there is no child that is to be %s: %v", who, f.children)
		}
		delete(f.children, fmt.Sprintf("%q", who))
		f.children[who] = id
	}
	return f
}

func (f *family) all() []holdfast.ID {
	ids := []holdfast.ID{f.top, f.parent}
	for who := range policies {
		ids = append(ids, f.children[who])
	}
	return ids
}

// memory is all that the database tells of a job.
type memory struct {
	record  store.Record
	journal holdfast.Journal
}

func (f *family) memories() map[holdfast.ID]memory {
	f.t.Helper()
	all := map[holdfast.ID]memory{}
	for _, id := range f.all() {
		journal, err := f.hf.Journal(f.t.Context(), id)
		if err != nil {
			f.t.Fatal(err)
		}
		all[id] = memory{get(f.t, f.hf, id), journal}
	}
	return all
}

// wantSame checks that nothing has happened to any of the family.
func (f *family) wantSame(what string, before map[holdfast.ID]memory) {
	f.t.Helper()
	for id, is := range f.memories() {
		if !reflect.DeepEqual(is, before[id]) {
			f.t.Errorf("%s: job %s was\n%+v\nand is\n%+v", what, id, before[id], is)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range f.all() {
		if n := f.told[id]; n > 0 {
			f.t.Errorf("%s: hooks were told %d times that job %s has ended", what, n, id)
		}
	}
	if len(f.undone) > 0 {
		f.t.Errorf("%s: %v have compensated", what, f.undone)
	}
}

// wantEnd checks what has become of a family whose parent has ended in the given state, and how
// often hooks were told of that: they are not told what is done in a transaction.
func (f *family) wantEnd(state store.State, parentTold int) {
	f.t.Helper()
	parent := ends(f.t, f.hf, f.parent, state)
	want := 42
	if state != store.Completed {
		want = -int(state)
	}
	if top := ends(f.t, f.hf, f.top, store.Completed); string(top.Result) != strconv.Itoa(want) {
		f.t.Errorf("the grandparent was told %s, want %d: %s", top.Result, want, told(top))
	}
	answers := 0
	journal, err := f.hf.Journal(f.t.Context(), f.top)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, m := range journal.Messages {
		if m.From == f.parent {
			answers++
		}
	}
	if answers != 1 {
		f.t.Errorf("the grandparent was told %d times", answers)
	}
	for who, want := range map[string]store.Reason{
		"cancelled": store.ReasonCancelled, "tended": store.ReasonCancelled, "terminated": store.ReasonTerminated,
	} {
		r := ends(f.t, f.hf, f.children[who], store.Cancelled)
		if r.Reason != want {
			f.t.Errorf("the child that is to be %s is %s", who, told(r))
		}
		if who == "tended" && state != store.Completed && r.FinishedAt.After(parent.FinishedAt) {
			f.t.Errorf("the child that is waited for has ended at %v, its parent at %v", r.FinishedAt, parent.FinishedAt)
		}
	}
	if f.goesOn {
		ends(f.t, f.hf, f.children["abandoned"], store.Completed)
	} else if r := get(f.t, f.hf, f.children["abandoned"]); r.State != store.Waiting {
		f.t.Errorf("the child that is abandoned is %s", told(r))
	}
	f.wantUndone(state)
	if f.told == nil {
		return // nobody counts
	}
	f.wantTold(map[holdfast.ID]int{
		f.top: 1, f.parent: parentTold, f.children["cancelled"]: 1, f.children["tended"]: 1, f.children["terminated"]: 1,
		f.children["abandoned"]: 0,
	})
}

// wantTold checks how often hooks were told of ends, a moment after them.
func (f *family) wantTold(want map[holdfast.ID]int) {
	f.t.Helper()
	count := func() map[holdfast.ID]int {
		f.mu.Lock()
		defer f.mu.Unlock()
		got := map[holdfast.ID]int{}
		for id := range want {
			got[id] = f.told[id]
		}
		return got
	}
	if !comesTrue(soon, func() bool { return maps.Equal(count(), want) }) {
		f.t.Errorf("hooks were told of the ends %v, want %v", count(), want)
	}
}

func (f *family) wantUndone(state store.State) {
	f.t.Helper()
	want := []string{"cancelled", "tended"}
	if state != store.Completed {
		want = append(want, "parent")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	undone := slices.Clone(f.undone)
	slices.Sort(undone)
	slices.Sort(want)
	if !slices.Equal(undone, want) {
		f.t.Errorf("%v have compensated, want %v", undone, want)
	}
	if slices.Contains(f.undone, "parent") && slices.Index(f.undone, "parent") < slices.Index(f.undone, "tended") {
		f.t.Errorf("%v have compensated, in this order", f.undone)
	}
}

package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func (m *mortal) AppendTx(ctx context.Context, tx store.Tx, a *store.Append) error {
	return m.write(func() error { return m.Store.AppendTx(ctx, tx, a) })
}

func (m *mortal) AwaitTx(ctx context.Context, job store.ID) error {
	return m.quietly(func() error { return m.Store.AwaitTx(ctx, job) })
}

// ender is a flow that ends its job in a transaction, together with a note, which is a job of a
// kind without a handler.
type ender struct {
	t      *testing.T
	model  *model.Store
	fails  bool
	undoes bool

	id        holdfast.ID
	committed int // how often, as far as the database knows
	late      int // calls of the handler after that
	undone    int
}

var endMain = holdfast.NewKind[int, string]("ends")

func (f *ender) String() string { return fmt.Sprintf("fails %v, compensates %v", f.fails, f.undoes) }

// handle is the handler of a process. It never returns what the job is to end with.
func (f *ender) handle(m *mortal) func(run *holdfast.Run, _ int) (string, error) {
	return func(run *holdfast.Run, _ int) (string, error) {
		if f.committed > 0 && !f.undoes {
			f.late++
		}
		if _, err := holdfast.Step(run, "first", func(context.Context) (int, error) { return 1, nil }); err != nil {
			return "", err
		}
		if f.undoes {
			if err := run.OnFailure("undo", func(*holdfast.Run) error { f.undone++; return nil }); err != nil {
				return "", err
			}
		}
		tx := f.model.Begin()
		defer tx.Rollback() //nolint:errcheck // it may have been committed
		note := &store.Enqueue{Job: store.Job{ID: holdfast.NewID(), Namespace: "default", Queue: "notes", Kind: "note", Priority: 2}}
		if err := errors.Join(f.model.EnqueueTx(run, tx, []*store.Enqueue{note}), note.Err); err != nil {
			return "", err
		}
		var err error
		if f.fails {
			err = run.FailTx(tx, errors.New("in a transaction"))
		} else {
			err = run.CompleteTx(tx, "in a transaction")
		}
		if err != nil {
			return "", err
		}
		err = m.write(func() error {
			err := tx.Commit()
			if err == nil {
				f.committed++
			}
			return err
		})
		return "", errors.Join(err, errors.New("the handler fails"))
	}
}

// live runs a process until it dies, or until the job has ended.
func (f *ender) live(m *mortal) {
	f.t.Helper()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	hf, err := holdfast.Open(ctx, memorySource{m}, holdfast.WithStopTimeout(time.Nanosecond), holdfast.WithStuckAfter(time.Second))
	if err != nil {
		f.t.Fatal(err)
	}
	if err := endMain.Handle(hf, f.handle(m)); err != nil {
		f.t.Fatal(err)
	}
	_, _ = endMain.Enqueue(ctx, hf, 0, holdfast.JobID(f.id), holdfast.MaxAttempts(3)) // a dead process fails below
	var node sync.WaitGroup
	node.Go(func() { _ = hf.Run(ctx) })
	ended := make(chan bool, 1)
	go func() { ended <- hf.Wait(ctx, f.id) == nil }()
	select {
	case <-m.died:
	case <-ended:
	case <-time.After(10 * time.Hour):
	}
	dying, now := context.WithCancel(context.Background())
	now()
	kill()
	_ = hf.Stop(dying)
	node.Wait()
	_ = hf.Close(dying)
}

// check checks that the job has ended as its one transaction says, and that this is there once.
func (f *ender) check(deaths []death) {
	f.t.Helper()
	record, err := f.model.Get(f.t.Context(), "", f.id)
	if err != nil {
		f.t.Fatalf("%v, deaths %v: %v", f, deaths, err)
	}
	page, err := f.model.List(f.t.Context(), store.ListParams{Filter: store.Filter{Kinds: []string{"note"}}, Limit: 10})
	if err != nil {
		f.t.Fatal(err)
	}
	ok := record.State == store.Completed && string(record.Result) == `"in a transaction"`
	if f.fails {
		ok = record.State == store.Failed && record.Error == "in a transaction" && record.Reason == store.ReasonTerminal
	}
	if !ok || f.committed != 1 || len(page.Jobs) != 1 || f.late != 0 {
		f.t.Errorf("%v, deaths %v: the job is %v (%s: %s) with %s; %d commits, %d notes, %d calls of the handler after the commit",
			f, deaths, record.State, record.Reason, record.Error, record.Result, f.committed, len(page.Jobs), f.late)
	}
	if f.undoes && f.undone == 0 {
		f.t.Errorf("%v, deaths %v: nothing was undone", f, deaths)
	}
}

// perform runs the flow in processes that die at the given writes, one after the other. It returns
// how many writes the first one made.
func (f *ender) perform(deaths ...death) (writes int) {
	f.t.Helper()
	f.model, f.id = model.New(time.Now), holdfast.NewID()
	for n := 0; n <= len(deaths); n++ {
		m := &mortal{Store: f.model, left: -1, died: make(chan struct{})}
		if n < len(deaths) {
			m.left, m.after = deaths[n].write, deaths[n].after
		}
		f.live(m)
		if n == 0 {
			writes = m.writes
		}
	}
	f.check(deaths)
	return writes
}

// TestDeathsAroundCompleteTx kills the process at every write of a flow that ends its job in a
// transaction, before it and after it, once and twice: the job ends as the transaction says if and
// only if that was committed, without another call of the handler, and that happens once.
func TestDeathsAroundCompleteTx(t *testing.T) {
	t.Parallel()
	for _, sort := range []ender{{}, {fails: true}, {fails: true, undoes: true}} {
		begin := func(t *testing.T) *ender {
			t.Helper()
			return &ender{t: t, fails: sort.fails, undoes: sort.undoes}
		}
		var writes int
		synctest.Test(t, func(t *testing.T) { writes = begin(t).perform() })
		if writes < 5 {
			t.Fatalf("%d writes", writes)
		}
		for write := range writes {
			for _, after := range []bool{false, true} {
				once := death{write, after}
				synctest.Test(t, func(t *testing.T) { begin(t).perform(once) })
				for again := range 4 {
					synctest.Test(t, func(t *testing.T) { begin(t).perform(once, death{again, true}) })
				}
			}
		}
	}
}

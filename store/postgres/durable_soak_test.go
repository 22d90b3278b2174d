//go:build soak

package postgres_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestParkMeetsSend: a run parks while the message that it waits for arrives. Whichever comes
// first, the job is available afterwards.
func TestParkMeetsSend(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	conn := connect(t, config.URL)
	node := join(t, a)
	woken, found := 0, 0
	for i := range 300 {
		run := start(t, a, node, int64(i+1))
		o := parked(run, store.Wait{Kinds: store.MessagesOf(store.MessageSignal)})
		q := signal(run.Job.ID, "go")
		batch := &store.Batch{Sends: []*store.Send{q}}
		var both sync.WaitGroup
		both.Go(func() {
			if err := apply(t, a, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
				t.Errorf("park: %v, %v", err, o.Err)
			}
		})
		both.Go(func() {
			if i%3 > 0 {
				if err := apply(t, b, batch); err != nil || q.Err != nil {
					t.Errorf("send: %v, %v", err, q.Err)
				}
				return
			}
			tx, err := conn.Begin(t.Context())
			if err == nil {
				err = errors.Join(b.SendTx(t.Context(), postgres.Tx(tx), batch.Sends), q.Err, tx.Commit(t.Context()))
			}
			if err != nil {
				t.Errorf("send in a transaction: %v", err)
			}
		})
		both.Wait()
		wantState(t, a, run.Job.ID, store.Available)
		if q.Result.Woken == (o.Final == store.Available) {
			t.Fatalf("woken: %v, parked: %v", q.Result.Woken, o.Final)
		}
		if q.Result.Woken {
			woken++
		} else {
			found++
		}
		if _, _, err := a.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{run.Job.ID}}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d messages woke their job, %d were found by the run that parked", woken, found)
}

// TestChildrenMeetTheirParent: children finish on several nodes while their parent parks until all
// of them have.
func TestChildrenMeetTheirParent(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	nodes := []int64{join(t, a), join(t, b)}
	const children = 24
	for round := range 20 {
		seq := int64(round*10 + 1)
		parent := start(t, a, nodes[0], seq)
		var jobs []*store.Enqueue
		for range children {
			jobs = append(jobs, newJob(childOf(parent.Job.ID)))
		}
		enqueue(t, a, jobs...)
		batches := []*store.Batch{{}, {}, {}, {Outcomes: []*store.Outcome{parked(parent, store.Wait{Count: children})}}}
		for i, node := range nodes {
			s := []store.Store{a, b}[i]
			runs, err := s.Claim(t.Context(), demand(node, seq+1, children/2))
			if err != nil || len(runs) != children/2 {
				t.Fatalf("claimed %d, %v", len(runs), err)
			}
			for n, run := range runs {
				o := completed(run)
				if o.Answers = true; n%4 == 0 {
					o.State, o.Reason = store.Failed, store.ReasonTerminal
				}
				if n%5 > 0 { // otherwise the store has to look
					o.Parent = run.Job.Parent
				}
				batch := batches[n%3]
				batch.Outcomes = append(batch.Outcomes, o)
			}
		}
		var all sync.WaitGroup
		for i, batch := range batches {
			all.Go(func() {
				s := []store.Store{a, b}[i%2]
				if err := apply(t, s, batch); err != nil {
					t.Errorf("Apply: %v", err)
				}
				for _, o := range batch.Outcomes {
					if o.Err != nil {
						t.Errorf("outcome: %v", o.Err)
					}
				}
			})
		}
		all.Wait()
		wantState(t, a, parent.Job.ID, store.Available)
		journals, err := a.Journals(t.Context(), "", []store.ID{parent.Job.ID})
		if err != nil || len(journals[0].Messages) != children {
			t.Fatalf("journals: %+v, %v", journals, err)
		}
		for i, m := range journals[0].Messages {
			if m.Seq != int64(i+1) {
				t.Fatalf("message %d has the number %d", i, m.Seq)
			}
		}
		if _, _, err := a.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{parent.Job.ID}}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTerminateMeetsAppends: what is appended before a job is terminated is there, and nothing is
// appended afterwards.
func TestTerminateMeetsAppends(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	node := join(t, a)
	for i := range 40 {
		run := start(t, a, node, int64(i+1))
		var written atomic.Int64
		done := make(chan error, 1)
		go func() {
			for seq := int64(1); ; seq++ {
				w := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(seq)}}
				if err := errors.Join(store.ApplyEach(t.Context(), a, &store.Batch{Appends: []*store.Append{w}}), w.Err); err != nil {
					done <- err
					return
				}
				written.Store(seq)
			}
		}()
		eventually(t, "some appends", func() bool { return written.Load() >= 3 })
		results, _, err := b.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{run.Job.ID}, Terminate: true, Reason: "enough"})
		if err != nil || results[0].State != store.Cancelled {
			t.Fatalf("Cancel: %+v, %v", results, err)
		}
		record, err := b.Get(t.Context(), "", run.Job.ID)
		if err != nil || record.Reason != store.ReasonTerminated || record.Error != "enough" {
			t.Fatalf("record: %+v, %v", record, err)
		}
		wantErr(t, "append", <-done, store.ErrLeaseLost)
		if after, err := b.Get(t.Context(), "", run.Job.ID); err != nil || after.Journal != record.Journal || after.Journal != written.Load() {
			t.Fatalf("%d entries when it was terminated, %d now, %d written: %v", record.Journal, after.Journal, written.Load(), err)
		}
	}
}

// TestRescueMeetsAppends: a node that is slow writes until it is declared dead, and nothing
// afterwards.
func TestRescueMeetsAppends(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	a, b := open(t, config), open(t, config)
	for i := range 20 {
		run := start(t, a, join(t, a), int64(i+1))
		done := make(chan int64, 1)
		var written atomic.Int64
		go func() {
			for seq := int64(1); ; seq++ {
				w := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(seq)}}
				if err := errors.Join(store.ApplyEach(t.Context(), a, &store.Batch{Appends: []*store.Append{w}}), w.Err); err != nil {
					if !errors.Is(err, store.ErrLeaseLost) {
						t.Errorf("append: %v", err)
					}
					done <- seq - 1
					return
				}
				written.Store(seq)
			}
		}()
		eventually(t, "some appends", func() bool { return written.Load() >= 3 })
		var rescued store.Rescued
		eventually(t, "the rescue", func() bool {
			var err error
			rescued, err = b.Rescue(t.Context(), allDead(t, b))
			return err != nil || len(rescued.Jobs) > 0
		})
		journals, err := b.Journals(t.Context(), "", []store.ID{run.Job.ID})
		if last := <-done; err != nil || int64(len(journals[0].Entries)) != last {
			t.Fatalf("%d entries at the rescue, %d written: %v", len(journals[0].Entries), last, err)
		}
		if _, _, err := a.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{run.Job.ID}, Terminate: true}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFenceHoldsItsNode: while somebody writes the journals of a node nobody declares it dead, and
// nobody takes a lease from it.
func TestFenceHoldsItsNode(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	node := join(t, s)
	run := start(t, s, node, 1)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), postgres.Fence(s), []int64{node}); err != nil {
		t.Fatal(err)
	}
	rescued, err := s.Rescue(t.Context(), allDead(t, s))
	if err != nil || len(rescued.Jobs) > 0 {
		t.Fatalf("Rescue beside a writer: %+v, %v", rescued.Jobs, err)
	}
	if _, err := s.Beat(t.Context(), store.BeatParams{Node: node}); err != nil {
		t.Fatalf("the node was declared dead beside a writer: %v", err)
	}
	_, _, err = s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{run.Job.ID}, Terminate: true})
	wantErr(t, "Cancel", err, store.ErrUnavailable)
	_, err = s.Leave(t.Context(), node)
	wantErr(t, "Leave", err, store.ErrUnavailable)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the rescue", func() bool {
		rescued, err = s.Rescue(t.Context(), allDead(t, s))
		return err != nil || len(rescued.Jobs) > 0
	})
	if err != nil || rescued.Jobs[0].Job != run.Job.ID {
		t.Fatalf("Rescue: %+v, %v", rescued.Jobs, err)
	}
}

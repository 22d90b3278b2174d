package faults_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// What is busy has not happened, whatever becomes of the rest, and happens when it is sent again.
func TestABusyOperationFailsAlone(t *testing.T) {
	ctx, inner := t.Context(), model.New(storetest.NewClock().Now)
	isBusy := func(operation any) bool {
		switch operation := operation.(type) {
		case *store.Enqueue:
			return operation.Job.Queue == "busy"
		case *store.Outcome:
			return operation.State == store.Retryable
		}
		_, isSend := operation.(*store.Send)
		return isSend
	}
	s := faults.Wrap(inner, faults.Script(map[string][]faults.Fault{"Apply": {
		{Busy: isBusy}, {Busy: isBusy, Kind: faults.FailBefore}, {Busy: isBusy}, {Busy: isBusy, Kind: faults.Duplicate},
	}}))
	free, busy := enqueue(), enqueue()
	free.Job.UniqueKey, busy.Job.UniqueKey, busy.Job.Queue = nil, nil, "busy"
	if err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{busy, free}}); err != nil || free.Err != nil {
		t.Fatalf("Apply: %v, %v", err, free.Err)
	}
	if _, err := inner.Get(ctx, "", busy.Job.ID); !errors.Is(busy.Err, store.ErrBusy) || !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("the busy one: %v, and a Get says %v", busy.Err, err)
	}
	node, err := inner.Join(ctx, store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := inner.Claim(ctx, store.ClaimParams{Node: node, Seq: 1, Namespace: "n", Kinds: []string{"k"}, Limit: 1})
	if err != nil || len(claimed) != 1 {
		t.Fatalf("Claim: %+v, %v", claimed, err)
	}
	lease := claimed[0].Lease
	o := &store.Outcome{Lease: lease, State: store.Retryable, Delay: time.Minute}
	send := &store.Send{Job: free.Job.ID, Message: store.Message{Kind: store.MessageSignal}}
	c, a := &store.CheckpointWrite{Lease: lease}, &store.Append{Lease: lease, Entries: []store.Entry{{Seq: 1, Kind: store.EntryStep}}}
	batch := &store.Batch{
		Checkpoints: []*store.CheckpointWrite{c}, Appends: []*store.Append{a}, Sends: []*store.Send{send}, Outcomes: []*store.Outcome{o},
	}
	if err := s.Apply(ctx, batch); !errors.Is(err, store.ErrUnavailable) || o.Err != nil {
		t.Fatalf("a lost request: %v, %v", err, o.Err)
	}
	if err = s.Apply(ctx, batch); !errors.Is(err, store.ErrRefused) || !errors.Is(o.Err, store.ErrBusy) || c.Err != nil || send.Err != nil {
		t.Fatalf("Apply: %v, checkpoint %v, outcome %v, send %v", err, c.Err, o.Err, send.Err)
	}
	batch = batch.Rest()
	err = s.Apply(ctx, batch)
	if err != nil || c.Err != nil || a.Err != nil || !errors.Is(o.Err, store.ErrBusy) || !errors.Is(send.Err, store.ErrBusy) {
		t.Fatalf("Apply: %v, checkpoint %v, append %v, outcome %v, send %v", err, c.Err, a.Err, o.Err, send.Err)
	}
	record, err := inner.Get(ctx, "", free.Job.ID)
	if err != nil || record.State != store.Running || record.Journal != 1 || record.Messages != 0 {
		t.Fatalf("record: %+v, %v", record, err)
	}
	again := &store.Batch{Sends: []*store.Send{send}, Outcomes: []*store.Outcome{o}, Enqueues: []*store.Enqueue{busy}}
	err = s.Apply(ctx, again)
	if err != nil || o.Err != nil || o.Final != store.Retryable || o.Due.IsZero() || send.Err != nil || busy.Err != nil {
		t.Fatalf("sent again: %v, outcome %v, %v, due at %v, send %v, enqueue %v", err, o.Final, o.Err, o.Due, send.Err, busy.Err)
	}
	// A lost answer tells nothing of when the job is due.
	s.Plan(always(faults.FailAfter))
	lost := &store.Outcome{Lease: lease, State: store.Retryable, Repeat: true}
	if err := s.Apply(ctx, &store.Batch{Outcomes: []*store.Outcome{lost}}); err == nil || lost.Final != 0 || !lost.Due.IsZero() {
		t.Fatalf("a lost answer: %v, %v, due at %v", err, lost.Final, lost.Due)
	}
}

// Who awaits a transaction gets no answer if that is lost, and asks again.
func TestAwaitTxIsAsked(t *testing.T) {
	inner := model.New(storetest.NewClock().Now)
	s := faults.Wrap(inner, faults.Script(map[string][]faults.Fault{"AwaitTx": {
		{Kind: faults.FailBefore}, {Kind: faults.FailAfter}, {Kind: faults.Duplicate}, {},
	}}))
	for i, want := range []error{store.ErrUnavailable, store.ErrUnavailable, nil, nil} {
		if err := s.AwaitTx(t.Context(), uuid.New()); !errors.Is(err, want) {
			t.Errorf("call %d: %v, want %v", i, err, want)
		}
	}
	if n := s.Calls("AwaitTx"); n != 4 {
		t.Errorf("%d calls were counted", n)
	}
}

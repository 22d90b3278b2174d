package store

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
)

// refusing is a Writer that refuses what refuse says, and notes how many operations each batch has.
type refusing struct {
	Writer
	refuse func(b *Batch)
	sizes  []int
}

func (r *refusing) Apply(_ context.Context, b *Batch) error {
	r.sizes = append(r.sizes, b.Len())
	r.refuse(b)
	return b.Refusal()
}

func TestApplyEachTakesOutWhatIsRefused(t *testing.T) {
	bad := errors.New("bad")
	lost := &Outcome{Lease: Lease{Node: 1}}
	kept := &Outcome{Lease: Lease{Node: 2}}
	missing := &Send{}
	must := &Enqueue{Required: true}
	taken := &Enqueue{}
	w := &refusing{refuse: func(b *Batch) {
		for _, o := range b.Outcomes {
			if o.Final = Completed; o == lost {
				o.Final, o.Err = 0, ErrLeaseLost
			}
		}
		for _, q := range b.Sends {
			q.Err = ErrNotFound
		}
		for _, q := range b.Enqueues {
			q.Err = bad
		}
	}}
	b := &Batch{Outcomes: []*Outcome{lost, kept}, Sends: []*Send{missing}, Enqueues: []*Enqueue{must, taken}}
	if err := ApplyEach(t.Context(), w, b); err != nil {
		t.Fatal(err)
	}
	if len(w.sizes) != 2 || w.sizes[0] != 5 || w.sizes[1] != 3 {
		t.Errorf("batches of %v operations, want 5, and then 3", w.sizes)
	}
	told := errors.Is(lost.Err, ErrLeaseLost) && errors.Is(missing.Err, ErrNotFound) && errors.Is(must.Err, bad) && errors.Is(taken.Err, bad)
	if !told || kept.Err != nil || kept.Final != Completed {
		t.Errorf("lost %v, kept %v %v, missing %v, must %v, taken %v", lost.Err, kept.Err, kept.Final, missing.Err, must.Err, taken.Err)
	}
}

// TestARefusedBatchSaysNothingOfTheRest: what the other operations have found did not happen
// either.
func TestARefusedBatchSaysNothingOfTheRest(t *testing.T) {
	lost := &Outcome{Err: ErrLeaseLost}
	done := &Outcome{Final: Completed}
	sent := &Send{Result: SendResult{Seq: 1}}
	q := &Enqueue{Err: ErrConflict}
	b := &Batch{
		Outcomes: []*Outcome{lost, done}, Sends: []*Send{sent}, Enqueues: []*Enqueue{q},
		Start: &Start{Claimed: make([]Claimed, 1)}, Woken: make([]Wake, 1),
	}
	refused, ok := errors.AsType[*RefusedError](b.Refusal())
	if !ok || refused.Refused != 1 || !errors.Is(refused.First, ErrLeaseLost) {
		t.Fatalf("refused: %+v", refused)
	}
	if done.Final != 0 || sent.Result.Seq != 0 || q.Err != nil || b.Start.Claimed != nil || b.Woken != nil {
		t.Errorf("something is told of the rest: %+v %+v %+v %+v", done, sent, q, b)
	}
}

// TestARepeatedOutcomeExcusesItsCheckpoint, which was written with it: its lease is lost because of
// that.
func TestARepeatedOutcomeExcusesItsCheckpoint(t *testing.T) {
	lease := Lease{Job: uuid.Must(uuid.NewV7()), Node: 1}
	for _, c := range []struct {
		outcome Outcome
		want    error
	}{
		{Outcome{Lease: lease, Repeat: true, Final: Completed}, nil},
		{Outcome{Lease: lease, Final: Completed}, ErrLeaseLost},
		{Outcome{Lease: Lease{Node: 1}, Repeat: true, Final: Completed}, ErrLeaseLost},
	} {
		write := &CheckpointWrite{Lease: lease, Err: LostLease(lease.Job)}
		err := (&Batch{Checkpoints: []*CheckpointWrite{write}, Outcomes: []*Outcome{&c.outcome}}).Refusal()
		if (err == nil) != (c.want == nil) || !errors.Is(write.Err, c.want) {
			t.Errorf("%+v: refused %v, the checkpoint %v", c.outcome, err, write.Err)
		}
	}
}

func TestUnitsAreRequired(t *testing.T) {
	u := &Unit{
		Checkpoint: &CheckpointWrite{}, Append: &Append{}, Sends: []*Send{{}, {}}, Outcome: &Outcome{}, Enqueues: []*Enqueue{{}, {}},
	}
	b := &Batch{}
	if b.Add(u); b.Len() != 7 {
		t.Fatalf("%d operations", b.Len())
	}
	errs := []*error{
		&u.Checkpoint.Err, &u.Append.Err, &u.Sends[0].Err, &u.Sends[1].Err, &u.Outcome.Err, &u.Enqueues[0].Err, &u.Enqueues[1].Err,
	}
	for i, e := range errs {
		*e = ErrInvalid
		refused, ok := errors.AsType[*RefusedError](b.Refusal())
		if !ok || !errors.Is(refused.First, ErrInvalid) || !errors.Is(u.Err(), ErrInvalid) {
			t.Errorf("operation %d: refused %+v, the unit %v", i, refused, u.Err())
		}
		if rest := b.Rest(); rest.Len() != 6 {
			t.Errorf("operation %d: %d are left", i, rest.Len())
		}
		*e = nil
	}
	if err := errors.Join(b.Refusal(), u.Err()); err != nil {
		t.Errorf("nothing is wrong, and yet: %v", err)
	}
}

package holdfast_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// fullAt is a database whose disk is full for a job with these args.
type fullAt struct {
	memory

	args string
}

func (f fullAt) Open(ctx context.Context) (store.Store, error) {
	st, err := f.memory.Open(ctx)
	return fullStore{st, f.args}, err
}

type fullStore struct {
	store.Store

	args string
}

func (s fullStore) Apply(ctx context.Context, batch *store.Batch) error {
	for _, e := range batch.Enqueues {
		if string(e.Job.Args) == s.args {
			return store.ErrFull
		}
	}
	return s.Store.Apply(ctx, batch)
}

// numbers are n, n+1, … below end, with the first one twice.
func numbers(end int) []int {
	ins := make([]int, end)
	for i := range ins {
		ins[i] = i
	}
	ins[1] = 0
	return ins
}

// TestRefusalsOutliveALaterFailure: refused jobs are reported even if a later batch fails.
func TestRefusalsOutliveALaterFailure(t *testing.T) {
	hf, err := holdfast.Open(t.Context(), fullAt{args: "1500"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	kind := holdfast.NewKind[int, int]("many", holdfast.Unique{ByArgs: true, OnConflict: store.Reject})

	jobs, err := kind.EnqueueMany(t.Context(), hf, numbers(2500))
	var batch *holdfast.BatchError
	if !errors.Is(err, holdfast.ErrFull) || !strings.Contains(err.Error(), "jobs 1001 to 2000 of 2500") {
		t.Errorf("error is %v", err)
	}
	if !errors.As(err, &batch) || len(batch.Refused) != 1 || batch.Answered != 1000 || !errors.Is(batch.Refused[1], holdfast.ErrConflict) {
		t.Errorf("error is %v; it should hold the refusal of place 1", err)
	}
	for i, job := range jobs {
		if stored := i < 1000 && i != 1; (job != nil) != stored {
			t.Fatalf("place %d: stored %v, want %v", i, job != nil, stored)
		}
	}

	unique := holdfast.Unique{ByArgs: true, ByQueue: true, OnConflict: store.Reject}
	items := make([]holdfast.BatchItem, 2500)
	for i, in := range numbers(len(items)) {
		items[i] = kind.Item(in, holdfast.Queue("items"), unique)
	}
	results, err := hf.EnqueueBatch(t.Context(), items)
	if !errors.Is(err, holdfast.ErrFull) {
		t.Errorf("items: error is %v", err)
	}
	for i, r := range results {
		want := error(nil)
		switch {
		case i == 1:
			want = holdfast.ErrConflict
		case i >= 1000:
			want = holdfast.ErrFull
		}
		if !errors.Is(r.Err, want) {
			t.Fatalf("item %d: %v, want %v", i, r.Err, want)
		}
	}
}

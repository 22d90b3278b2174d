package holdfast_test

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestDeleteQueue: a queue is taken off the list once its jobs are finished, which they stay.
func TestDeleteQueue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t)
	kind := holdfast.NewKind[int, int]("count", holdfast.Queue("mail"))
	job, err := kind.Enqueue(ctx, hf, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := hf.DeleteQueue(ctx, "mail"); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("with a job: %v", err)
	}
	if _, err := hf.Cancel(ctx, "", job.ID); err != nil {
		t.Fatal(err)
	}
	other, err := hf.In("other")
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*holdfast.Client{"mail": other, "male": hf} {
		if err := client.DeleteQueue(ctx, name); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("no queue: %v", err)
		}
	}
	if err := hf.DeleteQueue(ctx, ""); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("no name: %v", err)
	}
	if err := errors.Join(hf.PauseQueue(ctx, "mail"), hf.DeleteQueue(ctx, "mail")); err != nil {
		t.Fatal(err)
	}
	if queues, err := hf.Queues(ctx); err != nil || len(queues) > 0 {
		t.Errorf("the queues are %+v, %v", queues, err)
	}
	if record, err := job.Get(ctx); err != nil || record.Queue != "mail" || record.State != store.Cancelled {
		t.Errorf("the job is %+v, %v", record, err)
	}
	// The pause is over, too.
	if err := kind.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	if job, err = kind.Enqueue(ctx, hf, 2); err != nil {
		t.Fatal(err)
	}
	if n, err := job.Wait(ctx); err != nil || n != 2 {
		t.Errorf("a job of the queue: %d, %v", n, err)
	}
}

// TestUnserved: kinds of the client's namespace that no node claims.
func TestUnserved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t)
	other, err := hf.In("other")
	if err != nil {
		t.Fatal(err)
	}
	for client, kind := range map[*holdfast.Client]string{hf: "here", other: "there"} {
		if _, err := holdfast.NewKind[int, int](kind).Enqueue(ctx, client, 1); err != nil {
			t.Fatal(err)
		}
		found, err := client.Unserved(ctx)
		if err != nil || len(found) != 1 || found[0].Kind != kind || found[0].Namespace != client.Namespace() || found[0].Known {
			t.Errorf("%s: %+v, %v", kind, found, err)
		}
	}
}

package holdfast_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestClientsOfOneDatabase: clients of several namespaces and actors share a database; each
// namespace has its own jobs, keys and node.
func TestClientsOfOneDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here := open(t, holdfast.WithNamespace("here"), holdfast.WithActor("ada"))
		there, err := here.In("there")
		if err != nil {
			t.Fatal(err)
		}
		if here.Namespace() != "here" || there.Namespace() != "there" || there.Actor() != "ada" {
			t.Errorf("the clients are of %s and %s, for %s", here.Namespace(), there.Namespace(), there.Actor())
		}
		kind := holdfast.NewKind[string, string]("where")
		for _, c := range []*holdfast.Client{here, there} {
			err := kind.Handle(c, func(run *holdfast.Run, in string) (string, error) {
				return in + " in " + run.Client().Namespace(), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			run(t, c)
		}
		synctest.Wait()
		one := holdfast.Unique{}
		for _, c := range []*holdfast.Client{here, there, here} {
			job, err := kind.Enqueue(t.Context(), c, "done", one)
			if err != nil || job.Existing {
				t.Fatalf("%+v, %v", job, err)
			}
			if got, err := job.Wait(t.Context()); err != nil || got != "done in "+c.Namespace() {
				t.Errorf("%q, %v", got, err)
			}
		}
		for c, want := range map[*holdfast.Client]int{here: 2, there: 1} {
			if page, err := c.List(t.Context(), store.Filter{}, "", 10); err != nil || len(page.Jobs) != want {
				t.Errorf("%d jobs in %s, want %d: %v", len(page.Jobs), c.Namespace(), want, err)
			}
		}
		if err := there.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if here.Health().Node == 0 || there.Health().Node != 0 {
			t.Errorf("the nodes are %d and %d", here.Health().Node, there.Health().Node)
		}
	})
}

func TestClientOfAnActor(t *testing.T) {
	t.Parallel()
	hf := open(t, holdfast.WithActor("ada"))
	bob, err := hf.As("bob")
	if err != nil {
		t.Fatal(err)
	}
	job, err := holdfast.NewKind[int, int]("k").Enqueue(t.Context(), hf, 1, holdfast.Delay(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Pause(t.Context(), "look first", job.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := hf.Resume(t.Context(), "", job.ID); err != nil {
		t.Fatal(err)
	}
	record, err := job.Get(t.Context())
	if err != nil || len(record.Actions) != 2 || record.Actions[0].Actor != "bob" || record.Actions[1].Actor != "ada" {
		t.Errorf("%+v, %v", record.Actions, err)
	}
	for what, err := range map[string]error{
		"no namespace":    second(hf.In("")),
		"no actor":        second(hf.As("")),
		"a bad namespace": second(hf.In("a\x00b")),
	} {
		if !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := bob.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := holdfast.NewKind[int, int]("k").Enqueue(t.Context(), hf, 1); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("the database was closed by another client: %v", err)
	}
}

// TestNamespaceIsAFence: an id of another namespace does not exist for a client, and a wait for it
// ends at once.
func TestNamespaceIsAFence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		here := open(t)
		there, err := here.In("there")
		if err != nil {
			t.Fatal(err)
		}
		kind, signal := holdfast.NewKind[int, int]("k"), holdfast.NewSignal[int]("go")
		err = kind.Handle(here, func(run *holdfast.Run, _ int) (int, error) {
			if err := run.Publish("key", 1); err != nil {
				return 0, err
			}
			return signal.Wait(run)
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, here)
		job, err := kind.Enqueue(ctx, here, 1)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		id := job.ID
		_, waited := kind.Job(there, id).Wait(ctx)
		_, all := there.WaitAll(ctx, id)
		_, published := there.WaitPublished(ctx, id, "key", 0)
		_, sent := signal.Send(ctx, there, id, 1)
		results, err := there.Resume(ctx, "", id)
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"Get": second(there.Get(ctx, id)), "Why": second(there.Why(ctx, id)), "Wait": waited, "WaitAll": all, "WaitPublished": published,
			"Journal": second(there.Journal(ctx, id)), "Send": sent, "Resume": results[0].Err,
			"Fork":   second(there.Fork(ctx, "", id, holdfast.Fork{})),
			"Cancel": kind.Job(there, id).Cancel(ctx, ""),
		} {
			if !errors.Is(err, holdfast.ErrNotFound) {
				t.Errorf("%s from another namespace: %v", what, err)
			}
		}
		if _, err := signal.Send(ctx, here, id, 7); err != nil {
			t.Fatal(err)
		}
		if got, err := job.Wait(ctx); err != nil || got != 7 {
			t.Errorf("%d, %v", got, err)
		}
		if err := there.Wait(ctx, id); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("the end of a job of another namespace: %v", err)
		}
	})
}

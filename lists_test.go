package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestListsAndCounts: filters by time, args and metadata, orders and counts, through the client.
func TestListsAndCounts(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[order, receipt]("list")
		var ids []holdfast.ID
		for i := range 5 {
			in := order{ID: i, Name: fmt.Sprint("n", i%2)}
			metadata := holdfast.Metadata(map[string]any{"a": map[string]int{"b": i}})
			job, err := kind.Enqueue(ctx, hf, in, holdfast.Delay(time.Duration(10-i)*time.Hour), metadata)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, job.ID)
		}
		want := func(what string, filter store.Filter, sort store.Sort, want ...holdfast.ID) {
			t.Helper()
			var got []holdfast.ID
			for after := ""; ; {
				page, err := hf.ListBy(ctx, sort, filter, after, 2)
				if err != nil {
					t.Fatal(what, err)
				}
				for _, r := range page.Jobs {
					got = append(got, r.ID)
				}
				if after = page.Next; after == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
			if n, err := hf.Count(ctx, filter); err != nil || n != (store.Count{N: len(want)}) {
				t.Errorf("%s: %+v are counted, %v", what, n, err)
			}
		}
		want("oldest", store.Filter{}, store.SortOldest, ids...)
		want("by run time", store.Filter{}, store.SortRunAt, ids[4], ids[3], ids[2], ids[1], ids[0])
		want("args", store.Filter{Args: []store.Match{{Path: "name", Value: json.RawMessage(`"n1"`)}}}, store.SortNewest, ids[3], ids[1])
		want("metadata", store.Filter{Metadata: []store.Match{{Path: "a.b", Value: json.RawMessage(`2.0`)}}}, store.SortNewest, ids[2])
		want("later than now", store.Filter{CreatedAfter: time.Now().Add(time.Hour)}, store.SortNewest)
		want("others' namespace", store.Filter{Namespace: "other"}, store.SortNewest)
		_, err := hf.ListBy(ctx, store.SortFinished, store.Filter{States: []store.State{store.Scheduled}}, "", 1)
		if !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("unfinished jobs by their end: %v", err)
		}
	})
}

// TestTypedRecords: Kind.Get decodes what there is, and tells what it cannot decode.
func TestTypedRecords(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[order, receipt]("typed")
		if err := kind.Handle(hf, func(_ *holdfast.Run, in order) (receipt, error) { return receipt{in.ID * 2}, nil }); err != nil {
			t.Fatal(err)
		}
		job, err := kind.Enqueue(ctx, hf, order{ID: 21})
		if err != nil {
			t.Fatal(err)
		}
		info, err := kind.Get(ctx, hf, job.ID)
		if err != nil || info.State != store.Available || info.Args.ID != 21 || info.Result != (receipt{}) {
			t.Errorf("%+v, %v", info, err)
		}
		run(t, hf)
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if info, err = kind.Get(ctx, hf, job.ID); err != nil || info.State != store.Completed || info.Result.Total != 42 {
			t.Errorf("%+v, %v", info, err)
		}
		_, err = holdfast.NewKind[order, receipt]("other").Get(ctx, hf, job.ID)
		if !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("another kind: %v", err)
		}
		_, err = holdfast.NewKind[[]int, receipt]("typed").Get(ctx, hf, job.ID)
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), job.ID.String()) {
			t.Errorf("other args: %v", err)
		}
		other, err := holdfast.NewKind[order, string]("typed").Get(ctx, hf, job.ID)
		if !errors.Is(err, holdfast.ErrInvalid) || other.Args.ID != 21 {
			t.Errorf("another result: %+v, %v", other, err)
		}
		if _, err = kind.Get(ctx, hf, holdfast.NewID()); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("no job: %v", err)
		}
	})
}

// TestEdit: each option changes what it is about, and nothing else; what cannot be changed is told.
func TestEdit(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[order, receipt]("edited", holdfast.Unique{ByFields: []string{"id"}})
		enqueue := func(opts ...holdfast.EnqueueOption) holdfast.ID {
			t.Helper()
			job, err := kind.Enqueue(ctx, hf, order{ID: 1}, opts...)
			if err != nil {
				t.Fatal(err)
			}
			return job.ID
		}
		id := enqueue(holdfast.Delay(time.Hour), holdfast.Tags("a"))
		before, err := hf.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(2 * time.Hour).Truncate(time.Microsecond).UTC()
		for _, one := range []struct {
			opt   holdfast.EnqueueOption
			wants func(r *store.Record)
		}{
			{holdfast.Priority(1), func(r *store.Record) { r.Priority = 1 }},
			{holdfast.Queue("slow"), func(r *store.Record) { r.Queue = "slow" }},
			{holdfast.RunAt(at), func(r *store.Record) { r.RunAt = at }},
			{holdfast.MaxAttempts(3), func(r *store.Record) { r.MaxAttempts = 3 }},
			{holdfast.Timeout(time.Minute), func(r *store.Record) { r.Options.Timeout = time.Minute }},
			{holdfast.HeartbeatTimeout(time.Minute), func(r *store.Record) { r.Options.Heartbeat = time.Minute }},
			{holdfast.Deadline(at.Add(time.Hour)), func(r *store.Record) { r.Options.Deadline = at.Add(time.Hour) }},
			{holdfast.Deadline(time.Time{}), func(r *store.Record) { r.Options.Deadline = time.Time{} }},
			{holdfast.Tags("b", "c"), func(r *store.Record) { r.Tags = []string{"b", "c"} }},
			{holdfast.Tags(), func(r *store.Record) { r.Tags = nil }},
			{holdfast.Metadata(map[string]int{"n": 1}), func(r *store.Record) { r.Metadata = []byte(`{"n":1}`) }},
		} {
			if err := hf.Edit(ctx, "better so", id, one.opt); err != nil {
				t.Fatal(err)
			}
			one.wants(&before)
			after, err := hf.Get(ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			a := after.Actions[len(after.Actions)-1]
			if a.Kind != store.ActionEdit || a.Reason != "better so" || a.Actor != hf.Actor() {
				t.Errorf("the action is %+v", a)
			}
			before.Actions, after.Actions = nil, nil
			if got, want := fmt.Sprintf("%+v", after), fmt.Sprintf("%+v", before); got != want {
				t.Fatalf("the job is\n%s, want\n%s", got, want)
			}
		}
		// Args, within the unique key and not.
		if err := kind.Edit(ctx, hf, "", id, order{ID: 1, Name: "new"}, holdfast.Delay(0)); err != nil {
			t.Fatal(err)
		}
		if info, err := kind.Get(ctx, hf, id); err != nil || info.Args.Name != "new" || info.State != store.Available {
			t.Errorf("%+v, %v", info, err)
		}
		if err := hf.EditTags(ctx, "", id, []string{"x", "y"}, []string{"y"}); err != nil {
			t.Fatal(err)
		}
		if r, err := hf.Get(ctx, id); err != nil || !slices.Equal(r.Tags, []string{"x"}) {
			t.Errorf("the tags are %q, %v", r.Tags, err)
		}
		other := holdfast.NewKind[order, receipt]("other")
		for what, one := range map[string]struct{ err, want error }{
			"another key":       {kind.Edit(ctx, hf, "", id, order{ID: 2}), holdfast.ErrConflict},
			"a key not told of": {hf.EditArgs(ctx, "", id, json.RawMessage(`{"id":1}`)), holdfast.ErrConflict},
			"another kind":      {other.Edit(ctx, hf, "", id, order{ID: 1}), holdfast.ErrConflict},
			"no JSON":           {hf.EditArgs(ctx, "", id, json.RawMessage(`{`)), holdfast.ErrInvalid},
			"an ordering key":   {hf.Edit(ctx, "", id, holdfast.OrderingKey("k")), holdfast.ErrInvalid},
			"no option":         {hf.Edit(ctx, "", id), holdfast.ErrInvalid},
			"no option in some": {hf.Edit(ctx, "", id, holdfast.Options()), holdfast.ErrInvalid},
			"an id":             {hf.Edit(ctx, "", id, holdfast.JobID(holdfast.NewID())), holdfast.ErrInvalid},
			"a unique key":      {hf.Edit(ctx, "", id, holdfast.Unique{}), holdfast.ErrInvalid},
			"a past deadline":   {hf.Edit(ctx, "", id, holdfast.Deadline(time.Now().Add(-time.Hour))), holdfast.ErrInvalid},
			"a wrong option":    {hf.Edit(ctx, "", id, holdfast.Priority(9)), holdfast.ErrInvalid},
			"no job":            {hf.Edit(ctx, "", holdfast.NewID(), holdfast.Priority(1)), holdfast.ErrNotFound},
			"a wrong tag":       {hf.EditTags(ctx, "", id, []string{""}, nil), holdfast.ErrInvalid},
		} {
			if !errors.Is(one.err, one.want) {
				t.Errorf("%s: %v, want %v", what, one.err, one.want)
			}
		}
		if _, err := hf.Cancel(ctx, "", id); err != nil {
			t.Fatal(err)
		}
		if err := hf.Edit(ctx, "", id, holdfast.Priority(1)); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a finished job: %v", err)
		}
		if err := hf.Edit(ctx, "", id, holdfast.Tags("late")); err != nil {
			t.Errorf("tags of a finished job: %v", err)
		}
	})
}

// TestEditWakes: a job that people make due runs at once, on a node that waits for its time.
func TestEditWakes(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		began := time.Now()
		kind := holdfast.NewKind[int, time.Duration]("woken")
		if err := kind.Handle(f.hf, func(*holdfast.Run, int) (time.Duration, error) { return time.Since(began), nil }); err != nil {
			t.Fatal(err)
		}
		f.run()
		job, err := kind.Enqueue(t.Context(), f.hf, 1, holdfast.Delay(24*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.hf.Edit(t.Context(), "", job.ID, holdfast.Delay(0)); err != nil {
			t.Fatal(err)
		}
		if took := result(f, job); took > time.Second {
			t.Errorf("it ran after %v", took)
		}
	})
}

// TestDelete: finished jobs go, with all that is known of them; others stay.
func TestDelete(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), openOn(t, source)
		kind := holdfast.NewKind[int, int]("deleted", holdfast.Unique{ByArgs: true, While: store.States})
		err := kind.Handle(hf, func(run *holdfast.Run, in int) (int, error) {
			return holdfast.Step(run, "one", func(context.Context) (int, error) { return in, nil })
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(ctx, hf, 7)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		waits, err := kind.Enqueue(ctx, hf, 8, holdfast.Delay(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		unknown := holdfast.NewID()
		results, err := hf.Delete(ctx, "no longer needed", job.ID, waits.ID, unknown)
		if err != nil || len(results) != 3 || results[0].Err != nil || results[0].State != store.Completed ||
			!errors.Is(results[1].Err, holdfast.ErrConflict) || !errors.Is(results[2].Err, holdfast.ErrNotFound) {
			t.Fatalf("%+v, %v", results, err)
		}
		if _, err := job.Get(ctx); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("a deleted job: %v", err)
		}
		if _, err := job.Wait(ctx); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("the result of a deleted job: %v", err)
		}
		again, err := kind.Enqueue(ctx, hf, 7)
		if err != nil || again.Existing {
			t.Errorf("its key is still taken: %+v, %v", again, err)
		}
	})
}

package limit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// waitingOf counts the jobs of keys of the limit tenant that wait in the queue mail.
func waitingOf(t *testing.T, source store.Source, keys ...string) []int {
	t.Helper()
	st, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	params := store.WaitingOfKeysParams{Namespace: "default", Queue: "mail", Most: 1000}
	for _, key := range keys {
		params.Keys = append(params.Keys, store.KeyOfLimit{Limit: "tenant", Key: key})
	}
	counts, err := st.WaitingOfKeys(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

// mail is a job of each key; "" is none.
func mail(keys ...string) (items []holdfast.BatchItem) {
	for _, key := range keys {
		opts := []holdfast.EnqueueOption{holdfast.Queue("mail")}
		if key != "" {
			opts = append(opts, limit.By("tenant", key))
		}
		items = append(items, light.Item(0, opts...))
	}
	return items
}

// TestBacklogOfKey: each key has a bound of its own, which is told; what has none is not bounded,
// nor is another queue; an enqueue is refused as a whole; there is room again once jobs have run.
func TestBacklogOfKey(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf := open(t, source, limit.BacklogOfKey("mail", 3))
		into := func(keys ...string) error { _, err := hf.EnqueueBatch(ctx, mail(keys...)); return err }
		if err := errors.Join(into("a", "a", "b"), into("a", "b", "", "", "", "", ""), into("", "")); err != nil {
			t.Fatal(err)
		}
		if _, err := light.Enqueue(ctx, hf, 0, limit.By("tenant", "a")); err != nil {
			t.Fatalf("another queue: %v", err)
		}
		if _, err := light.Enqueue(ctx, hf, 0, holdfast.Queue("mail"), limit.By("region", "a")); err != nil {
			t.Fatalf("the same key of another limit: %v", err)
		}
		err := into("b", "c", "a", "")
		full, ok := errors.AsType[*limit.BacklogError](err)
		want := limit.BacklogError{Namespace: "default", Queue: "mail", Limit: "tenant", Key: "a", Waiting: 3, Most: 3}
		if !ok || !errors.Is(err, store.ErrConflict) || *full != want {
			t.Fatal(err)
		}
		if !strings.Contains(err.Error(), `3 jobs of the key "a" of the limit "tenant" wait in the queue "mail", which is bounded to 3`) {
			t.Error(err)
		}
		if got := fmt.Sprint(waitingOf(t, source, "a", "b", "c")); got != "[3 2 0]" {
			t.Fatal(got)
		}
		// Another client counts, too.
		second := open(t, source, limit.BacklogOfKey("mail", 4))
		if _, err := second.EnqueueBatch(ctx, mail("a", "c")); err != nil {
			t.Fatal(err)
		}
		if _, err := second.EnqueueBatch(ctx, mail("c", "a")); !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
		if err := light.Handle(second, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := second.Start(ctx); err != nil {
			t.Fatal(err)
		}
		eventually(t, "there is room again", func() bool { return into("a", "a", "c") == nil })
	})
}

// TestBacklogsTogether: of the bounds of the queue and of its keys each holds, and one that refuses
// leaves the room of the others.
func TestBacklogsTogether(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source, limit.Backlog("mail", 4), limit.BacklogOfKey("mail", 2))
		into := func(keys ...string) string {
			_, err := hf.EnqueueBatch(t.Context(), mail(keys...))
			full, _ := errors.AsType[*limit.BacklogError](err)
			if err == nil || full == nil {
				return fmt.Sprint(err)
			}
			return fmt.Sprintf("%q has %d of %d", full.Key, full.Waiting, full.Most)
		}
		for i, c := range []struct{ keys, want string }{
			{"a,a,a", `"a" has 1 of 2`}, // at least one, of three
			{"a,a", "<nil>"},
			{"b,a", `"a" has 2 of 2`},
			{"b,b,c", `"" has 2 of 4`},
			{"b,c", "<nil>"},
			{"b", `"" has 4 of 4`},
		} {
			if got := into(strings.Split(c.keys, ",")...); got != c.want {
				t.Fatalf("%d: %s: %s", i, c.keys, got)
			}
		}
	})
}

// TestBacklogOfKeyGivesUp: who gives up is told why.
func TestBacklogOfKeyGivesUp(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source, limit.BacklogOfKeyWait("mail", 1))
		if _, err := hf.EnqueueBatch(t.Context(), mail("a", "b")); err != nil {
			t.Fatal(err)
		}
		full := givesUp(t, func(ctx context.Context) error {
			_, err := hf.EnqueueBatch(ctx, mail("c", "b"))
			return err
		})
		if full.Key != "b" {
			t.Error(full)
		}
		if _, err := hf.EnqueueBatch(t.Context(), mail("d", "d")); !errors.Is(err, store.ErrConflict) {
			t.Errorf("more than ever have room: %v", err)
		}
		if got := fmt.Sprint(waitingOf(t, source, "a", "b", "c", "d")); got != "[1 1 0 0]" {
			t.Error(got)
		}
	})
}

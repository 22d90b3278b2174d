package workers

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

func someRun() *run {
	c := store.Claimed{
		Job: store.Job{
			Namespace: "shop", Queue: "mail", Kind: "notify", Attempt: 3, Parent: store.ID{7}, Answers: true, UniqueKey: []byte("u"),
			OrderingKey: "o", Options: store.Options{Key: "k"},
		},
		Lease:     store.Lease{Job: store.ID{1, 2, 3}, Number: 1 << 40, Node: 9, Claim: 1 << 61, Slot: 59},
		ClaimedAt: time.UnixMilli(1_800_000_000_123), Durable: true, HasSuccessors: true, CancelRequested: true,
	}
	return (&worker{Journal: 1}).runOf(&c)
}

// TestRunToken: what a token carries is what outcomes have to carry.
func TestRunToken(t *testing.T) {
	t.Parallel()
	r := someRun()
	got, err := parseRun(r.bytes())
	if diff := cmp.Diff(r, got); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	for _, f := range got.flags() {
		if !*f {
			t.Error("a flag is lost")
		}
		*f = false
	}
	if again, err := parseRun(got.bytes()); err != nil || cmp.Diff(got, again) != "" {
		t.Error(err, cmp.Diff(got, again))
	}
	c := store.Claimed{
		Job: store.Job{
			Namespace: "shop", Queue: "mail", Parent: store.ID{7}, Answers: true, UniqueKey: []byte("u"), OrderingKey: "o",
			Options: store.Options{Key: "k"},
		},
		Lease: r.Lease, Durable: true, HasSuccessors: true,
	}
	want := c.Outcome(store.Completed)
	want.StartedAt, want.HasChildren, want.CancelSeen = r.Started, true, true
	if diff := cmp.Diff(want, r.outcome(store.Completed)); diff != "" {
		t.Error(diff)
	}
}

// FuzzRunToken: whatever bytes there are, none of them are read amiss.
func FuzzRunToken(f *testing.F) {
	f.Add(someRun().bytes())
	f.Add((&run{}).bytes())
	f.Add([]byte{runForm})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRun(data)
		if err != nil {
			return
		}
		again, err := parseRun(r.bytes())
		if err != nil || !bytes.Equal(r.bytes(), again.bytes()) {
			t.Errorf("%x is read as %+v and as %+v, %v", data, r, again, err)
		}
	})
}

package limit_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestFairShare: a node that uses all slots of a limit comes to share them with one that starts
// later, by giving some back as its jobs end; and gets them again when that one is gone. All jobs
// run.
func TestFairShare(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		first := newCluster(t, source, 1, holdfast.WithSlots(20))
		hf := first.nodes[0]
		if _, err := limit.Sync(t.Context(), hf, limit.OfQueue("imports", limit.Capacity(6), limit.FairShare())); err != nil {
			t.Fatal(err)
		}
		first.start()
		held := func(what string, want ...int) {
			t.Helper()
			until := time.After(time.Minute)
			for {
				l := set(t)(limit.Get(t.Context(), hf, limit.QueueName("imports")))
				is := len(l.Holders) == len(want)
				for i := range want {
					is = is && l.Holders[i].Slots == want[i]
				}
				if is {
					return
				}
				select {
				case <-time.After(5 * time.Millisecond):
				case <-until:
					t.Fatalf("%s nodes hold %+v, and wish for %+v; want %v", what, l.Holders, l.Wishes, want)
				}
			}
		}
		// However long it takes until the second one has started, there is more to do.
		enough, fed := make(chan struct{}), make(chan []holdfast.ID)
		go func() { fed <- first.keepEnqueued(light, 100, 20*time.Millisecond, enough, holdfast.Queue("imports")) }()
		stop := sync.OnceValue(func() []holdfast.ID { close(enough); return <-fed })
		defer stop()
		held("one alone", 6)
		second := newCluster(t, source, 1, holdfast.WithSlots(20))
		second.start()
		held("two", 3, 3)
		if err := second.nodes[0].Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		held("one again", 6)
		first.finish(stop())
	})
}

// TestFairShareIsASetting: it is set, kept by changes of other things, and taken away; and it needs
// a capacity that is not that of a key.
func TestFairShareIsASetting(t *testing.T) {
	t.Parallel()
	hf := open(t, sqlite.File(sqlite.Memory))
	change := func(opts ...limit.Option) store.Limit {
		t.Helper()
		return set(t)(limit.Set(t.Context(), hf, "gpu", opts...))
	}
	if l := change(limit.Capacity(8), limit.Weight("train", 4), limit.FairShare()); !l.Fair || l.Unit() != 4 {
		t.Errorf("it is %+v", l)
	}
	if l := change(limit.Capacity(12)); !l.Fair {
		t.Errorf("with another capacity it is %+v", l)
	}
	if l := change(limit.NoFairShare()); l.Fair {
		t.Errorf("it is %+v", l)
	}
	change(limit.FairShare())
	if l := change(limit.NoCapacity(), limit.Rate(1, time.Second)); l.Fair {
		t.Errorf("without a capacity it is %+v", l)
	}
	for words, opts := range map[string][]limit.Option{
		"per key and has a fair share": {limit.Capacity(1), limit.PerKey(), limit.FairShare()},
		"no capacity that nodes could": {limit.Rate(1, time.Second), limit.FairShare()},
	} {
		if _, err := limit.Set(t.Context(), hf, "bad", opts...); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want an ErrInvalid with %q", err, words)
		}
	}
}

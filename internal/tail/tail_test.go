package tail_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/holdfastdev/holdfast/internal/tail"
	"github.com/holdfastdev/holdfast/store"
)

// counted is a feed that is written by hand.
type counted struct {
	store.Feed // of which nothing else is called

	mu     sync.Mutex
	life   int64
	oldest int64
	last   int64
	reads  int
	orders int
	fails  error
}

func (f *counted) OrderFeed(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders++
	return f.fails
}

func (f *counted) ReadFeed(_ context.Context, params store.FeedParams) (store.FeedPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	at := func(n int64) store.FeedPosition { return store.FeedPosition{Life: f.life, Count: n} }
	status := store.FeedStatus{On: f.life != 0, Oldest: at(f.oldest), Newest: at(f.last)}
	if err := status.CheckFeed(params.After); err != nil {
		return store.FeedPage{}, err
	}
	var changes []store.Change
	for n := max(params.After.Count, f.oldest) + 1; n <= f.last && len(changes) < params.Limit; n++ {
		changes = append(changes, store.Change{Position: at(n), State: store.Available})
	}
	return status.Page(params.After, changes), nil
}

func (f *counted) write(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last += n
}

// follow reads n changes after a position, and checks that they are the next ones.
func follow(ctx context.Context, t *tail.Tail, from store.FeedPosition, n int64) (store.FeedPosition, error) {
	for got := int64(0); got < n; {
		changes, next, err := t.After(ctx, from)
		if err != nil {
			return from, err
		}
		for i, c := range changes {
			if want := from.Count + int64(i) + 1; c.Position.Count != want {
				return from, fmt.Errorf("got %v, want number %d", c.Position, want)
			}
		}
		got += int64(len(changes))
		from = next
	}
	return from, nil
}

// TestReadersShare: a hundred readers that have caught up cost what one costs.
func TestReadersShare(t *testing.T) {
	t.Parallel()
	cost := func(readers int) (reads int) {
		synctest.Test(t, func(t *testing.T) {
			f := &counted{life: 1}
			shared := tail.New(f)
			var all sync.WaitGroup
			for range readers {
				all.Go(func() {
					if _, err := follow(t.Context(), shared, store.FeedPosition{Life: 1}, 500); err != nil {
						t.Error(err)
					}
				})
			}
			for range 50 {
				time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
				f.write(10)
			}
			all.Wait()
			reads = f.reads
		})
		return reads
	}
	one, many := cost(1), cost(100)
	t.Logf("reads of one reader: %d, of a hundred: %d", one, many)
	if one < 50 || many > one+200 { // each looks once before it waits
		t.Fatalf("a hundred readers read %d times, one %d", many, one)
	}
}

// TestNothingIsReadForNobody: when the last reader has gone the database is left alone.
func TestNothingIsReadForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &counted{life: 1}
		shared := tail.New(f)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := follow(ctx, shared, store.FeedPosition{}, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		before := f.reads
		if before < 20 {
			t.Fatalf("it was read %d times in a second", before)
		}
		time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		if f.reads != before {
			t.Fatalf("it was read %d times for nobody", f.reads-before)
		}
	})
}

// TestAReaderGoesInTheMiddle: the others go on when the one whose round it is goes away.
func TestAReaderGoesInTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &counted{life: 1}
		shared := tail.New(f)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = follow(ctx, shared, store.FeedPosition{Life: 1}, 1) })
		synctest.Wait()
		all.Go(func() {
			if _, err := follow(t.Context(), shared, store.FeedPosition{Life: 1}, 1); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		f.write(1)
		all.Wait()
	})
}

// TestSlowReaders: a reader that is far behind misses nothing that is kept, and is told if it
// does.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &counted{life: 1}
		shared := tail.New(f)
		f.write(5)
		slow, err := follow(t.Context(), shared, store.FeedPosition{}, 5)
		if err != nil {
			t.Fatal(err)
		}
		f.write(3 * tail.Kept)
		if _, err := follow(t.Context(), shared, slow, 3*tail.Kept); err != nil { // another one, which is quick
			t.Fatal(err)
		}
		if _, err := follow(t.Context(), shared, slow, 3*tail.Kept); err != nil {
			t.Fatal(err)
		}
		f.oldest = slow.Count + 1
		_, err = follow(t.Context(), shared, slow, 1)
		if reset, ok := errors.AsType[*store.FeedResetError](err); !ok || reset.Oldest.Count != f.oldest {
			t.Fatalf("after what is gone: %v", err)
		}
	})
}

// TestLivesAndFailures: who waits learns that the feed is off, has begun anew, or fails, and may go
// on.
func TestLivesAndFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &counted{life: 1}
		shared := tail.New(f)
		f.write(5)
		at, err := follow(t.Context(), shared, store.FeedPosition{}, 5)
		if err != nil {
			t.Fatal(err)
		}
		f.fails = store.ErrUnavailable
		if _, err := follow(t.Context(), shared, at, 1); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("while the database is away: %v", err)
		}
		f.fails = nil
		f.write(1)
		if at, err = follow(t.Context(), shared, at, 1); err != nil {
			t.Fatal(err)
		}
		f.life, f.last = 0, 0
		if _, err := follow(t.Context(), shared, at, 1); !errors.Is(err, store.ErrFeedOff) {
			t.Fatalf("while it is off: %v", err)
		}
		f.life = 2
		f.write(20)
		if _, err := follow(t.Context(), shared, at, 1); !errors.Is(err, store.ErrFeedReset) {
			t.Fatalf("in another life: %v", err)
		}
		if _, err := follow(t.Context(), shared, store.FeedPosition{}, 20); err != nil {
			t.Fatal(err)
		}
	})
}

// TestABacklogIsReadAtOnce: a reader that has caught up, and then finds much, does not wait between
// its pages.
func TestABacklogIsReadAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &counted{life: 1}
		shared := tail.New(f)
		f.write(1)
		at, err := follow(t.Context(), shared, store.FeedPosition{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		var reader sync.WaitGroup
		began := time.Now()
		reader.Go(func() {
			if _, err := follow(t.Context(), shared, at, 100_000); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		f.write(100_000)
		reader.Wait()
		if took := time.Since(began); took > 3*tail.Interval {
			t.Fatalf("it took %v", took)
		}
	})
}

// TestRoundsCopyLittle: what is kept is not copied with each round that reads a change.
func TestRoundsCopyLittle(t *testing.T) { //nolint:paralleltest // it measures what the process allocates
	synctest.Test(t, func(t *testing.T) {
		const first, rounds = tail.Kept + 1000, 50
		f := &counted{life: 1}
		shared := tail.New(f)
		var reader sync.WaitGroup
		reader.Go(func() {
			if _, err := follow(t.Context(), shared, store.FeedPosition{Life: 1}, first+rounds); err != nil {
				t.Error(err)
			}
		})
		write := func(changes int64) {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
			f.write(changes)
		}
		for range first / 1000 {
			write(1000)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			write(1)
		}
		reader.Wait()
		runtime.ReadMemStats(&after)
		all := uint64(tail.Kept * int(unsafe.Sizeof(store.Change{})))
		if took := after.TotalAlloc - before.TotalAlloc; took > rounds*all/4 {
			t.Errorf("%d rounds took %d bytes; all that is kept has %d", rounds, took, all)
		}
	})
}

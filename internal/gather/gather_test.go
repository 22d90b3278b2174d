package gather

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// bed is a group whose calls take a second, and what it was called with.
type bed struct {
	*Group[int]

	mu    sync.Mutex
	calls [][]int
}

func newBed(most int, wait time.Duration) *bed {
	b := &bed{}
	b.Group = New(most, wait, func(members []int) {
		b.mu.Lock()
		b.calls = append(b.calls, members)
		b.mu.Unlock()
		time.Sleep(time.Second)
	})
	return b
}

func lease(n int) store.Lease { return store.Lease{Number: 1, Node: 1, Claim: int64(n), Slot: 0} }

// expect tells of runs.
func (b *bed) expect(runs ...int) {
	for _, n := range runs {
		b.Expect(lease(n))
	}
}

// join has runs join, and leave when they have been worked.
func (b *bed) join(ctx context.Context, runs ...int) {
	for _, n := range runs {
		go func() {
			b.Join(ctx, lease(n), n)
			b.Left(lease(n))
		}()
	}
	synctest.Wait()
}

// want checks what was called, and that nothing is remembered when all have left.
func (b *bed) want(t *testing.T, calls ...[]int) {
	t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.EqualFunc(b.calls, calls, slices.Equal[[]int]) {
		t.Errorf("the calls are %v, want %v", b.calls, calls)
	}
}

// over checks that nothing is remembered.
func (b *bed) over(t *testing.T) {
	t.Helper()
	synctest.Wait()
	b.Group.mu.Lock()
	defer b.Group.mu.Unlock()
	if len(b.coming)+len(b.inside) > 0 || b.open != nil {
		t.Errorf("coming are %v, inside %v, open %v", b.coming, b.inside, b.open)
	}
}

// TestBatchBeginsWhenAllHaveCome: in the order of their claims, whoever comes first.
func TestBatchBeginsWhenAllHaveCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(10, 0)
		b.expect(1, 2, 3, 4)
		b.join(t.Context(), 3)
		b.join(t.Context(), 1)
		b.want(t)
		b.Left(lease(4)) // it must not run
		b.want(t)
		b.join(t.Context(), 2)
		b.want(t, []int{1, 2, 3})
		time.Sleep(2 * time.Second)
		b.over(t)
		b.join(t.Context(), 5) // whom it was not told of
		b.want(t, []int{1, 2, 3}, []int{5})
		time.Sleep(2 * time.Second)
		b.over(t)
	})
}

// TestFullBatchWaitsForNothing: nor does what is left over begin with it.
func TestFullBatchWaitsForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(2, time.Minute)
		b.expect(1, 2, 3)
		b.join(t.Context(), 1)
		b.join(t.Context(), 2)
		b.want(t, []int{1, 2})
		b.join(t.Context(), 3)
		time.Sleep(59 * time.Second)
		b.want(t, []int{1, 2})
		time.Sleep(2 * time.Second)
		b.want(t, []int{1, 2}, []int{3})
		time.Sleep(2 * time.Second)
		b.over(t)
	})
}

// TestSlotsThatArePassedOn: as long as the runs of a batch have not left, their slots may bring
// more.
func TestSlotsThatArePassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(10, 0)
		b.expect(1, 2)
		left := map[int]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}
		for n := range left {
			go func() {
				b.Join(t.Context(), lease(n), n)
				<-left[n]
				b.expect(10 + n)
				b.Left(lease(n))
			}()
		}
		time.Sleep(2 * time.Second)
		close(left[1])
		synctest.Wait()
		b.join(t.Context(), 11)
		b.want(t, []int{1, 2})
		close(left[2])
		synctest.Wait()
		b.join(t.Context(), 12)
		b.want(t, []int{1, 2}, []int{11, 12})
		time.Sleep(2 * time.Second)
		b.over(t)
	})
}

// TestOneThatIsHeldUp: the others wait for a second, after their own wait.
func TestOneThatIsHeldUp(t *testing.T) {
	for _, wait := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(10, wait)
			b.expect(1, 2)
			b.join(t.Context(), 1)
			time.Sleep(wait + patience - time.Millisecond)
			b.want(t)
			time.Sleep(2 * time.Millisecond)
			b.want(t, []int{1})
			b.join(t.Context(), 2)
			time.Sleep(wait + 3*time.Second)
			b.want(t, []int{1}, []int{2})
			b.over(t)
		})
	}
}

// TestOneThatGivesUp: it is in no batch, and an empty one is none.
func TestOneThatGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(10, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		b.join(ctx, 1)
		b.join(t.Context(), 2)
		cancel()
		time.Sleep(time.Minute)
		b.want(t, []int{2})
		time.Sleep(2 * time.Second)
		b.over(t)
		gone, cancel := context.WithCancel(t.Context())
		b.join(gone, 3)
		cancel()
		b.over(t)
		time.Sleep(time.Hour)
		b.want(t, []int{2})
	})
}

// TestOneThatIsTakenAway: a run that has left while it is worked brings nothing.
func TestOneThatIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(10, 0)
		go b.Join(t.Context(), lease(1), 1)
		synctest.Wait()
		b.Left(lease(1))
		time.Sleep(2 * time.Second)
		b.over(t)
	})
}

// TestHurry: what waits begins, and what comes waits for nothing, until that ends.
func TestHurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(10, time.Hour)
		b.join(t.Context(), 1)
		b.want(t)
		b.Hurry(true)
		b.want(t, []int{1})
		time.Sleep(2 * time.Second)
		b.expect(2, 3)
		b.join(t.Context(), 2)
		b.want(t, []int{1})
		b.join(t.Context(), 3)
		b.want(t, []int{1}, []int{2, 3})
		time.Sleep(2 * time.Second)
		b.Hurry(false)
		b.join(t.Context(), 4)
		b.want(t, []int{1}, []int{2, 3})
		time.Sleep(2 * time.Hour)
		b.want(t, []int{1}, []int{2, 3}, []int{4})
		b.over(t)
	})
}

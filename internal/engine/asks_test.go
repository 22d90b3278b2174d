package engine

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/store"
)

// TestClaimGrowsAgain: claims that became small on a slow line grow again when the line is good.
func TestClaimGrowsAgain(t *testing.T) {
	a := asks{Portion: portion.New(1000, time.Second)}
	params := store.ClaimParams{Limit: 100}
	for range 10 {
		a.repeat(&params, claimTimeout(5*time.Second))
	}
	if !params.Repeat || params.Sent != 100 || params.Limit != 1 || a.limit() != 1 {
		t.Errorf("after failures: %+v, then %d", params, a.limit())
	}
	large := make([]store.Claimed, 1000)
	for i := range large {
		large[i].Job.Args = make([]byte, 64<<10)
	}
	for range 20 {
		a.answered(large[:a.limit()], time.Millisecond)
	}
	if n := a.limit(); n < 10 || n > 16 {
		t.Errorf("%d at once of 64 KiB", n)
	}
	for range 30 {
		a.answered(make([]store.Claimed, a.limit()), time.Millisecond)
	}
	if n := a.limit(); n != 1000 {
		t.Errorf("%d at once of small ones", n)
	}
}

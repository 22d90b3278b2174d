package store_test

import (
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTurns: each of n shards is the first in turn about as often as the others, of the claims of a
// node, and of those of a worker's polls, whose numbers grow by 1<<30.
func TestTurns(t *testing.T) {
	t.Parallel()
	for _, step := range []int64{1, 2, 3, 4, 1 << 30, 2 << 30} {
		for _, n := range []int64{2, 3, 8, 16, 61, 64} {
			t.Run(fmt.Sprint(n, " in steps of ", step), func(t *testing.T) {
				t.Parallel()
				first := make([]int, n)
				for i := range 20 * n {
					p := store.ClaimParams{Seq: 1 + i*step}
					turn := p.Turn()
					if turn < 0 || turn >= 1<<32 {
						t.Fatal(turn)
					}
					first[turn*n>>32]++
				}
				for shard, times := range first {
					if times < 10 || times > 30 {
						t.Errorf("of %d claims shard %d is the first of %d, not of about 20", 20*n, shard, times)
					}
				}
			})
		}
	}
}

package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestDemands: few demands and many are found alike, and as the words of QueueDemand say.
func TestDemands(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	name := func(letter string) string {
		if n := random.IntN(4); n > 0 {
			return fmt.Sprint(letter, n)
		}
		return ""
	}
	for range 2000 {
		var list []QueueDemand
		has := map[[2]string]int{}
		for range random.IntN(12) {
			d := QueueDemand{Name: name("q"), Kind: name("k"), Limit: random.IntN(3)}
			if _, known := has[[2]string{d.Name, d.Kind}]; !known {
				has[[2]string{d.Name, d.Kind}] = len(list)
				list = append(list, d)
			}
		}
		demands := NewDemands(list)
		for q := range 5 {
			for k := range 5 {
				queue, kind := fmt.Sprint("q", q), fmt.Sprint("k", k)
				want := -1
				for _, key := range [][2]string{{"", ""}, {"", kind}, {queue, ""}, {queue, kind}} {
					if i, ok := has[key]; ok {
						want = i
					}
				}
				if got, also := DemandFor(list, queue, kind), demands.For(queue, kind); got != want || also != want {
					t.Fatalf("%v: jobs of %s in %s count in %d and %d, want %d", list, kind, queue, got, also, want)
				}
			}
		}
	}
}

package api_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// TestFill: page after page has all items, once and in order; no page but one of a single portion
// has much more than 8 MiB, and none is short without a reason.
func TestFill(t *testing.T) {
	t.Parallel()
	const most, payload = 8 << 20, 1 << 20
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 10, 1000, 100_000, payload}), 0, 300).Draw(t, "sizes")
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		size := func(n *int) int { return *n }
		var all []int
		for more := true; more; {
			reads, last := 0, 0
			page, goesOn, err := api.Fill(limit, size, func(n int) ([]int, bool, error) {
				from := len(all) + last
				to := min(from+n, len(sizes))
				reads, last = reads+1, last+to-from
				return sizes[from:to], to < len(sizes), nil
			})
			bytes := 0
			for _, n := range page {
				bytes += n
			}
			switch {
			case err != nil || len(page) != last || len(page) > limit:
				t.Fatalf("a page of %d of %d items, of which %d were read: %v", len(page), limit, last, err)
			case goesOn && len(page) < limit && bytes < most:
				t.Fatalf("a page of %d items with %d bytes, although there are more", len(page), bytes)
			case bytes > most+64*payload:
				t.Fatalf("a page of %d bytes", bytes)
			case bytes < most/10 && reads > 1+(max(limit-16, 0)+63)/64:
				t.Fatalf("%d reads of %d items", reads, len(page))
			}
			all, more = append(all, page...), goesOn
		}
		if !slices.Equal(all, sizes) {
			t.Fatalf("all pages have %v, want %v", all, sizes)
		}
	})
}

package storetest

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// ListedBoth counts the jobs of the default namespace by pages in both orders, newest and oldest
// first. The test fails if one order has a job that the other has not, or one twice.
func ListedBoth(t *testing.T, s store.Store) (n int) {
	t.Helper()
	seen := map[store.ID][2]int{}
	for order, sort := range []store.Sort{store.SortNewest, store.SortOldest} {
		params := store.ListParams{Filter: store.Filter{Namespace: "default"}, Sort: sort, Limit: 700}
		for pages := 0; ; pages++ {
			page, err := s.List(t.Context(), params)
			if err != nil || pages > 1000 {
				t.Fatal(pages, err)
			}
			for i := range page.Jobs {
				times := seen[page.Jobs[i].ID]
				times[order]++
				seen[page.Jobs[i].ID] = times
			}
			if params.After = page.Next; params.After == "" {
				break
			}
		}
	}
	for id, times := range seen {
		if times != [2]int{1, 1} {
			t.Fatalf("%v is listed %d times newest first, and %d times oldest first", id, times[0], times[1])
		}
	}
	return len(seen)
}

package storetest

import (
	"os"
	"strconv"
	"testing"

	"github.com/holdfastdev/holdfast/internal/benchsize"
	"github.com/holdfastdev/holdfast/store"
)

// BenchJobs is how many finished jobs a benchmark of lists has: a million, or as many as
// HOLDFAST_BENCH_JOBS says.
func BenchJobs(b *testing.B) int {
	b.Helper()
	text := os.Getenv("HOLDFAST_BENCH_JOBS")
	if text == "" {
		return benchsize.Of(1_000_000, 20_000)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		b.Fatalf("HOLDFAST_BENCH_JOBS is %q, which is not a number from 1000 on", text)
	}
	return n
}

// DeclareForBench declares the search attributes of BenchmarkListByAttribute.
func DeclareForBench(b *testing.B, s store.Store) {
	b.Helper()
	for _, a := range []store.DeclaredAttribute{{Name: "customer", Type: store.AttributeKeyword}, {Name: "amount", Type: store.AttributeInt}} {
		params := store.DeclareAttributesParams{Namespace: "default", Attributes: []store.DeclaredAttribute{a}}
		if err := s.DeclareAttributes(b.Context(), params); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkListByAttribute lists pages of fifty jobs by their search attributes; from is an amount
// that the last fifty have or exceed.
func BenchmarkListByAttribute(b *testing.B, s store.Store, from store.AttributeValue) {
	b.Helper()
	few := store.AttributeMatch{Name: "customer", Op: store.AttributeIs, Value: store.KeywordValue("few")}
	many := store.AttributeMatch{Name: "customer", Op: store.AttributeIs, Value: store.KeywordValue("many")}
	last := store.AttributeMatch{Name: "amount", Op: store.AttributeAbove, Value: from}
	for name, of := range map[string]struct {
		all  []store.AttributeMatch
		sort store.Sort
		want int
	}{
		"few":        {[]store.AttributeMatch{few}, store.SortNewest, 50},
		"many":       {[]store.AttributeMatch{many}, store.SortNewest, 50},
		"oldest":     {[]store.AttributeMatch{many}, store.SortOldest, 50},
		"range":      {[]store.AttributeMatch{last}, store.SortNewest, 50},
		"both":       {[]store.AttributeMatch{many, last}, store.SortNewest, 25},
		"finished":   {[]store.AttributeMatch{few}, store.SortFinished, 50},
		"everything": {nil, store.SortNewest, 50},
	} {
		b.Run(name, func(b *testing.B) {
			params := store.ListParams{Filter: store.Filter{Namespace: "default", Attributes: of.all}, Sort: of.sort, Limit: 50}
			for b.Loop() {
				page, err := s.List(b.Context(), params)
				if err != nil || len(page.Jobs) != of.want {
					b.Fatal(len(page.Jobs), err)
				}
			}
		})
	}
}

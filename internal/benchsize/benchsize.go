// Package benchsize lets benchmarks prepare less where they only have to work, and
// their figures are not read: with HOLDFAST_BENCH_SMALL set, as scripts/soak runs them.
//
// # Imports
//
// Nothing of ours.
package benchsize

import "os"

// Of returns n, or a smaller number where the figures are not read.
func Of(n, small int) int {
	if os.Getenv("HOLDFAST_BENCH_SMALL") != "" {
		return small
	}
	return n
}

// Package benchsize lets benchmarks prepare less where they only have to work, and
// their figures are not read: with -short, as scripts/test runs them.
//
// # Imports
//
// Nothing of ours.
package benchsize

import "testing"

// Of returns n, or with -short a smaller number.
func Of(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

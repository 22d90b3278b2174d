// Package racing is for tests that need not all run under the race detector.
//
// Each test runs under it, unless the test says otherwise by one of these functions. One may say so
// that starts no goroutines, such as a story that is told step by step, or whose goroutines another
// test under the detector has at work as well: the comment beside the call says which. What takes
// its time in the database, or in other programs, finds no races in Go.
//
// A test that runs on both databases runs under the detector on SQLite (On), and without it on
// PostgreSQL (Off): what is between the API and a store is the same, and the stores have tests of
// their own.
//
// scripts/test runs the tests that say something once more without the detector, and finds them
// itself: those that call Off or Less, or a function of their package that does.
package racing

import (
	"os"
	"testing"
)

// restEnv is set where tests run without the detector, and those under it run as well.
const restEnv = "RACING_REST"

// Off skips a test under the race detector.
func Off(tb testing.TB) {
	tb.Helper()
	if enabled {
		tb.Skip("it runs without the race detector: see internal/racing")
	}
}

// Less reports whether a test is under the race detector, and may do less for that. The whole of it
// runs without.
func Less() bool { return enabled }

// Rest reports whether a test that does less under the race detector has done so, and may leave
// that out.
func Rest() bool { return !enabled && os.Getenv(restEnv) != "" }

// On skips a part of a test where that has run under the race detector: the rest calls Off or Less.
func On(tb testing.TB) {
	tb.Helper()
	if Rest() {
		tb.Skip("it ran under the race detector: see internal/racing")
	}
}

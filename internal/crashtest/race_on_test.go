//go:build race

package crashtest

// raceEnabled reports whether this program has the race detector.
const raceEnabled = true

//go:build !race

package racing

// enabled reports whether this program has the race detector.
const enabled = false

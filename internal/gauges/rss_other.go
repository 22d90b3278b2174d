//go:build !linux

package gauges

// residentBytes is how much memory the process has in use, which is known on Linux only.
func residentBytes() (int64, bool) { return 0, false }

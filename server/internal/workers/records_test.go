package workers

import (
	"testing"
)

// TestRecordsFor: jobs with large payloads are read a few at a time, and small ones all at once.
func TestRecordsFor(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]int{0: mostRecords, 100: mostRecords, 256 << 10: 64, 1 << 20: 16, 64 << 20: 1} {
		if n := recordsFor(size); n != want {
			t.Errorf("of %d bytes each %d are read, not %d", size, n, want)
		}
	}
}

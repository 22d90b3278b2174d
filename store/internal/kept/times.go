package kept

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Micros is a time of a class as stores keep it: in microseconds; -1: for ever.
func Micros(keep time.Duration) int64 {
	if keep < 0 {
		return -1
	}
	return keep.Microseconds()
}

// OfMicros reads what Micros has made.
func OfMicros(n int64) time.Duration {
	if n < 0 {
		return store.KeepForever
	}
	return time.Duration(n) * time.Microsecond
}

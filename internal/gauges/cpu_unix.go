//go:build unix

package gauges

import (
	"syscall"
	"time"
)

// cpuTime is what the process has used of processors.
func cpuTime() (time.Duration, bool) {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0, false
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), true
}

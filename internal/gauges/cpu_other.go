//go:build !unix

package gauges

import "time"

// cpuTime is what the process has used of processors, which is not known here.
func cpuTime() (time.Duration, bool) { return 0, false }

package subprocess

import (
	"fmt"
	"os"
)

const measuresMemory = true

// memoryOf is how much resident memory a process has, in bytes; 0 if it cannot be told, as of one
// that has ended.
func memoryOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

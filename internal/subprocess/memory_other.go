//go:build !linux

package subprocess

// measuresMemory: Config.MaxMemory is refused.
const measuresMemory = false

func memoryOf(int) int64 { return 0 }

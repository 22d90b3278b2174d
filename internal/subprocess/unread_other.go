//go:build !linux

package subprocess

import "os"

// unread is how many bytes in a pipe were not read; 0: it is not known.
func unread(*os.File) int { return 0 }

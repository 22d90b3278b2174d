//go:build !unix

package scratch

import "io"

// guard does nothing: there the directory stays if the program is killed.
func guard(string) (io.Closer, error) { return io.NopCloser(nil), nil }

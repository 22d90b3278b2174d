//go:build !linux

package sqlite

import "errors"

// placeOf looks at the file system of a directory.
func placeOf(string) (place, error) {
	return place{}, errors.New("that is known on Linux only")
}

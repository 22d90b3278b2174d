package store

import (
	"bytes"
	"slices"
	"testing"
)

func TestNewID(t *testing.T) {
	t.Parallel()
	const n = 10_000
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = NewID()
		if ids[i].Version() != 7 || ids[i].Variant().String() != "RFC4122" {
			t.Fatalf("%s is no UUIDv7", ids[i])
		}
		if MakerOf(ids[i]) != ThisProcess() || ThisProcess() == 0 {
			t.Fatalf("%s has the mark %d, and this process %d", ids[i], MakerOf(ids[i]), ThisProcess())
		}
	}
	compare := func(a, b ID) int { return bytes.Compare(a[:], b[:]) }
	if !slices.IsSortedFunc(ids, compare) {
		t.Error("ids do not sort by time of creation")
	}
	if slices.SortFunc(ids, compare); len(slices.Compact(ids)) != n {
		t.Error("an id was made twice")
	}
}

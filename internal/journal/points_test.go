package journal

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestLastSuccessOfEnds: a success that a transaction has committed is kept, and a failure is not.
func TestLastSuccessOfEnds(t *testing.T) {
	for state, want := range map[store.State]int64{store.Completed: 2, store.Failed: 1} {
		entries := []store.Entry{
			{Seq: 1, Kind: store.EntryStep, Path: "1", Name: "step"},
			{Seq: 2, Kind: store.EntryEnded, Data: Encode(Ended{State: state})},
		}
		if keep, err := LastSuccess(entries); keep != want || err != nil {
			t.Errorf("%v: %d, %v; want %d", state, keep, err, want)
		}
	}
	if _, err := LastSuccess([]store.Entry{{Seq: 1, Kind: store.EntryEnded, Data: []byte("no JSON")}}); err == nil {
		t.Error("an end that cannot be read is no error")
	}
}

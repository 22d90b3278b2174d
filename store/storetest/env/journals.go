package env

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Step is the entry that most tests write.
func Step(seq int64) store.Entry {
	return store.Entry{Seq: seq, Kind: store.EntryStep, Path: "1", Name: "charge", Data: []byte(`{"ok":true}`)}
}

// Steps are entries with the numbers from first to last.
func Steps(first, last int64) []store.Entry {
	var entries []store.Entry
	for seq := first; seq <= last; seq++ {
		entries = append(entries, Step(seq))
	}
	return entries
}

// Entry is an entry of any kind.
func Entry(seq int64, kind store.EntryKind, name string) store.Entry {
	return store.Entry{Seq: seq, Kind: kind, Path: "1", Name: name, Took: time.Duration(seq) * time.Millisecond}
}

// Signal is a signal with a name.
func Signal(name string) store.Message {
	return store.Message{Kind: store.MessageSignal, Name: name, Data: []byte(`"now"`)}
}

// Callback is the answer to a callback, or a sign of life of who works on it.
func Callback(kind store.MessageKind, token string) store.Message {
	return store.Message{Kind: kind, Name: token, Data: []byte(`1`)}
}

// ForSignals waits for any signal, or other kinds if they are given.
func ForSignals(kinds ...store.MessageKind) *store.Wait {
	if len(kinds) == 0 {
		kinds = []store.MessageKind{store.MessageSignal}
	}
	return &store.Wait{Kinds: store.MessagesOf(kinds...), For: []byte(`{"signal":"approved"}`)}
}

// Misnumbered finds an entry that has not the number after the one before it, or the first one if
// it is not 1 and the job did not continue as new; -1 if there is none.
func Misnumbered(entries []store.Entry) int {
	for i, entry := range entries {
		if entry.Seq != entries[0].Seq+int64(i) || i == 0 && entry.Seq != 1 && entry.Kind != store.EntryContinued {
			return i
		}
	}
	return -1
}

// The kinds of entries that people look for.
var (
	Values = []store.EntryKind{store.EntryPublished}
	Items  = []store.EntryKind{store.EntryStreamed}
	Calls  = []store.EntryKind{store.EntryCallback}
	Either = slices.Concat(Values, Items)
)

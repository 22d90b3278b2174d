package journal

import "github.com/holdfastdev/holdfast/store"

// IsRefused reports whether an entry that is to be stored is that of a signal which did not decode.
func IsRefused(e *store.Entry) bool {
	return e.Kind == store.EntryReceived && len(e.Data) > 0 && e.Name != ""
}

// Refusal is an entry that says of a signal only that it is not to be received any more.
func Refusal(e store.Entry) store.Entry {
	e.Path = ""
	return e
}

package journal

import (
	"fmt"
	"strconv"

	"github.com/holdfastdev/holdfast/store"
)

// kindNames are for messages.
var kindNames = map[store.EntryKind]string{
	store.EntryStep: "step", store.EntryStepFailed: "step", store.EntryStepRetry: "step", store.EntryTimer: "a timer",
	store.EntryTimeout: "a time limit", store.EntryReceived: "a wait for a message", store.EntryChild: "child",
	store.EntryCallback: "a callback",
	store.EntrySelected: "a choice", store.EntryValue: "a value", store.EntryPublished: "published key", store.EntryStreamed: "item of stream",
	store.EntryCompensated: "a compensation",
}

// IsNamed reports whether an entry of the kind has a name that the code gives.
func IsNamed(k store.EntryKind) bool {
	switch k {
	case store.EntryStep, store.EntryStepFailed, store.EntryStepRetry, store.EntryChild, store.EntryPublished, store.EntryStreamed:
		return true
	default:
		return false
	}
}

// Describe says in words what an entry of the kind and name is of.
func Describe(k store.EntryKind, name string) string {
	text := kindNames[k]
	if text == "" {
		text = fmt.Sprintf("entry of kind %d", k)
	}
	if IsNamed(k) || name != "" && k != store.EntryCallback {
		text += " " + strconv.Quote(name)
	}
	return text
}

// entryKinds and messageKinds are the names of kinds in journals that people and programs read.
var entryKinds = map[store.EntryKind]string{
	store.EntryStep: "step", store.EntryStepFailed: "step failed", store.EntryStepRetry: "step retry",
	store.EntryTimer: "timer", store.EntryTimeout: "timeout", store.EntryReceived: "received",
	store.EntryChild: "child", store.EntryCallback: "callback", store.EntrySelected: "selected",
	store.EntryValue: "value", store.EntryPatched: "patched", store.EntryPublished: "published",
	store.EntryStreamed: "streamed", store.EntryClosing: "closing", store.EntryCompensated: "compensated",
	store.EntryContinued: "continued", store.EntryRegistered: "registered",
	store.EntryEnded: "ended",
}

var messageKinds = map[store.MessageKind]string{
	store.MessageSignal: "signal", store.MessageCallback: "callback",
	store.MessageCallbackFailed: "callback failed", store.MessageHeartbeat: "heartbeat",
	store.MessageChild: "child",
}

// EntryName returns the name of a kind of entries; of one that a newer program has written, its
// number.
func EntryName(kind store.EntryKind) string {
	if name := entryKinds[kind]; name != "" {
		return name
	}
	return strconv.FormatUint(uint64(kind), 10)
}

// MessageName returns the name of a kind of messages.
func MessageName(kind store.MessageKind) string { return messageKinds[kind] }

// EntryOf returns the kind of entries of that name, if there is one.
func EntryOf(name string) (store.EntryKind, bool) { return kindOf(entryKinds, name) }

// MessageOf returns the kind of messages of that name, if there is one.
func MessageOf(name string) (store.MessageKind, bool) { return kindOf(messageKinds, name) }

func kindOf[K comparable](names map[K]string, name string) (K, bool) {
	for k, n := range names {
		if n == name {
			return k, true
		}
	}
	var none K
	return none, false
}

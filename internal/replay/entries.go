package replay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

func encodeEntry(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // they are structs of plain fields
	}
	return data
}

func decodeEntry(e *store.Entry, v any) error {
	data, err := Unpack(e.Data, e.Codec)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("cannot read entry %d of the journal: %w", e.Seq, err)
	}
	return nil
}

// retryData is the data of an EntryStepRetry.
type retryData struct {
	Failure usercode.StepError `json:"failure"`
	Until   time.Time          `json:"until"`
}

func failureOf(e *store.Entry) error {
	failure := &usercode.StepError{}
	if err := decodeEntry(e, failure); err != nil {
		return err
	}
	return failure
}

// continued is the data of an EntryContinued.
type continued struct {
	Times    int  `json:"times"`
	Children bool `json:"children,omitempty"` // of an earlier generation, which may be open
}

// timer is the data of an EntryTimer.
type timer struct {
	Until time.Time `json:"until"`
}

// childData is the data of an EntryChild.
type childData struct {
	ID      string            `json:"id"`
	OnClose store.ClosePolicy `json:"on_close,omitempty"`
	Answers bool              `json:"answers,omitempty"`
}

// callbackData is the data of an EntryCallback.
type callbackData struct {
	Name string `json:"name"`
}

// closingData is the data of an EntryClosing: the end that was decided, and the paths of the
// compensations that were registered by then. A later run may know of more that has happened since,
// and come farther: what it registers there is not to be run.
type closingData struct {
	State  store.State  `json:"state"`
	Reason store.Reason `json:"reason,omitempty"`
	Error  string       `json:"error,omitempty"`
	Undo   []string     `json:"undo,omitempty"` // nil: all, written by a program that did not say
}

// problemData is the data of an EntryReceived whose message did not decode.
type problemData struct {
	Problem string `json:"problem"`
}

// undoPrefix begins the paths of entries of compensations.
const undoPrefix = "~"

// isCompensation reports whether a path is one of a compensation.
func isCompensation(path string) bool { return strings.HasPrefix(path, undoPrefix) }

// kindNames are for messages.
var kindNames = map[store.EntryKind]string{
	store.EntryStep: "step", store.EntryStepFailed: "step", store.EntryStepRetry: "step", store.EntryTimer: "a timer",
	store.EntryTimeout: "a time limit", store.EntryReceived: "a wait for a message", store.EntryChild: "child",
	store.EntryCallback: "a callback",
	store.EntrySelected: "a choice", store.EntryValue: "a value", store.EntryPublished: "published key", store.EntryStreamed: "item of stream",
	store.EntryCompensated: "a compensation",
}

func isNamed(k store.EntryKind) bool {
	switch k {
	case store.EntryStep, store.EntryStepFailed, store.EntryStepRetry, store.EntryChild, store.EntryPublished, store.EntryStreamed:
		return true
	default:
		return false
	}
}

func describe(k store.EntryKind, name string) string {
	text := kindNames[k]
	if text == "" {
		text = fmt.Sprintf("entry of kind %d", k)
	}
	if isNamed(k) || name != "" && k != store.EntryCallback {
		text += " " + strconv.Quote(name)
	}
	return text
}

// weight is what an entry counts against the limit of its journal.
func weight(e *store.Entry) int64 { return int64(len(e.Data) + len(e.Name) + len(e.Path)) }

// entryKinds and messageKinds are the names of kinds in journals that people and programs read.
var entryKinds = map[store.EntryKind]string{
	store.EntryStep: "step", store.EntryStepFailed: "step failed", store.EntryStepRetry: "step retry",
	store.EntryTimer: "timer", store.EntryTimeout: "timeout", store.EntryReceived: "received",
	store.EntryChild: "child", store.EntryCallback: "callback", store.EntrySelected: "selected",
	store.EntryValue: "value", store.EntryPatched: "patched", store.EntryPublished: "published",
	store.EntryStreamed: "streamed", store.EntryClosing: "closing", store.EntryCompensated: "compensated",
	store.EntryContinued: "continued", store.EntryRegistered: "registered",
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

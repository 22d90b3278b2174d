package views

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Timestamp is a time, or null if it is zero.
type Timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(t).UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}

// Text is a string, or null if it is empty.
type Text string

// MarshalJSON implements json.Marshaler.
func (s Text) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("null"), nil
	}
	return output.Encode(string(s), "", "")
}

// Span is a duration, or null if it is zero.
type Span time.Duration

// MarshalJSON implements json.Marshaler.
func (d Span) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(time.Duration(d).String())
}

// Forever is the word for the time for which a key is kept for ever.
const Forever = "forever"

// KeepText is for how long a finished job keeps its key; "" if it does not.
func KeepText(d time.Duration) string {
	switch {
	case d < 0:
		return Forever
	case d == 0:
		return ""
	}
	return d.String()
}

// Number is a small integer, or null if it is zero.
type Number int

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(int(n))
}

// Big is a 64-bit integer as a string, or null if it is zero: JavaScript and jq round integers
// above 2^53.
type Big int64

// MarshalJSON implements json.Marshaler.
func (n Big) MarshalJSON() ([]byte, error) {
	if n == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(strconv.FormatInt(int64(n), 10))
}

// payload is a payload as in the JSON of a store.Record: unchanged if it is JSON.
func payload(data []byte, codec int) json.RawMessage { return store.PayloadJSON(data, codec) }

// OnOneLine compacts a JSON payload, or returns "" if there is none.
func OnOneLine(data []byte, codec int) string {
	var b bytes.Buffer
	if envelope, number, ok := store.OpenSealedJSON(data); ok {
		data, codec = envelope, number
	}
	if store.IsSealedCodec(codec) {
		return store.SealedNote(data, codec)
	}
	if data == nil || json.Compact(&b, payload(data, codec)) != nil {
		return ""
	}
	return b.String()
}

// sorted returns a sorted copy of a list, never nil.
func sorted(list []string) []string {
	list = append([]string{}, list...)
	slices.Sort(list)
	return list
}

// IDText formats an id, or returns "" for none.
func IDText(id holdfast.ID) string {
	if id == (holdfast.ID{}) {
		return ""
	}
	return id.String()
}

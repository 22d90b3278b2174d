package asked

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Refused is an item of a request that was refused, while others were stored.
type Refused struct {
	Place int      `json:"p"`
	ID    store.ID `json:"i,omitzero"` // that its job would have had
	Class string   `json:"c,omitempty"`
	Text  string   `json:"t,omitempty"` // or its beginning, where very many were refused
}

// classes are those errors that an enqueue is refused with.
var classes = map[string]error{"conflict": store.ErrConflict, "invalid": store.ErrInvalid, "not_found": store.ErrNotFound}

// NewRefused describes the item at a place, which was refused.
func NewRefused(place int, id store.ID, err error) Refused {
	r := Refused{Place: place, ID: id, Text: err.Error()}
	for name, class := range classes {
		if errors.Is(err, class) {
			r.Class = name
		}
	}
	return r
}

// Err is the error as it is told again: its text and its class.
func (r Refused) Err() error { return &again{r.Text, classes[r.Class]} }

// again is an error that is told again.
type again struct {
	text  string
	class error
}

func (e *again) Error() string { return e.text }
func (e *again) Unwrap() error { return e.class }

// pack is what is kept of the items that were refused; nil: none was. Their texts share the room
// that an answer has.
func pack(refused []Refused) []byte {
	if len(refused) == 0 {
		return nil
	}
	for room := store.MaxRequestAnswer; ; room /= 2 {
		cut := slices.Clone(refused)
		for i := range cut {
			cut[i].Text = begin(cut[i].Text, room/len(cut))
			if room == 0 {
				cut[i].ID = store.ID{}
			}
		}
		text, err := json.Marshal(cut)
		if err != nil {
			panic("what was refused cannot be encoded: " + err.Error()) // it has nothing but texts and numbers
		}
		if len(text) <= store.MaxRequestAnswer || room == 0 {
			return text
		}
	}
}

// begin is the beginning of a text that is longer than n bytes.
func begin(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// unpack reads it.
func unpack(text []byte) (refused []Refused, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	return refused, json.Unmarshal(text, &refused)
}

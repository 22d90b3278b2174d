package asked

import (
	"encoding/json"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// Refused is an enqueue of a request that was refused, while others were stored.
type Refused struct {
	Place int      `json:"place"`
	ID    store.ID `json:"id"` // that its job would have had
	Class string   `json:"class"`
	Text  string   `json:"text"`
}

// classes are those errors that an enqueue is refused with.
var classes = map[string]error{"conflict": store.ErrConflict, "invalid": store.ErrInvalid, "not_found": store.ErrNotFound}

// refusedAs describes the enqueue at a place, which was refused.
func refusedAs(place int, q *store.Enqueue) Refused {
	r := Refused{Place: place, ID: q.Job.ID, Text: q.Err.Error()}
	for name, class := range classes {
		if errors.Is(q.Err, class) {
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

// pack is what is kept of the enqueues that were refused; nil: none was.
func pack(refused []Refused) []byte {
	if len(refused) == 0 {
		return nil
	}
	text, err := json.Marshal(refused)
	if err != nil {
		panic("what was refused cannot be encoded: " + err.Error()) // it has nothing but texts and numbers
	}
	return text
}

// unpack reads it.
func unpack(text []byte) (refused []Refused, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	return refused, json.Unmarshal(text, &refused)
}

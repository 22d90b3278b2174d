package events

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/events"
)

// encoded is how many of the last changes are kept as JSON.
const encoded = 4096

// encodings are the last changes as JSON, so that one which many readers are told of is encoded
// once.
type encodings struct {
	mu   sync.Mutex
	of   map[events.Position]json.RawMessage
	last [encoded]events.Position // a ring of those in of
	next int
}

// change is the JSON of a change.
func (c *encodings) change(e *events.Event) (json.RawMessage, error) {
	c.mu.Lock()
	data := c.of[e.Position]
	c.mu.Unlock()
	if data != nil {
		return data, nil
	}
	var b bytes.Buffer
	if err := writeJSON(&b, viewChange(e)); err != nil {
		return nil, err
	}
	data = slices.Clip(bytes.TrimRight(b.Bytes(), "\n"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[events.Position]json.RawMessage{}
	}
	if c.of[e.Position] == nil {
		delete(c.of, c.last[c.next])
		c.of[e.Position], c.last[c.next] = data, e.Position
		c.next = (c.next + 1) % encoded
	}
	return data, nil
}

package wire

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// What a reader accepts, so that a small text cannot make it use much memory or stack.
const (
	maxDepth  = 64        // of lists and objects in each other
	maxValues = 4 << 20   // commas, colons and brackets, which bound the number of values
	maxMemory = 512 << 20 // bytes of what the values are made of, beside texts
)

// bounded counts what a JSON text has, which need not be valid.
func bounded(data []byte) error {
	depth, values, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		c := data[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			values++
		case c == ']' || c == '}':
			depth--
		case c == ',' || c == ':':
			values++
		}
		if depth > 2*maxDepth || values > maxValues {
			return fmt.Errorf("%w: the JSON is nested too deeply or has too many values", store.ErrInvalid)
		}
	}
	return nil
}

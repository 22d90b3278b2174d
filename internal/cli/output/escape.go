package output

import (
	"fmt"
	"strings"
)

// harmless escapes control and invisible characters in JSON for a terminal. The value stays the
// same.
func harmless(data []byte) []byte {
	for _, r := range string(data) {
		if r >= 0x7F && (IsControl(r) || isInvisible(r)) {
			return escape(data)
		}
	}
	return data
}

func escape(data []byte) []byte {
	var out strings.Builder
	for _, r := range string(data) {
		switch {
		case r < 0x7F || !IsControl(r) && !isInvisible(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String())
}

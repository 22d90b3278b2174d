package valid

import (
	"strings"
	"testing"
)

// TestNesting: a payload is refused that is nested deeper than other languages read, and what only
// looks like it in texts is not.
func TestNesting(t *testing.T) {
	t.Parallel()
	nested := func(n int, open, end string) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	deep := MaxNesting + 1
	for data, fits := range map[string]bool{
		nested(MaxNesting, "[", "]"): true,
		nested(deep, "[", "]"):       false,
		strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep):                   false,
		strings.Repeat(`[{"a":`, MaxNesting/2) + "1" + strings.Repeat("}]", MaxNesting/2): true,
		`["` + strings.Repeat("[", deep) + `"]`:                                           true,
		`["\"` + strings.Repeat("[", deep) + `"]`:                                         true,
		`["\\",` + nested(deep, "[", "]") + `]`:                                           false,
		"[" + strings.Repeat("[],", deep) + "1]":                                          true,
	} {
		if err := JSON("args", []byte(data), 1<<20); (err == nil) != fits {
			t.Errorf("%.80s…: %v", data, err)
		}
	}
}

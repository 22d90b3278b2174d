package arg

import (
	"strings"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// ParseAttributes reads NAME=VALUE, other comparisons, and NAME alone. The type of a value is that
// with which the name is declared.
func ParseAttributes(texts []string) (all []store.AttributeMatch, err error) {
	for _, text := range texts {
		m := store.AttributeMatch{Name: text, Op: store.AttributeIsThere}
		if at := strings.IndexAny(text, "<>="); at >= 0 {
			op := text[at : at+1]
			if op != "=" && strings.HasPrefix(text[at+1:], "=") {
				op += "="
			}
			m = store.AttributeMatch{Name: text[:at], Op: store.AttributeOp(op), Value: store.TextValue(text[at+len(op):])}
		}
		if err := store.CheckAttributeName(m.Name); err != nil {
			return nil, Usagef("--attr %q: must be NAME=VALUE, such as customer=acme, or 'amount>=10', or a NAME alone",
				output.Clip(text, 60))
		}
		all = append(all, m)
	}
	return all, nil
}

package wire

import (
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/holdfastdev/holdfast/store"
)

var (
	timeType  = reflect.TypeFor[time.Time]()
	idType    = reflect.TypeFor[store.ID]()
	errorType = reflect.TypeFor[error]()
	byteType  = reflect.TypeFor[byte]()
)

// field is an exported field of a struct.
type field struct {
	index int
	name  string
}

var known sync.Map // reflect.Type of a struct to its []field

func fieldsOf(t reflect.Type) []field {
	if list, ok := known.Load(t); ok {
		return list.([]field) //nolint:errcheck,forcetypeassert // nothing else is kept there
	}
	var list []field
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			list = append(list, field{i, snake(f.Name)})
		}
	}
	known.Store(t, list)
	return list
}

// snake is a Go name in snake_case: RunAt is run_at, LeaderTTL is leader_ttl.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			afterWord := !unicode.IsUpper(runes[i-1])
			beforeWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterWord || beforeWord {
				b.WriteByte('_')
			}
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// isBytes reports whether values of a type are bytes, not a list of numbers that happen to be as
// small.
func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem() == byteType
}

package arg

import (
	"strings"

	"github.com/spf13/pflag"
)

// TextsVar adds a flag that may be repeated, each time with one text, as pflag's StringArrayVar
// does. That one writes its empty default as CSV, for which it allocates a buffer: this was a third
// of what it costs to make all verbs, which each command does.
func TextsVar(flags *pflag.FlagSet, p *[]string, name string, value []string, usage string) {
	*p = value
	flags.Var(&texts{value: p}, name, usage)
}

// texts is the value of such a flag, a pflag.SliceValue.
type texts struct {
	value *[]string
	given bool // the default is replaced
}

// Set adds a text. The first one replaces the default.
func (t *texts) Set(text string) error {
	if !t.given {
		*t.value, t.given = nil, true
	}
	return t.Append(text)
}

// Type is the name by which cobra knows flags that may be repeated.
func (t *texts) Type() string { return "stringArray" }

func (t *texts) String() string {
	if len(*t.value) == 0 {
		return "" // which the help leaves out
	}
	return "[" + strings.Join(*t.value, ",") + "]"
}

// Append adds a text.
func (t *texts) Append(text string) error {
	*t.value = append(*t.value, text)
	return nil
}

// Replace replaces all texts.
func (t *texts) Replace(all []string) error {
	*t.value = all
	return nil
}

// GetSlice returns all texts.
func (t *texts) GetSlice() []string { return *t.value }

// Words are texts of a type of their own as they are.
func Words[T ~string](texts []T) (words []string) {
	for _, t := range texts {
		words = append(words, string(t))
	}
	return words
}

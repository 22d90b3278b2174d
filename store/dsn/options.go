package dsn

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Option is a setting that a program makes, whatever the text says.
type Option func(*settings)

type settings struct {
	noMigrate bool
}

// NoMigrate makes opening fail with store.ErrSchema where the schema is missing or too old, as migrate=off does. A SQLite
// file that does not exist is not created.
func NoMigrate() Option { return func(s *settings) { s.noMigrate = true } }

// options are those after the question mark. Each is taken once; what is left over is unknown.
type options struct {
	values url.Values
	err    error
}

func parseOptions(query string) *options {
	values, err := url.ParseQuery(query)
	o := &options{values: values}
	if err != nil {
		o.err = invalid("cannot parse the options after the question mark")
	}
	return o
}

// take returns an option's value, and removes it.
func (o *options) take(name string) (value string, given bool) {
	list, given := o.values[name]
	if !given {
		return "", false
	}
	delete(o.values, name)
	if len(list) > 1 {
		o.failf(name, "given %d times", len(list))
	}
	return list[0], true
}

// choose returns the value that a word stands for.
func choose[T any](o *options, name string, def T, words map[string]T) T {
	word, given := o.take(name)
	if !given {
		return def
	}
	value, ok := words[word]
	if !ok {
		o.failf(name, "must be %s", strings.Join(slices.Sorted(maps.Keys(words)), " or "))
		return def
	}
	return value
}

func (o *options) failf(name, format string, args ...any) {
	if o.err == nil {
		o.err = invalid("option %s: %s", name, fmt.Sprintf(format, args...))
	}
}

// noMigrate reads the option that all databases have.
func (o *options) noMigrate(s settings) bool {
	return choose(o, "migrate", false, map[string]bool{"on": false, "off": true}) || s.noMigrate
}

// end returns the first error, and finds options that nobody took.
func (o *options) end(database string) error {
	if o.err != nil {
		return o.err
	}
	for name := range o.values {
		return invalid("%s has no option %q", database, name)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: database: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}

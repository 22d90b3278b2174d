package dsn

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Option is a setting made by the program, independent of the text.
type Option func(*settings)

type settings struct {
	noMigrate bool
}

// NoMigrate makes opening fail with store.ErrSchema if the schema is missing or too old, as
// migrate=off does. A SQLite file that does not exist is not created.
func NoMigrate() Option { return func(s *settings) { s.noMigrate = true } }

// options are the options of a text. Each is taken once; those left over are unknown.
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

// take removes an option and returns its value.
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

// choose takes an option and returns the value that its word stands for.
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

// noMigrate takes the option migrate, which all databases have.
func (o *options) noMigrate(s settings) bool {
	return choose(o, "migrate", false, map[string]bool{"on": false, "off": true}) || s.noMigrate
}

// end returns the first error, or one about an unknown option.
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

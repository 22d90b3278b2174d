package dsn

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
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

// Parse returns the source that a text names. It connects to nothing and opens no database. Its
// errors are store.ErrInvalid, and do not repeat the text, which may hold a password.
func Parse(text string, opts ...Option) (store.Source, error) {
	var s settings
	for _, opt := range opts {
		opt(&s)
	}
	text = strings.TrimSpace(text)
	switch scheme, rest := split(text); scheme {
	case "":
		switch {
		case isPath(text):
			return parseSQLite(rest, s)
		case isKeywords(text):
			return parseKeywords(text, s)
		case holdsSecret(text):
			return nil, invalid("it looks like the address of a server, perhaps with a password; " +
				"write PostgreSQL as postgres://user@host/app or \"host=… user=… dbname=…\", and a file as sqlite:PATH")
		case isMisspelt(text):
			return parseKeywords(text, s)
		}
		return parseSQLite(rest, s)
	case "sqlite":
		// sqlite:///var/lib/x.db is what other programs write for /var/lib/x.db.
		return parseSQLite(strings.TrimPrefix(rest, "//"), s)
	case "postgres", "postgresql":
		return parsePostgres(text, s)
	default:
		return nil, invalid("unknown scheme %q; use a file, sqlite:PATH or postgres://…", scheme+":")
	}
}

// isPath reports whether a text can only be a path: it begins with a dot, a slash or a drive.
func isPath(text string) bool {
	path, _, _ := strings.Cut(text, "?")
	if strings.Contains(path, "://") {
		return false
	}
	drive := len(path) > 2 && path[1] == ':' && strings.ContainsAny(path[2:3], `\/`)
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, ".") || drive
}

// aKeyword is a word before a =, wherever it stands but in the options of a file.
var aKeyword = regexp.MustCompile(`(?:^|[^0-9A-Za-z_?&])([0-9A-Za-z_]+)[ \t\n\r\v\f]*=`)

// holdsSecret reports whether a text without a scheme might hold a password: then it is neither
// taken for a file nor shown.
func holdsSecret(text string) bool {
	path, _, _ := strings.Cut(text, "?")
	if strings.Contains(path, "://") {
		return true
	}
	if _, behind, found := strings.Cut(text, ":"); found && strings.Contains(behind, "@") {
		return true
	}
	for _, found := range aKeyword.FindAllStringSubmatch(text, -1) {
		if isKeyword(found[1]) {
			return true
		}
	}
	text = strings.ToLower(text)
	for _, word := range []string{"password", "passwd", "pwd"} {
		if _, behind, found := strings.Cut(text, word); found && strings.HasPrefix(strings.TrimLeft(behind, space), "=") {
			return true
		}
	}
	return false
}

// split cuts the scheme off a text: a word of at least two letters before a colon. One letter is a drive.
func split(text string) (scheme, rest string) {
	scheme, rest, found := strings.Cut(text, ":")
	if !found || len(scheme) < 2 || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		return "", text
	}
	if strings.ContainsAny(scheme[:1], "0123456789+-.") {
		return "", text
	}
	return strings.ToLower(scheme), rest
}

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

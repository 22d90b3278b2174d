package dsn

import (
	"net/url"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// isPassword reports whether an option is, or may be meant as, a password.
func isPassword(name string) bool { return strings.Contains(strings.ToLower(name), "pass") }

// namesIn returns the options of a query in order.
func namesIn(query string) []named {
	var list []named
	hidden := strings.Contains(query, "@")
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		if part == "" || err != nil || name == "ssl" && value == "true" { // pgx and libpq take ssl=true for sslmode=require
			continue
		}
		list = append(list, named{name, hidden || !aWord.MatchString(name)})
		hidden = hidden || isPassword(name)
	}
	return list
}

// valid checks the values, such as that of sslmode.
func valid(config postgres.Config) (store.Source, error) {
	if err := config.Validate(); err != nil {
		text := strings.TrimPrefix(err.Error(), store.ErrInvalid.Error()+": ")
		return nil, invalid("%s", text)
	}
	return config, nil
}

// postgresConfig takes the options of Holdfast.
func postgresConfig(o *options, s settings) (postgres.Config, error) {
	config := postgres.Config{
		NoMigrate: o.noMigrate(s),
		NoSession: choose(o, "session", false, map[string]bool{"on": false, "off": true}),
	}
	if schema, given := o.take("schema"); given {
		if config.SchemaName = schema; schema == "" {
			o.failf("schema", "must not be empty")
		}
	}
	return config, o.err
}

package dsn

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// parsePostgres takes our options out of a URL and leaves the others to pgx and the server, which refuse what they do not know.
// The URL is not parsed otherwise: libpq allows several hosts, which net/url does not.
func parsePostgres(text string, s settings) (store.Source, error) {
	base, query, _ := strings.Cut(text, "?")
	if !strings.Contains(base, "://") {
		return nil, invalid("a PostgreSQL URL begins with postgres://")
	}
	o := parseOptions(query)
	config := postgres.URL(base)
	config.NoMigrate = o.noMigrate(s)
	config.NoSession = choose(o, "session", false, map[string]bool{"on": false, "off": true})
	if schema, given := o.take("schema"); given {
		if config.SchemaName = schema; schema == "" {
			o.failf("schema", "it is empty")
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	if len(o.values) > 0 {
		config.URL += "?" + o.values.Encode()
	}
	return config, nil
}

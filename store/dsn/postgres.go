package dsn

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// parsePostgres takes the options of Holdfast out of a URL and leaves the others to pgx and the
// server. It does not parse the rest, because libpq allows several hosts and net/url does not.
func parsePostgres(text string, s settings) (store.Source, error) {
	base, query, _ := strings.Cut(text, "?")
	_, behind, found := strings.Cut(base, "://")
	if !found {
		return nil, invalid("a PostgreSQL URL begins with postgres://")
	}
	if strandedPassword(behind, query) {
		return nil, invalid("misplaced @ in the PostgreSQL URL; percent-encode special characters in the user and the password: " +
			"%%40 for @, %%2F for /, %%3F for ?, %%23 for #, %%3A for :, %%25 for %%")
	}
	if mixesKeywords(behind) {
		return nil, invalid("a PostgreSQL URL cannot contain a space, a quote or = in its user, host or database; " +
			"write postgres://user@host/app, or \"host=… user=… dbname=…\" without postgres://")
	}
	o := parseOptions(query)
	if o.err != nil {
		return nil, o.err
	}
	if err := checkPostgres(namesIn(query), "percent-encode special characters of the password: %26 for &"); err != nil {
		return nil, err
	}
	config, err := postgresConfig(o, s)
	if err != nil {
		return nil, err
	}
	if config.URL = base; len(o.values) > 0 {
		config.URL += "?" + o.values.Encode()
	}
	return valid(config)
}

// strandedPassword reports whether a part of a password may have ended up in the host, the database
// or an option, which are shown: an unquoted slash or question mark in a password splits it.
func strandedPassword(address, query string) bool {
	authority, path, _ := strings.Cut(address, "/")
	switch ats := strings.Count(authority, "@"); {
	case ats > 1, strings.Contains(path, "@"):
		return true
	case ats == 0 && strings.Contains(authority, ":") && strings.Contains(query, "@"):
		return true
	}
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if strings.ContainsAny(name, "@/") {
			return true
		}
	}
	return false
}

// mixesKeywords reports whether the user, host and database of a URL contain keywords.
func mixesKeywords(address string) bool {
	authority, path, _ := strings.Cut(address, "/")
	at := strings.LastIndex(authority, "@")
	user, _, _ := strings.Cut(authority[:max(at, 0)], ":")
	return strings.ContainsAny(user+authority[at+1:]+path, space+"='")
}

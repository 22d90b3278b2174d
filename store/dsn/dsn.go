package dsn

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Parse returns the source of a connection string. It connects to nothing and opens no database.
// Its errors are store.ErrInvalid, and do not quote the text, which may contain a password.
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
		// Other programs write /var/lib/x.db as sqlite:///var/lib/x.db.
		return parseSQLite(strings.TrimPrefix(rest, "//"), s)
	case "postgres", "postgresql":
		return parsePostgres(text, s)
	default:
		return nil, invalid("unknown scheme %q; use a file, sqlite:PATH or postgres://…", scheme+":")
	}
}

// isPath reports whether a text can only be a path: it starts with a dot, a slash or a drive
// letter.
func isPath(text string) bool {
	path, _, _ := strings.Cut(text, "?")
	if strings.Contains(path, "://") {
		return false
	}
	drive := len(path) > 2 && path[1] == ':' && strings.ContainsAny(path[2:3], `\/`)
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, ".") || drive
}

// split splits a text at its scheme: a word of at least two letters before a colon. One letter is a
// drive.
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

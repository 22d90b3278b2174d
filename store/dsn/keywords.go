package dsn

import (
	"regexp"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// space is what libpq takes for white space.
const space = " \t\n\r\v\f"

// aPair is the start of word=value. Pairs after a ? or a & are options of a file.
var aPair = regexp.MustCompile(`(?:^|[ \t\n\r\v\f])([^ \t\n\r\v\f='"?&/\\]+)[ \t\n\r\v\f]*=`)

// aWord is what a keyword looks like.
var aWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// isKeywords reports whether a text is meant as a connection string such as "host=db user=app
// dbname=app", even with misspelt keywords: it starts with a keyword, or has two pairs of
// word=value.
func isKeywords(text string) bool {
	word, _, found := strings.Cut(text, "=")
	return found && (isKeyword(strings.Trim(word, space)) || len(aPair.FindAllString(text, 2)) > 1)
}

// isMisspelt reports whether a text is one pair whose word resembles a keyword.
func isMisspelt(text string) bool {
	word, _, found := strings.Cut(text, "=")
	return found && meant(strings.Trim(word, space)) != ""
}

// parseKeywords takes the options of Holdfast out of a connection string and leaves the rest to
// pgx.
func parseKeywords(text string, s settings) (store.Source, error) {
	pairs, ok := splitKeywords(text)
	if !ok {
		return nil, invalid("it looks like a PostgreSQL connection string, such as \"host=db user=app dbname=app\", " +
			"but cannot be parsed as one; put a value that contains a space in single quotes")
	}
	o := &options{values: map[string][]string{}}
	var (
		rest  []string
		given []named
	)
	_, behind, found := strings.Cut(text, ":")
	hidden := found && strings.Contains(behind, "@")
	for _, p := range pairs {
		given = append(given, named{p.word, hidden || !aWord.MatchString(p.word)})
		hidden = hidden || isPassword(p.word)
		switch p.word {
		case "host", "port", "dbname", "database", "user", "schema":
			if _, behind, found := strings.Cut(p.value, ":"); found && strings.Contains(behind, "@") {
				return nil, invalid("the value of %s looks like a URL, perhaps with a password; pass the URL on its own: postgres://…", p.word)
			}
			if strings.Contains(p.value, "=") { // such as "host=$HOST password=…" where $HOST is not set
				return nil, invalid("%s has no value, or one that contains a =", p.word)
			}
		}
		switch p.word {
		case "migrate", "session", "schema":
			o.values[p.word] = append(o.values[p.word], p.value)
		default:
			rest = append(rest, p.word+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p.value)+"'")
		}
	}
	if err := checkPostgres(given, "put a value that contains a space in single quotes"); err != nil {
		return nil, err
	}
	config, err := postgresConfig(o, s)
	config.URL = strings.Join(rest, " ")
	if err == nil && config.URL == "" {
		err = invalid("it names no database")
	}
	if err != nil {
		return nil, err
	}
	return valid(config)
}

type pair struct{ word, value string }

// splitKeywords splits a connection string by the rules of libpq.
func splitKeywords(text string) (pairs []pair, ok bool) {
	for text = strings.Trim(text, space); text != ""; text = strings.TrimLeft(text, space) {
		word, rest, found := strings.Cut(text, "=")
		word = strings.Trim(word, space)
		if !found || word == "" || strings.ContainsAny(word, space+`'\`) {
			return nil, false
		}
		rest = strings.TrimLeft(rest, space)
		ends := space
		if strings.HasPrefix(rest, "'") {
			rest, ends = rest[1:], "'"
		}
		value, behind, ended := upTo(rest, ends)
		if ends == "'" && !ended {
			return nil, false
		}
		pairs, text = append(pairs, pair{word, value}), behind
	}
	return pairs, true
}

// upTo reads a value up to and including one of the characters in ends. A backslash quotes the next
// character.
func upTo(text, ends string) (value, behind string, ended bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		case strings.IndexByte(ends, text[i]) >= 0:
			return b.String(), text[i+1:], true
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), "", false
}

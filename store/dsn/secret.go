package dsn

import (
	"regexp"
	"strings"
)

// aKeyword is a word before a =, except in the options of a file.
var aKeyword = regexp.MustCompile(`(?:^|[^0-9A-Za-z_?&])([0-9A-Za-z_]+)[ \t\n\r\v\f]*=`)

// holdsSecret reports whether a text without a scheme may contain a password: then it is neither
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

package output

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName is the largest width of a name in a table, so that one column cannot push the others off
// the screen.
const MaxName = 40

// Clip shortens a text for a cell of a table.
func Clip(text string, runes int) string {
	text = OneLine(text)
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes-1]) + "…"
}

// OneLine turns a text into one line, without control characters. Invisible characters, such as
// text direction marks and zero-width spaces, are written as numbers, because names that look alike
// may differ.
func OneLine(text string) string {
	var line strings.Builder
	broken := false
	for _, r := range strings.TrimSpace(text) {
		breaks := r == '\n' || r == '\r'
		switch {
		case breaks && broken:
		case IsControl(r):
			line.WriteByte(' ')
		case isInvisible(r):
			fmt.Fprintf(&line, `\u%04x`, r)
		default:
			line.WriteRune(r)
		}
		broken = breaks
	}
	return strings.TrimSpace(line.String())
}

// IsControl reports whether a rune can control a terminal: C0, DEL and C1.
func IsControl(r rune) bool { return r < ' ' || r >= 0x7F && r <= 0x9F }

// isInvisible reports whether a rune is a format character, such as a text direction mark, or a
// line separator.
func isInvisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }

var passwords = regexp.MustCompile(`(?i)(://[^\s:/@]*:)[^\s@]+@|(\b(?:password|passwd|pwd)\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:[^\s;&'\\]|\\.)+)`)

// WithoutPasswords removes passwords in URLs from a text, as the last line of defence.
func WithoutPasswords(text string) string {
	return passwords.ReplaceAllStringFunc(text, func(found string) string {
		m := passwords.FindStringSubmatch(found)
		if m[1] != "" {
			return m[1] + "xxxxx@"
		}
		return m[2] + "xxxxx"
	})
}

// Plural formats a number with its noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Quote quotes a text as one word for a POSIX shell.
func Quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Or joins words as a choice: "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

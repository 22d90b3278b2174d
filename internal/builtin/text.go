package builtin

import (
	"strings"
	"unicode/utf8"
)

// outputLimit is how much is kept of each output of a command and of a response body. Even if every
// byte is escaped to six, two outputs stay below holdfast.MaxPayload, and so do a body and the kept
// headers.
const outputLimit = 64 << 10

// tail is a writer that keeps the last bytes written to it, because errors are at the end of an
// output.
type tail struct {
	limit int
	kept  []byte
	cut   bool // something was dropped
}

func newTail(limit int) *tail { return &tail{limit: limit} }

// Write never fails: a command must not fail because of a full tail.
func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > t.limit {
		p, t.cut = p[n-t.limit:], true
	}
	if over := len(t.kept) + len(p) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// String returns the kept bytes as text that a result may contain.
func (t *tail) String() string {
	kept := t.kept
	if t.cut {
		kept = skipPartialRune(kept)
	}
	return printable(kept)
}

// last returns the end of a text, for an error message.
func last(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	return "…" + string(skipPartialRune([]byte(text[len(text)-n:])))
}

// skipPartialRune drops the bytes of a rune whose start was cut off.
func skipPartialRune(b []byte) []byte {
	for i := 0; i < len(b) && i < utf8.UTFMax-1; i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// printable turns bytes into text: invalid UTF-8, and NUL, which a result must not contain, become
// U+FFFD.
func printable(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

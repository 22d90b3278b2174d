package builtin

import (
	"strings"
	"unicode/utf8"
)

// outputLimit is how much is kept of each output of a command and of the body of an answer. With every byte escaped, which makes six of
// it, two outputs stay below holdfast.MaxPayload, and so do a body and the kept headers.
const outputLimit = 64 << 10

// tail is a writer that keeps the last bytes of what is written to it: the end of an output is where the error is.
type tail struct {
	limit int
	kept  []byte
	cut   bool // something was dropped
}

func newTail(limit int) *tail { return &tail{limit: limit} }

// Write never fails: a command must not die of a full tail.
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

// String is what was kept, as text that a result may hold.
func (t *tail) String() string {
	kept := t.kept
	if t.cut {
		kept = skipPartialRune(kept)
	}
	return printable(kept)
}

// last is the end of a text, for an error message.
func last(text string, n int) string {
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	return "…" + string(skipPartialRune([]byte(text[len(text)-n:])))
}

// skipPartialRune drops the bytes of a rune whose beginning was cut off.
func skipPartialRune(b []byte) []byte {
	for i := 0; i < len(b) && i < utf8.UTFMax-1; i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// printable makes text of any bytes: what is not UTF-8, and NUL, which a result may not hold, becomes U+FFFD.
func printable(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

package usercode

import "strings"

// ValidText replaces what databases refuse in a text: bytes that are not UTF-8, and NUL.
func ValidText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// Limits of what is kept of texts that handlers produce, in bytes.
const (
	MaxMessage = 1 << 10
	MaxError   = 16 << 10
	MaxTrace   = 64 << 10
)

// Cut shortens a text to at most n bytes of valid UTF-8 without NUL, which databases refuse.
func Cut(s string, n int) string {
	s = ValidText(s)
	if len(s) <= n {
		return s
	}
	const mark = "… (cut)"
	end := n - len(mark)
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end] + mark
}

// CutError shortens the text of an error to what is kept of it.
func CutError(s string) string { return Cut(s, MaxError) }

// CutTrace shortens a stack to what is kept of it.
func CutTrace(s string) string { return Cut(s, MaxTrace) }

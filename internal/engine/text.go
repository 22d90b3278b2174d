package engine

import "strings"

// validText replaces what databases refuse in a text: bytes that are not UTF-8, and NUL.
func validText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

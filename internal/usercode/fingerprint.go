package usercode

import (
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// varying is what differs between failures that are alike: ids, addresses, numbers.
var varying = regexp.MustCompile(`(?i)\b(?:0x)?[0-9a-f-]*[0-9][0-9a-f-]*\b|[0-9]+`)

// Fingerprint is the same for failures of a kind that are alike: with the same reason and, but for
// what varies from one to the next, the same first line of the error. It is never 0.
func Fingerprint(kind string, reason store.Reason, text string) int64 {
	line, _, _ := strings.Cut(text, "\n")
	h := fnv.New64a()
	for _, part := range []string{kind, string(reason), varying.ReplaceAllString(line, "0")} {
		_, _ = h.Write([]byte(part)) // never fails
		_, _ = h.Write([]byte{0})
	}
	if sum := int64(h.Sum64()); sum != 0 {
		return sum
	}
	return 1
}

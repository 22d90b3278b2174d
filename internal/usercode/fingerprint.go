package usercode

import (
	"hash/fnv"

	"github.com/holdfastdev/holdfast/internal/alike"
	"github.com/holdfastdev/holdfast/store"
)

// Fingerprint is the same for failures of a kind that are alike: with the same reason and, but for
// what varies from one to the next, the same first line of the error (package alike). It is the
// same in every process with the same version of the rules, and another one with any other. It is
// never 0.
func Fingerprint(kind string, reason store.Reason, text string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{alike.Version, 0}) // never fails
	for _, part := range []string{kind, string(reason), alike.Text(text)} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0})
	}
	if sum := int64(h.Sum64()); sum != 0 {
		return sum
	}
	return 1
}

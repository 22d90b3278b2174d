package journal

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTokenCutOff: whatever a token ends with, a shorter one with a line break in place of what is
// missing is none.
func TestTokenCutOff(t *testing.T) {
	id := store.NewID()
	for range 200 {
		token := NewToken(id)
		if job, err := JobOfToken(token); err != nil || job != id {
			t.Fatalf("%q is of job %s, %v; want %s", token, job, err, id)
		}
		for _, cut := range []string{token[:len(token)-1] + "\n", token[:len(token)-1], token + "\n"} {
			if _, err := JobOfToken(cut); !errors.Is(err, store.ErrInvalid) {
				t.Fatalf("%q: %v", cut, err)
			}
		}
	}
}

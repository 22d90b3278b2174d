package journal

import (
	"encoding/base64"
	"errors"
	"strings"
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

// FuzzJobOfToken: whatever is read as a token is, to the last character, the one that is made of
// its job and its secret; so a token that differs in a character is that of another callback, or
// none.
func FuzzJobOfToken(f *testing.F) {
	token := NewToken(store.ID{1, 2, 3})
	bare := strings.TrimPrefix(token, tokenPrefix)
	for _, text := range []string{
		"", tokenPrefix, token, token + "=", token[:tokenLength-1] + "=", token[:tokenLength-2] + "\r\n", tokenPrefix + "\n" + bare[1:],
		tokenPrefix + strings.Repeat("_", 43), tokenPrefix + strings.Repeat("/", 43), tokenPrefix + strings.Repeat("+", 43),
		tokenPrefix + strings.Repeat("A", 42) + "B", "HFC_" + bare, " " + token, token + token,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		job, err := JobOfToken(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) || job != (store.ID{}) {
				t.Errorf("%q: %v, %v", text, job, err)
			}
			return
		}
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, tokenPrefix))
		if err != nil || len(raw) != tokenBytes || store.ID(raw[:16]) != job {
			t.Fatalf("%q is of job %s, and has %x, %v", text, job, raw, err)
		}
		if made := tokenOf(job, raw[16:]); made != text {
			t.Errorf("%q is read as %q", text, made)
		}
	})
}

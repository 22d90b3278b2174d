package journal

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

const tokenPrefix = "hfc_"

const (
	tokenBytes  = 32
	tokenLength = len(tokenPrefix) + 43 // of the prefix and the base64 of the bytes
)

// NewToken makes a token out of a job's id and 128 random bits.
func NewToken(job store.ID) string {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails
	return tokenOf(job, secret)
}

func tokenOf(job store.ID, secret []byte) string {
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(append(job[:], secret...))
}

// JobOfToken returns the job that a callback's token belongs to, or ErrInvalid for what is no
// token.
func JobOfToken(token string) (store.ID, error) {
	invalid := fmt.Errorf("%w: not a callback token: tokens begin with %s and have %d characters", store.ErrInvalid, tokenPrefix, tokenLength)
	text, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok || len(token) != tokenLength {
		return store.ID{}, invalid
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != tokenBytes { // what decodes ignores line breaks, so that it may have fewer
		return store.ID{}, fmt.Errorf("%w: not a callback token: a letter of it is wrong", store.ErrInvalid)
	}
	return uuid.FromBytes(raw[:16])
}

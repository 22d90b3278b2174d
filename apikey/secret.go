package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

const (
	prefix = "hf_"
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// idLength and checkLength are in digits; secretBytes are the random bytes of a secret, which
	// are secretLength digits.
	idLength, checkLength, secretBytes, secretLength = 12, 6, 32, 43
)

// ErrMalformed is that of a text that cannot be a secret, which is found without a database.
var ErrMalformed = errors.New("this is no API key")

// MalformedError says why a text cannot be a secret. It is ErrMalformed, and does not contain the
// text.
type MalformedError struct{ Why string }

// Error implements error.
func (e *MalformedError) Error() string { return ErrMalformed.Error() + ": " + e.Why }

// Is makes it ErrMalformed.
func (e *MalformedError) Is(target error) bool { return target == ErrMalformed }

// newSecret makes a secret, and returns it with its id.
func newSecret() (id, secret string) {
	random := make([]byte, idLength+secretBytes)
	_, _ = rand.Read(random) // it never fails
	id = base62(new(big.Int).SetBytes(random[:idLength]), idLength)
	body := prefix + id + "_" + base62(new(big.Int).SetBytes(random[idLength:]), secretLength)
	return id, body + "_" + check(body)
}

// base62 is a number in so many digits, the last ones of it.
func base62(n *big.Int, length int) string {
	text, rest := make([]byte, length), new(big.Int)
	for i := length - 1; i >= 0; i-- {
		n.DivMod(n, big.NewInt(int64(len(digits))), rest)
		text[i] = digits[rest.Int64()]
	}
	return string(text)
}

func check(body string) string {
	return base62(big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))), checkLength)
}

// Parse returns the id in a secret. The error is a *MalformedError for what no New has made: a
// mistyped or cut secret is found by its checksum, without a look into a database.
func Parse(secret string) (id string, err error) {
	rest, found := strings.CutPrefix(secret, prefix)
	parts := strings.Split(rest, "_")
	switch {
	case !found:
		return "", &MalformedError{"it does not begin with " + prefix}
	case len(parts) != 3 || len(parts[0]) != idLength || len(parts[1]) != secretLength || len(parts[2]) != checkLength:
		return "", &MalformedError{fmt.Sprintf("it has %d characters in %d parts; a whole one has %d in 4", len(secret), len(parts)+1,
			len(prefix)+idLength+secretLength+checkLength+2)}
	case check(secret[:len(secret)-checkLength-1]) != parts[2]:
		return "", &MalformedError{"its checksum is wrong; a character of it was changed"}
	}
	return parts[0], nil
}

// hashOf is what is kept of a secret. Its 32 random bytes cannot be guessed, however fast hashes
// are: a slow hash, as passwords need it, would only cost each request.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

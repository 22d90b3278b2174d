package apikey

import (
	"bytes"
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
	whole                                            = len(prefix) + idLength + 1 + secretLength + 1 + checkLength
)

// most are the digits of the largest number of secretBytes bytes. Digits are in the order of their
// characters, so that numbers of as many digits compare as texts.
var most = base62(new(big.Int).SetBytes(bytes.Repeat([]byte{0xff}, secretBytes)), secretLength)

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
	return secretOf(random)
}

// secretOf is the secret of random bytes.
func secretOf(random []byte) (id, secret string) {
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
// mistyped or cut secret is found by its checksum, without a look into a database. Nothing is done
// with a text that is too long.
func Parse(secret string) (id string, err error) {
	if !strings.HasPrefix(secret, prefix) {
		return "", &MalformedError{"it does not begin with " + prefix}
	}
	if len(secret) != whole {
		return "", &MalformedError{fmt.Sprintf("it has %d characters; a whole one has %d", len(secret), whole)}
	}
	rest := secret[len(prefix):]
	id, random, sum := rest[:idLength], rest[idLength+1:idLength+1+secretLength], rest[len(rest)-checkLength:]
	switch {
	case rest != id+"_"+random+"_"+sum || strings.Trim(id+random+sum, digits) != "":
		return "", &MalformedError{"it is not made of letters and digits, in three parts with _ between them"}
	case check(secret[:whole-checkLength-1]) != sum:
		return "", &MalformedError{"its checksum is wrong; a character of it was changed"}
	case random > most:
		return "", &MalformedError{"it is none that a key can have"}
	}
	return id, nil
}

// hashOf is what is kept of a secret. Its 32 random bytes cannot be guessed, however fast hashes
// are: a slow hash, as passwords need it, would only cost each request.
func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

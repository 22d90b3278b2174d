package apikey

import (
	"errors"
	"math/big"
	"strings"
	"testing"
)

// number is that of digits; false: they are none.
func number(text string) (*big.Int, bool) {
	n := new(big.Int)
	for _, c := range []byte(text) {
		at := strings.IndexByte(digits, c)
		if at < 0 {
			return nil, false
		}
		n.Add(n.Mul(n, big.NewInt(int64(len(digits)))), big.NewInt(int64(at)))
	}
	return n, true
}

// FuzzMade: a secret that was made is read, and none that differs from it in a character, or in its
// length.
func FuzzMade(f *testing.F) {
	f.Add(make([]byte, idLength+secretBytes), uint(0), byte(1), "")
	f.Add([]byte(strings.Repeat("\xff", idLength+secretBytes)), uint(16), byte(0x20), "\n")
	f.Add([]byte(strings.Repeat("k", idLength+secretBytes)), uint(70), byte(0xff), "_")
	f.Fuzz(func(t *testing.T, random []byte, at uint, change byte, more string) {
		if len(random) != idLength+secretBytes {
			return // no secret is made of so many
		}
		id, secret := secretOf(random)
		if is, err := Parse(secret); err != nil || is != id {
			t.Fatalf("%q is of %q, %v; want %q", secret, is, err, id)
		}
		at %= uint(len(secret))
		changed := []byte(secret)
		changed[at] ^= change
		others := []string{string(changed), secret[:at], secret[at:], secret + more, more + secret, secret[:at] + more + secret[at:]}
		for _, other := range others {
			if _, err := Parse(other); other != secret && !errors.Is(err, ErrMalformed) {
				t.Errorf("%q is taken for a secret beside %q: %v", other, secret, err)
			}
		}
	})
}

// FuzzParse: whatever has a right checksum, too, is refused unless it is, to the last character,
// one that is made of some random bytes.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", prefix, strings.Repeat("_", whole), strings.Repeat("z", whole), most,
		prefix + strings.Repeat("0", idLength) + "_" + strings.Repeat("z", secretLength), // more than 32 bytes
		prefix + strings.Repeat("0", idLength) + "_" + most,
		prefix + strings.Repeat("\x00", idLength) + "_" + strings.Repeat("\n", secretLength),
		prefix + strings.Repeat("-", idLength) + "_" + strings.Repeat(" ", secretLength),
		prefix + strings.Repeat("0", idLength-1) + "__" + strings.Repeat("0", secretLength),
	} {
		f.Add(text)
	}
	_, secret := newSecret()
	f.Add(secret)
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, text + "_" + check(text)} {
			id, err := Parse(text)
			if err != nil {
				if _, typed := errors.AsType[*MalformedError](err); !typed || len(text) >= whole && strings.Contains(err.Error(), text) {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			again := remade(text)
			if again == "" || again != text || text[len(prefix):len(prefix)+idLength] != id {
				t.Errorf("%q is of %q, and one that is made of the same bytes is %q", text, id, again)
			}
		}
	})
}

// remade is the secret that is made of the bytes in a secret; "": of none.
func remade(text string) string {
	parts := strings.Split(text, "_")
	if len(parts) != 4 {
		return ""
	}
	a, isID := number(parts[1])
	b, isSecret := number(parts[2])
	if !isID || !isSecret || a.BitLen() > idLength*8 || b.BitLen() > secretBytes*8 {
		return ""
	}
	random := make([]byte, idLength+secretBytes)
	a.FillBytes(random[:idLength])
	b.FillBytes(random[idLength:])
	_, secret := secretOf(random)
	return secret
}

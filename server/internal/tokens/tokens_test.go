package tokens

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// others are the methods that no test calls.
type others interface{ store.APIKeys }

// oneKey is a database with a key that signs, and counts how often it is asked for.
type oneKey struct {
	others // nil

	key   []byte
	asked int
}

func (o *oneKey) APIKey(context.Context, string) (store.APIKey, error) {
	o.asked++
	return store.APIKey{ID: signerID + "000001", Hash: o.key}, nil
}

func (o *oneKey) APIKeys(context.Context, store.APIKeyParams) ([]store.APIKey, error) {
	k, err := o.APIKey(context.Background(), "")
	return []store.APIKey{k}, err
}

var key = []byte(strings.Repeat("k", 32))

// refused checks that a text is no token, of anything.
func refused(t *testing.T, s *Signer, text string) {
	t.Helper()
	for _, of := range []Of{Worker, Run} {
		if data, err := s.Open(t.Context(), of, text); !errors.Is(err, ErrForged) || data != nil {
			t.Errorf("%q is taken for a token of %x, %v", text, data, err)
		}
	}
}

// TestTooLong: what is too long for a token is refused, though it is signed, and without a look
// into the database.
func TestTooLong(t *testing.T) {
	t.Parallel()
	o := &oneKey{key: key}
	longest := base64.RawURLEncoding.DecodedLen(MaxLength-len(Run)) - macSize
	refused(t, New(o), seal(key, Run, make([]byte, longest+1)))
	refused(t, New(o), string(Run)+strings.Repeat("A", 1<<20))
	if o.asked > 0 {
		t.Errorf("the database was asked %d times", o.asked)
	}
	if data, err := New(o).Open(t.Context(), Run, seal(key, Run, make([]byte, longest))); err != nil || len(data) != longest {
		t.Errorf("the longest one: %d bytes, %v", len(data), err)
	}
}

// FuzzSign: a token that was signed is opened, as what it is of, and none that differs from it in a
// character, or in its length; nor is what another database has signed.
func FuzzSign(f *testing.F) {
	f.Add([]byte(nil), uint(0), byte(0x20), "")
	f.Add([]byte("{}"), uint(25), byte(1), "\n")
	f.Add([]byte("12345"), uint(31), byte(3), "=")
	f.Fuzz(func(t *testing.T, data []byte, at uint, change byte, more string) {
		s := New(&oneKey{key: key})
		token, err := s.Sign(t.Context(), Worker, data)
		if err != nil {
			t.Fatal(err)
		}
		if len(token) > MaxLength {
			refused(t, s, token)
			return
		}
		if got, err := s.Open(t.Context(), Worker, token); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%q carries %x, %v; not %x", token, got, err, data)
		}
		at %= uint(len(token))
		changed := []byte(token)
		changed[at] ^= change
		bare := token[len(Worker):]
		for _, other := range []string{
			string(changed), token[:at], token[at:], token + more, more + token, token[:at] + more + token[at:], string(Run) + bare, bare,
			seal(bytes.Repeat([]byte("x"), len(key)), Worker, data),
		} {
			if other != token {
				refused(t, s, other)
			}
		}
	})
}

// FuzzOpen: whatever is opened is, to the last character, what is signed of what it carries: also
// if it encodes the right bytes in other letters, with padding, unused bits or line breaks.
func FuzzOpen(f *testing.F) {
	token := seal(key, Run, []byte("lease"))
	for _, text := range []string{
		"", string(Run), token, token + "=", token + "\n", token[:9] + "\r\n" + token[9:], strings.ToUpper(token), string(Run) + "AA==",
		string(Run) + "/+8", string(Run) + "_-8", string(Run) + "_-9", string(Worker) + token[len(Run):], " " + token,
	} {
		f.Add(text, []byte("lease"), uint(7), "\n")
	}
	f.Fuzz(func(t *testing.T, text string, carried []byte, at uint, between string) {
		raw := append(mac(key, Run, carried), carried...)
		bare := base64.RawURLEncoding.EncodeToString(raw)
		at %= uint(len(bare))
		texts := []string{text, string(Run) + bare[:at] + between + bare[at:], string(Run) + bare + between}
		for _, other := range []*base64.Encoding{base64.RawStdEncoding, base64.URLEncoding, base64.StdEncoding} {
			texts = append(texts, string(Run)+other.EncodeToString(raw))
		}
		for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
			texts = append(texts, string(Run)+bare[:len(bare)-1]+string(last))
		}
		s := New(&oneKey{key: key})
		for _, one := range texts {
			data, err := s.Open(t.Context(), Run, one)
			switch {
			case err == nil && seal(key, Run, data) != one:
				t.Errorf("%q is opened as %q", one, seal(key, Run, data))
			case err != nil && !errors.Is(err, ErrForged):
				t.Errorf("%q: %v", one, err)
			}
		}
	})
}

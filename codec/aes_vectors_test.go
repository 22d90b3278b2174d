package codec

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// TestXAES: the construction is that of c2sp.org/XAES-256-GCM, by its test vectors.
func TestXAES(t *testing.T) {
	for _, c := range []struct {
		key       byte
		aad, want string
	}{
		{1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		k := Key{ID: "k"}
		copy(k.Secret[:], bytes.Repeat([]byte{c.key}, KeyBytes))
		s, err := newSecret(k)
		if err != nil {
			t.Fatal(err)
		}
		nonce := []byte("ABCDEFGHIJKLMNOPQRSTUVWX")
		a, err := s.derive([prefixBytes]byte(nonce))
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(a.Seal(nil, nonce[prefixBytes:], []byte("XAES-256-GCM"), []byte(c.aad))); got != c.want {
			t.Errorf("key %d: %s, want %s", c.key, got, c.want)
		}
	}
}

package codec

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// KeyBytes is how many bytes a key has.
const KeyBytes = 32

// Key is a secret with a name. The name is stored with each value, in plain, and must never be
// given to another secret.
type Key struct {
	ID     string // 1 to 64 letters, digits, and any of "-", "_", ".", "/"
	Secret [KeyBytes]byte
}

// String returns the name, and never the secret.
func (k Key) String() string { return "codec key " + k.ID }

// GoString is String.
func (k Key) GoString() string { return k.String() }

// MarshalText makes the key its name where it is written by mistake, such as in a log.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// NewKey draws a key with that name. The error is ErrInvalid for a name that none can have.
func NewKey(id string) (Key, error) {
	k := Key{ID: id}
	if err := checkID(id); err != nil {
		return Key{}, err
	}
	_, _ = rand.Read(k.Secret[:]) // it never fails
	return k, nil
}

// Line is the key as ParseKeys reads it: its name, a colon and its secret in base64.
func (k Key) Line() string { return k.ID + ":" + base64.StdEncoding.EncodeToString(k.Secret[:]) }

// ParseKeys reads keys, one in each line: NAME:SECRET, with the secret, of 32 bytes, in base64.
// Empty lines, and those that begin with "#", are passed over. The first key is the one that
// encodes. The error is ErrInvalid, and does not contain secrets.
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("%w (line %d of the codec keys)", err, i+1)
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there is no codec key; each line has the form NAME:SECRET", store.ErrInvalid)
	}
	return keys, nil
}

func parseKey(line string) (k Key, err error) {
	id, secret, found := strings.Cut(line, ":")
	if !found {
		return k, fmt.Errorf("%w: a codec key has the form NAME:SECRET; there is no colon", store.ErrInvalid)
	}
	if k.ID = strings.TrimSpace(id); checkID(k.ID) != nil {
		return Key{}, fmt.Errorf("%w: the name of a codec key has 1 to %d letters, digits, and any of \"-_./\"", store.ErrInvalid,
			store.MaxCodecKey)
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(secret))
	if err != nil || len(data) != KeyBytes {
		return Key{}, fmt.Errorf("%w: the secret of codec key %q is not %d bytes in base64", store.ErrInvalid, k.ID, KeyBytes)
	}
	copy(k.Secret[:], data)
	return k, nil
}

// ReadKeys reads a file of keys, as ParseKeys does.
func ReadKeys(path string) ([]Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: reading the codec keys: %w", store.ErrInvalid, err)
	}
	return ParseKeys(string(text))
}

// checkID refuses names that would not be readable wherever they are shown.
func checkID(id string) error {
	ok := id != "" && len(id) <= store.MaxCodecKey
	for _, r := range id {
		ok = ok && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r))
	}
	if !ok {
		return fmt.Errorf("%w: codec key %.70q: a name has 1 to %d letters, digits, and any of \"-_./\"", store.ErrInvalid, id, store.MaxCodecKey)
	}
	return nil
}

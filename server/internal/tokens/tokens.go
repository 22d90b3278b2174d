// Package tokens signs what a caller is to send along later, so that no server has to keep it:
// every server of the database reads it, and none reads what was made elsewhere, or changed.
//
// There is one text for each token: whatever Open takes is, to the last character, what Sign has
// made. A text that is longer than MaxLength is refused before it is read.
//
// # Imports
//
// Of ours, store.
package tokens

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The key by which tokens are signed is kept with the API keys of the database, as one without a
// secret: its hash is random, so that no caller comes in with it. So all servers of the database
// share it, it is on record, and revoking it makes all tokens void.
const (
	signerID    = "workers-"
	signerName  = "signs the tokens of workers"
	signerScope = "workers:sign"
	signerActor = "server"
)

const (
	// keyKept is how long a key is used without a look whether it was revoked: as long as servers
	// let in API keys that were.
	keyKept = 10 * time.Second
	// keyAgain is how long after a look there is none because a token does not fit.
	keyAgain = time.Second
	// macSize is how many bytes of the MAC a token has.
	macSize = 16
)

// MaxLength is how long a token may be, in bytes: it is in the path of requests, and proxies let
// those have 8 KiB.
const MaxLength = 6 << 10

// Of is what tokens are of. It is their prefix, too.
type Of string

// What tokens are of.
const (
	Worker Of = "hfw_"
	Run    Of = "hfr_"
)

// ErrForged is the error of what is no token of this database.
var ErrForged = errors.New("it is no token of this database's workers")

// Signer signs tokens, and checks them.
type Signer struct {
	store store.APIKeys

	mu     sync.Mutex
	id     string
	key    []byte
	looked time.Time
}

// New returns what signs with the key of a database.
func New(keys store.APIKeys) *Signer { return &Signer{store: keys} }

// current is the key. It is read again if that was longer ago than kept.
func (s *Signer) current(ctx context.Context, kept time.Duration) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil && time.Since(s.looked) < kept {
		return s.key, nil
	}
	if s.id != "" {
		k, err := s.store.APIKey(ctx, s.id)
		switch {
		case err == nil && k.RevokedAt.IsZero():
			s.key, s.looked = k.Hash, time.Now()
			return s.key, nil
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return nil, err
		}
	}
	k, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	s.id, s.key, s.looked = k.ID, k.Hash, time.Now()
	return s.key, nil
}

// find returns the last key, or makes one if there is none or it was revoked. Of servers that do so
// at once one makes it.
func (s *Signer) find(ctx context.Context) (store.APIKey, error) {
	for {
		last, number, err := s.last(ctx)
		if err != nil || number > 0 && last.RevokedAt.IsZero() {
			return last, err
		}
		key := store.APIKey{
			ID: fmt.Sprintf("%s%06d", signerID, number+1), Hash: make([]byte, sha256.Size), Name: signerName, Scopes: []string{signerScope},
			CreatedBy: signerActor,
		}
		_, _ = rand.Read(key.Hash) // it never fails
		made, err := s.store.CreateAPIKey(ctx, key)
		if !errors.Is(err, store.ErrConflict) {
			return made, err
		}
	}
}

// last is the key with the highest number; 0: there is none. It looks at all API keys, as databases
// differ in the order of their ids.
func (s *Signer) last(ctx context.Context) (last store.APIKey, number int, err error) {
	const page = 1000
	params := store.APIKeyParams{Limit: page}
	for {
		keys, err := s.store.APIKeys(ctx, params)
		if err != nil {
			return last, 0, err
		}
		for i := range keys {
			digits, is := strings.CutPrefix(keys[i].ID, signerID)
			if n, err := strconv.Atoi(digits); is && err == nil && n > number {
				last, number = keys[i], n
			}
		}
		if len(keys) < page {
			return last, number, nil
		}
		params.After = keys[len(keys)-1].ID
	}
}

// Sign returns the token of what it is to carry.
func (s *Signer) Sign(ctx context.Context, of Of, data []byte) (string, error) {
	key, err := s.current(ctx, keyKept)
	if err != nil {
		return "", err
	}
	return seal(key, of, data), nil
}

func seal(key []byte, of Of, data []byte) string {
	return string(of) + base64.RawURLEncoding.EncodeToString(append(mac(key, of, data), data...))
}

func mac(key []byte, of Of, data []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(of))
	h.Write(data)
	return h.Sum(nil)[:macSize:macSize]
}

// Open returns what a token carries. The error is ErrForged, or that of the database.
func (s *Signer) Open(ctx context.Context, of Of, token string) ([]byte, error) {
	text, is := strings.CutPrefix(token, string(of))
	if !is || len(token) > MaxLength || strings.ContainsAny(text, "\r\n") { // which what decodes ignores
		return nil, ErrForged
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < macSize {
		return nil, ErrForged
	}
	for _, kept := range [...]time.Duration{keyKept, keyAgain} {
		key, err := s.current(ctx, kept)
		if err != nil {
			return nil, err
		}
		if hmac.Equal(mac(key, of, raw[macSize:]), raw[:macSize]) {
			return raw[macSize:], nil
		}
	}
	return nil, ErrForged
}

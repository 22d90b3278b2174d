package codec

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// The construction is XAES-256-GCM (c2sp.org/XAES-256-GCM): the first half of a nonce of 192 bits
// and the key make, by AES alone, the key under which AES-256-GCM seals with the second half. An
// encoder draws the first half for many values, and the second half, of 96 bits, for each. So no
// key that seals is used for more than valuesPerPrefix values, and a user's key may seal as many
// values as there are: of 2^80 two have the same nonce with a probability of 2^-32.

const (
	prefixBytes = 12
	nonceBytes  = prefixBytes + 12
	tagBytes    = 16

	// valuesPerPrefix is for how many values a prefix is used: far below the 2^32 up to which
	// random nonces of 96 bits are safe.
	valuesPerPrefix = 1 << 24
	// maxSealers bounds how many derived keys are remembered for decoding: about a kilobyte each.
	maxSealers = 1024
)

// AES returns a codec that encrypts with AES-256-GCM. The first key encrypts; all of them decrypt.
// Each value is bound to its purpose and its namespace, and to the name of the key. The errors are
// ErrInvalid: no key, a name that none can have, or one that two keys have.
func AES(keys ...Key) (store.Codec, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: codec.AES needs a key; codec.NewKey makes one", store.ErrInvalid)
	}
	c := &aesCodec{first: keys[0].ID, keys: map[string]*secret{}}
	for _, k := range keys {
		if err := checkID(k.ID); err != nil {
			return nil, err
		}
		if c.keys[k.ID] != nil {
			return nil, fmt.Errorf("%w: codec key %q is given twice", store.ErrInvalid, k.ID)
		}
		s, err := newSecret(k)
		if err != nil {
			return nil, err
		}
		c.keys[k.ID] = s
	}
	return c, nil
}

type aesCodec struct {
	first string
	keys  map[string]*secret

	mu     sync.Mutex
	prefix [prefixBytes]byte
	sealer cipher.AEAD // of the prefix; nil: none is drawn
	left   int         // for how many values it may be used yet
}

// secret is a key, and the keys that were derived from it.
type secret struct {
	block  cipher.Block
	subkey [aes.BlockSize]byte // K1 of CMAC

	mu      sync.Mutex
	sealers map[[prefixBytes]byte]cipher.AEAD
}

func newSecret(k Key) (*secret, error) {
	block, err := aes.NewCipher(k.Secret[:])
	if err != nil {
		return nil, fmt.Errorf("%w: codec key %q: %w", store.ErrInvalid, k.ID, err)
	}
	s := &secret{block: block, sealers: map[[prefixBytes]byte]cipher.AEAD{}}
	block.Encrypt(s.subkey[:], s.subkey[:])
	carry := s.subkey[0] >> 7
	for i := range s.subkey {
		next := byte(0)
		if i+1 < len(s.subkey) {
			next = s.subkey[i+1] >> 7
		}
		s.subkey[i] = s.subkey[i]<<1 | next
	}
	s.subkey[len(s.subkey)-1] ^= carry * 0x87
	return s, nil
}

// derive returns the AES-256-GCM of a prefix.
func (s *secret) derive(prefix [prefixBytes]byte) (cipher.AEAD, error) {
	key := make([]byte, 0, 2*aes.BlockSize)
	for counter := byte(1); counter <= 2; counter++ {
		m := [aes.BlockSize]byte{0, counter, 'X', 0}
		copy(m[4:], prefix[:])
		for i := range m {
			m[i] ^= s.subkey[i]
		}
		s.block.Encrypt(m[:], m[:])
		key = append(key, m[:]...)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// opener is derive, of prefixes that come again and again.
func (s *secret) opener(prefix [prefixBytes]byte) (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.sealers[prefix]; a != nil {
		return a, nil
	}
	a, err := s.derive(prefix)
	if err != nil {
		return nil, err
	}
	if len(s.sealers) >= maxSealers {
		clear(s.sealers)
	}
	s.sealers[prefix] = a
	return a, nil
}

// take returns the prefix for n values, and its AES-256-GCM.
func (c *aesCodec) take(n int) ([prefixBytes]byte, cipher.AEAD, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sealer == nil || c.left < n {
		_, _ = rand.Read(c.prefix[:]) // it never fails
		a, err := c.keys[c.first].derive(c.prefix)
		if err != nil {
			return c.prefix, nil, fmt.Errorf("codec key %q: %w", c.first, err)
		}
		c.sealer, c.left = a, valuesPerPrefix
	}
	c.left -= n
	return c.prefix, c.sealer, nil
}

// Encode implements store.Codec.
func (c *aesCodec) Encode(_ context.Context, payloads []*store.Payload) error {
	prefix, sealer, err := c.take(len(payloads))
	if err != nil {
		return err
	}
	const each = nonceBytes - prefixBytes
	random := make([]byte, each*len(payloads)) // a call of the kernel for all
	_, _ = rand.Read(random)
	for i, p := range payloads {
		p.Key = c.first
		b := make([]byte, nonceBytes, nonceBytes+len(p.Plain)+tagBytes)
		copy(b, prefix[:])
		copy(b[prefixBytes:], random[i*each:(i+1)*each])
		p.Stored = sealer.Seal(b, b[prefixBytes:], p.Plain, boundTo(p))
	}
	return nil
}

// Decode implements store.Codec.
func (c *aesCodec) Decode(_ context.Context, payloads []*store.Payload) error {
	for _, p := range payloads {
		p.Plain, p.Err = c.decode(p)
	}
	return nil
}

func (c *aesCodec) decode(p *store.Payload) ([]byte, error) {
	s := c.keys[p.Key]
	if s == nil {
		return nil, &store.MissingKeyError{Key: p.Key}
	}
	if len(p.Stored) < nonceBytes+tagBytes {
		return nil, &store.DamagedError{Key: p.Key, Purpose: p.Purpose}
	}
	opener, err := s.opener([prefixBytes]byte(p.Stored))
	if err != nil {
		return nil, fmt.Errorf("codec key %q: %w", p.Key, err)
	}
	plain, err := opener.Open(nil, p.Stored[prefixBytes:nonceBytes], p.Stored[nonceBytes:], boundTo(p))
	if err != nil {
		return nil, &store.DamagedError{Key: p.Key, Purpose: p.Purpose}
	}
	return plain, nil
}

// boundTo is what is authenticated with a value: each part behind its length.
func boundTo(p *store.Payload) []byte {
	b := make([]byte, 0, 16+len(p.Purpose)+len(p.Namespace)+len(p.Key))
	b = append(b, "holdfast 1"...)
	for _, part := range [...]string{string(p.Purpose), p.Namespace, p.Key} {
		b = append(append(b, byte(len(part))), part...)
	}
	return b
}

// Package keyhash computes unique keys. They are stored, and computed by SQL too (see
// docs/databases.md), so what it makes of the same parts never changes.
//
// It imports nothing of ours.
package keyhash

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Size is the length of a key, in bytes.
const Size = 16

// Hash is a key in the making: the first 16 bytes of SHA-256 over its parts, of which each name and
// each value is preceded by its length, so that different lists of parts differ.
type Hash struct{ sum hash.Hash }

// New begins a key within a namespace.
func New(namespace string) Hash {
	h := Hash{sha256.New()}
	h.Add("namespace", []byte(namespace))
	return h
}

// Add adds a part.
func (h Hash) Add(name string, value []byte) {
	var size [8]byte
	for _, text := range [][]byte{[]byte(name), value} {
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		h.sum.Write(size[:])
		h.sum.Write(text)
	}
}

// Key returns the key.
func (h Hash) Key() []byte { return h.sum.Sum(nil)[:Size] }

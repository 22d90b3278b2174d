package store

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/google/uuid"
)

// Maker is a mark of the process that has made an id, in its random bits. Two processes may have
// the same one, and an id that a caller has chosen may have any: it is a hint, with which a process
// names all the jobs that it is about to enqueue. Zero is none.
type Maker uint16

// thisProcess is the mark of the ids that this process makes.
var thisProcess = Maker(1 + rand.IntN(1<<16-1))

// ThisProcess returns the mark of the ids that NewID makes.
func ThisProcess() Maker { return thisProcess }

// NewID makes an id: a UUIDv7, with the mark of this process.
func NewID() ID {
	id := uuid.Must(uuid.NewV7())
	binary.BigEndian.PutUint16(id[9:], uint16(thisProcess))
	return id
}

// MakerOf returns the mark in an id.
func MakerOf(id ID) Maker { return Maker(binary.BigEndian.Uint16(id[9:])) }

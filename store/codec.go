package store

import (
	"context"
	"fmt"
)

// Codec writes payloads into another form before they are stored, such as an encrypted one, and
// back. holdfast/codec has one; a program may have its own. All methods may be called by many
// goroutines at once.
type Codec interface {
	// Encode sets Stored and Key of each payload. An error is one of all of them: nothing is
	// written then, as if the database had not answered, so that what a run has done is not lost
	// while a codec needs something that is not there for a moment.
	Encode(ctx context.Context, payloads []*Payload) error
	// Decode sets Plain of each payload, or its Err: a *MissingKeyError if this process lacks the
	// key, or a *DamagedError. An error is one of all payloads: they count as if their keys were
	// missing. It must not change Stored.
	Decode(ctx context.Context, payloads []*Payload) error
}

// Payload is a value that a codec encodes or decodes.
type Payload struct {
	// Purpose says what the value is, and Namespace where it belongs; "" if who writes it cannot
	// tell. A codec that authenticates binds a value to both, so that it is not read elsewhere.
	Purpose   Purpose
	Namespace string
	// Key names what it was encoded with, at most MaxCodecKey bytes of text. It is stored and shown
	// as it is.
	Key    string
	Plain  []byte // never empty
	Stored []byte
	Err    error // of Decode
}

// MaxCodecKey is how long the name of a key may be, in bytes.
const MaxCodecKey = 64

// Purpose says what a payload is. The purposes are stored, as a part of what values are bound to,
// and never change their meaning.
type Purpose string

// The purposes.
const (
	PurposeArgs       Purpose = "args"       // of a job, or of one that a schedule or a batch will enqueue
	PurposeResult     Purpose = "result"     // of a job, also as its parent is told it
	PurposeEntry      Purpose = "entry"      // of a journal, with what was published and streamed
	PurposeMessage    Purpose = "message"    // a signal, or the answer to a callback
	PurposeUpdate     Purpose = "update"     // a request to a run
	PurposeAnswer     Purpose = "answer"     // to such a request
	PurposeCheckpoint Purpose = "checkpoint" // of a run
	PurposeDeclared   Purpose = "declared"   // what code has declared of a schedule
	PurposeLog        Purpose = "log"        // lines that a run has logged
)

// MissingKeyError is the ErrInvalid of a payload that was encoded with a key which this process
// does not have. The job is not damaged: a process that has the key reads it.
type MissingKeyError struct {
	Key string
}

func (e *MissingKeyError) Error() string {
	return fmt.Sprintf("codec key %q is missing on this node", e.Key)
}

// Unwrap makes the error an ErrInvalid.
func (e *MissingKeyError) Unwrap() error { return ErrInvalid }

// EncodeError is the ErrUnavailable of payloads that a codec could not encode, such as for want of
// a key service: the database was not asked, and nothing was written. It may be repeated, and the
// engine repeats it as if the database did not answer.
type EncodeError struct {
	Err error // what the codec has said
}

func (e *EncodeError) Error() string {
	return "holdfast: the codec did not encode the payloads, and nothing was written: " + e.Err.Error()
}

// Unwrap makes the error an ErrUnavailable, and what the codec has said.
func (e *EncodeError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// DamagedError is the ErrInvalid of a payload that is not what was encoded with the key: it was
// changed in the database, or moved from another place, or another key has the same name.
type DamagedError struct {
	Key     string
	Purpose Purpose // "": not known
}

func (e *DamagedError) Error() string {
	what := "a payload"
	if e.Purpose != "" {
		what = "a payload (" + string(e.Purpose) + ")"
	}
	return fmt.Sprintf("%s cannot be decoded with the codec key %q: it was changed or moved in the database, "+
		"or the key is another one of that name",
		what, e.Key)
}

// Unwrap makes the error an ErrInvalid.
func (e *DamagedError) Unwrap() error { return ErrInvalid }

// Package codec encodes the payloads of jobs before they are stored, and decodes them when they are
// read: args, results, what durable functions remember, messages, checkpoints and kept log lines.
// Handlers and callers see plain values.
//
//	keys, err := codec.ReadKeys("/etc/holdfast/codec.keys")
//	c, err := codec.AES(keys...)
//	client, err := holdfast.Open(ctx, source, codec.With(c))
//
// AES encrypts with AES-256-GCM, under keys that have names and can be rotated. A program may have
// a codec of its own, such as one that asks a key service: it implements store.Codec.
//
// Which values are encoded, what stays plain, and how keys are rotated in a fleet of nodes is
// described in docs/payloads.md.
//
// # Imports
//
// The root package, internal/access and store.
package codec

import (
	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// With is an option of holdfast.Open: all payloads that the client writes are encoded with c, and
// those that it reads are decoded. What was written without a codec is read as it is. Default, and
// for nil: none. Of several the last one counts.
//
// A job whose payloads were encoded with a key that c does not have is held when it is claimed, and
// tried again later: after a second at first, and a minute at last. Its attempts do not count
// meanwhile. A value that this client cannot decode stays as it is stored, with the number
// store.SealedCodec, and decoding it into a type is a *store.MissingKeyError or a
// *store.DamagedError.
func With(c store.Codec) holdfast.Option {
	return access.Codec(c).(holdfast.Option) //nolint:errcheck // always one
}

package store

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// A payload that a Codec has encoded is sealed. Its Codec number is SealedCodec, and its bytes are
// an envelope: a header, which everybody can read, and the body that the codec has written. Stores
// keep it like any other payload. Where a database takes nothing but JSON or text the envelope is
// in base64: in an object with one reserved field, or behind a prefix.

// The numbers of sealed payloads.
const (
	// SealedCodec is the number of a payload that is sealed. Who reads one has no codec, or lacks
	// the key.
	SealedCodec = 1 << 30
	// DamagedCodec is the number of a sealed payload that this process has failed to open although
	// it has the key. It is never stored.
	DamagedCodec = SealedCodec | 1
)

// IsSealedCodec reports whether a payload with this number is sealed.
func IsSealedCodec(codec int) bool { return codec == SealedCodec || codec == DamagedCodec }

// Envelope is a sealed payload.
type Envelope struct {
	Key       string // with which it was encoded
	Namespace string // to which it is bound; "": none
	// Args is what HashArgs has made of the plain args, of a job with a business key; or nil.
	Args []byte
	Body []byte // what the codec has written
}

const (
	envelopeMark = 0xFF // of no text, so that no database takes an envelope for one
	envelopeForm = 1
	hasArgs      = 1 // a flag
	argsHash     = 16
	maxBound     = 255 // bytes of a namespace
)

// Bytes writes the envelope. The key and the namespace have at most 255 bytes.
func (e *Envelope) Bytes() []byte {
	b := make([]byte, 0, 5+len(e.Key)+len(e.Namespace)+len(e.Args)+len(e.Body))
	flags := byte(0)
	if len(e.Args) == argsHash {
		flags |= hasArgs
	}
	b = append(b, envelopeMark, envelopeForm, flags, byte(len(e.Key)))
	b = append(append(b, e.Key...), byte(len(e.Namespace)))
	b = append(b, e.Namespace...)
	if flags&hasArgs != 0 {
		b = append(b, e.Args...)
	}
	return append(b, e.Body...)
}

// ParseEnvelope reads what Bytes has written; it shares the bytes.
func ParseEnvelope(data []byte) (e Envelope, ok bool) {
	if len(data) < 5 || data[0] != envelopeMark || data[1] != envelopeForm || data[2]&^hasArgs != 0 {
		return e, false
	}
	flags, rest := data[2], data[3:]
	key, rest, ok := cutCounted(rest)
	if !ok {
		return e, false
	}
	namespace, rest, ok := cutCounted(rest)
	if !ok {
		return e, false
	}
	e.Key, e.Namespace = string(key), string(namespace)
	if flags&hasArgs != 0 {
		if len(rest) < argsHash {
			return Envelope{}, false
		}
		e.Args, rest = rest[:argsHash:argsHash], rest[argsHash:]
	}
	e.Body = rest
	return e, true
}

// cutCounted cuts off bytes behind their number.
func cutCounted(data []byte) (part, rest []byte, ok bool) {
	if len(data) == 0 || len(data) <= int(data[0]) {
		return nil, nil, false
	}
	n := int(data[0])
	return data[1 : 1+n], data[1+n:], true
}

// FitsEnvelope reports whether an envelope can name a key and a namespace.
func FitsEnvelope(key, namespace string) bool {
	return len(key) <= MaxCodecKey && len(namespace) <= maxBound
}

// SealError is why a payload cannot be read, by its number: nil if it is not sealed, else a
// *MissingKeyError or a *DamagedError.
func SealError(data []byte, codec int) error {
	if !IsSealedCodec(codec) {
		return nil
	}
	e, ok := ParseEnvelope(data)
	if !ok || codec == DamagedCodec {
		return &DamagedError{Key: e.Key}
	}
	return &MissingKeyError{Key: e.Key}
}

// WithCodec puts the number of a payload before it, so that both are encoded together.
func WithCodec(data []byte, codec int) []byte {
	b := make([]byte, 0, binary.MaxVarintLen32+len(data))
	return append(binary.AppendUvarint(b, uint64(codec)), data...)
}

// CutCodec takes apart what WithCodec has put together; it shares the bytes.
func CutCodec(plain []byte) (data []byte, codec int, ok bool) {
	n, size := binary.Uvarint(plain)
	if size <= 0 || n > math.MaxInt32 {
		return nil, 0, false
	}
	return plain[size:], int(n), true
}

// sealedField is the field of the object in which an envelope is JSON.
const sealedField = "holdfast_sealed"

// damagedField is that of one that this process has failed to open. It is never stored.
const damagedField = "holdfast_damaged"

// SealedJSON writes an envelope as JSON.
func SealedJSON(envelope []byte) []byte {
	return []byte(`{"` + sealedField + `":"` + base64.StdEncoding.EncodeToString(envelope) + `"}`)
}

// Damaged marks what SealedJSON has written as one that cannot be opened.
func Damaged(value []byte) []byte {
	return bytes.Replace(value, []byte(sealedField), []byte(damagedField), 1)
}

// Undamaged takes that mark away.
func Undamaged(value []byte) []byte {
	return bytes.Replace(value, []byte(damagedField), []byte(sealedField), 1)
}

// OpenSealedJSON returns the envelope that JSON is, and its number; ok is false for any other JSON.
func OpenSealedJSON(value []byte) (envelope []byte, codec int, ok bool) {
	if !bytes.Contains(value, []byte(sealedField)) && !bytes.Contains(value, []byte(damagedField)) {
		return nil, 0, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil || len(fields) != 1 {
		return nil, 0, false
	}
	for name, codec := range map[string]int{sealedField: SealedCodec, damagedField: DamagedCodec} {
		var data []byte
		if text, is := fields[name]; is && json.Unmarshal(text, &data) == nil {
			if _, ok := ParseEnvelope(data); ok {
				return data, codec, true
			}
		}
	}
	return nil, 0, false
}

// SealErrorJSON is SealError of a value that is JSON.
func SealErrorJSON(value []byte) error {
	if data, codec, ok := OpenSealedJSON(value); ok {
		return SealError(data, codec)
	}
	return nil
}

// sealedPrefix begins an envelope that is text.
const sealedPrefix = "holdfast-sealed:"

// SealedText writes an envelope as text.
func SealedText(envelope []byte) string {
	return sealedPrefix + base64.StdEncoding.EncodeToString(envelope)
}

// OpenSealedText returns the envelope that a text is; ok is false for any other text.
func OpenSealedText(text string) (envelope []byte, ok bool) {
	encoded, is := strings.CutPrefix(text, sealedPrefix)
	if !is {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, false
	}
	_, ok = ParseEnvelope(data)
	return data, ok
}

// SealedView is what is shown in place of a sealed payload in JSON: an object with the name of the
// key in encrypted_with, and damaged if that is what it is.
func SealedView(data []byte, codec int) json.RawMessage {
	e, ok := ParseEnvelope(data)
	view := struct {
		Key     string `json:"encrypted_with"`
		Damaged bool   `json:"damaged,omitempty"`
	}{e.Key, !ok || codec == DamagedCodec}
	text, err := json.Marshal(view)
	if err != nil {
		return nil // never: they are plain fields
	}
	return text
}

// SealedNote says in words what a sealed payload is, for people who cannot read it; "" for any
// other.
func SealedNote(data []byte, codec int) string {
	if !IsSealedCodec(codec) {
		return ""
	}
	e, ok := ParseEnvelope(data)
	switch {
	case !ok:
		return "encrypted, and damaged"
	case codec == DamagedCodec:
		return fmt.Sprintf("encrypted with key %q, and damaged", e.Key)
	}
	return fmt.Sprintf("encrypted with key %q", e.Key)
}

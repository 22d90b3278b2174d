package sealed

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
)

// sealing is what one call encodes.
type sealing struct {
	codec store.Codec
	slots []slot
	undo  []func() // puts back slices that were copied
}

// slot is the place of a value in what is passed to the store.
type slot struct {
	purpose   store.Purpose
	namespace string
	hash      []byte // for the envelope

	// Where the value is: bytes with a number, or JSON, if there is no number; or a text.
	data   *[]byte
	number *int
	text   *string

	// What was there.
	wasData   []byte
	wasNumber int
	wasText   string
}

// add lets a value with a number be encoded.
func (s *sealing) add(purpose store.Purpose, namespace string, data *[]byte, number *int) {
	s.addWith(purpose, namespace, data, number, nil)
}

// addWith is add for args, with what Differs compares.
func (s *sealing) addWith(purpose store.Purpose, namespace string, data *[]byte, number *int, hash []byte) {
	switch {
	case *number == store.DamagedCodec:
		s.slots = append(s.slots, slot{data: data, number: number, wasData: *data, wasNumber: *number})
		*number = store.SealedCodec
	case len(*data) > 0 && *number >= 0 && *number <= math.MaxInt32 && *number != store.SealedCodec:
		s.slots = append(s.slots, slot{
			purpose: purpose, namespace: namespace, hash: hash, data: data, number: number, wasData: *data, wasNumber: *number,
		})
	}
}

// addJSON lets a value be encoded that has to stay JSON. One that is none is for the store to
// refuse.
func (s *sealing) addJSON(purpose store.Purpose, namespace string, data *[]byte) {
	switch _, number, is := store.OpenSealedJSON(*data); {
	case is && number == store.DamagedCodec:
		s.slots = append(s.slots, slot{data: data, wasData: *data})
		*data = store.Undamaged(*data)
	case !is && len(*data) > 0 && json.Valid(*data):
		s.slots = append(s.slots, slot{purpose: purpose, namespace: namespace, data: data, wasData: *data})
	}
}

// addText lets a text be encoded. One that a database cannot hold is for the store to refuse.
func (s *sealing) addText(purpose store.Purpose, namespace string, text *string) {
	if _, is := store.OpenSealedText(*text); *text != "" && !is && utf8.ValidString(*text) && !strings.Contains(*text, "\x00") {
		s.slots = append(s.slots, slot{purpose: purpose, namespace: namespace, text: text, wasText: *text})
	}
}

// seal encodes the values and puts them into their places.
func (s *sealing) seal(ctx context.Context) error {
	payloads := make([]store.Payload, 0, len(s.slots))
	list := make([]*store.Payload, 0, len(s.slots))
	for i := range s.slots {
		if p := &s.slots[i]; p.purpose != "" {
			payloads = append(payloads, store.Payload{Purpose: p.purpose, Namespace: bound(p.namespace), Plain: p.plain()})
			list = append(list, &payloads[len(payloads)-1])
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := guarded(func() error { return s.codec.Encode(ctx, list) }); err != nil {
		s.restore()
		return &store.EncodeError{Err: err}
	}
	n := 0
	for i := range s.slots {
		if s.slots[i].purpose == "" {
			continue
		}
		if err := s.slots[i].put(list[n]); err != nil {
			s.restore()
			return err
		}
		n++
	}
	return nil
}

// guarded calls a codec, which may be of a user: that it panics is an error, so that outcomes are
// kept, and jobs held, as when it fails.
func guarded(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the codec panicked: %v, at %s", p, panickedAt()) //nolint:err113 // for people
		}
	}()
	return call()
}

// panickedAt is the place of a panic that its caller has recovered.
func panickedAt() string {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)]) // behind the deferred function
	for {
		f, more := frames.Next()
		if !more || !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}

// bound is the namespace to which a value is bound: none, if it is too long for an envelope.
func bound(namespace string) string {
	if !store.FitsEnvelope("", namespace) {
		return ""
	}
	return namespace
}

// plain is what is encoded.
func (p *slot) plain() []byte {
	switch {
	case p.text != nil:
		return []byte(p.wasText)
	case p.number == nil:
		return p.wasData
	}
	return store.WithCodec(p.wasData, p.wasNumber)
}

// put puts the encoded value into its place.
func (p *slot) put(v *store.Payload) error {
	if !store.FitsEnvelope(v.Key, "") {
		return fmt.Errorf("%w: the codec's name of a key has %d bytes; at most %d are allowed", store.ErrInvalid, len(v.Key), store.MaxCodecKey)
	}
	e := store.Envelope{Key: v.Key, Namespace: v.Namespace, Args: p.hash, Body: v.Stored}
	switch {
	case p.text != nil:
		*p.text = store.SealedText(e.Bytes())
	case p.number == nil && p.purpose == store.PurposeLog:
		*p.data = e.Bytes()
	case p.number == nil:
		*p.data = store.SealedJSON(e.Bytes())
	default:
		*p.data, *p.number = e.Bytes(), store.SealedCodec
	}
	return nil
}

// restore puts back what was there.
func (s *sealing) restore() {
	for i := range s.slots {
		p := &s.slots[i]
		switch {
		case p.text != nil:
			*p.text = p.wasText
		default:
			if *p.data = p.wasData; p.number != nil {
				*p.number = p.wasNumber
			}
		}
	}
	for _, v := range slices.Backward(s.undo) {
		v()
	}
	s.slots, s.undo = nil, nil
}

package sealed

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// opening is what one call decodes.
type opening struct {
	codec store.Codec
	slots []sealedSlot
}

// sealedSlot is the place of a sealed value in an answer.
type sealedSlot struct {
	store.Payload

	data   *[]byte
	number *int
	text   *string
	isLog  bool
	// foreign: the value belongs to another namespace than the answer.
	foreign bool
}

// add lets a value with a number be decoded, if it is sealed.
func (o *opening) add(purpose store.Purpose, namespace string, data *[]byte, number *int) {
	switch {
	case *number != store.SealedCodec:
		return
	case *data == nil: // a list leaves it out
		*number = 0
		return
	}
	e, ok := store.ParseEnvelope(*data)
	if !ok {
		*number = store.DamagedCodec
		return
	}
	o.put(purpose, namespace, &e, sealedSlot{data: data, number: number})
}

// addJSON lets a value be decoded that is JSON.
func (o *opening) addJSON(purpose store.Purpose, namespace string, data *[]byte) {
	envelope, number, ok := store.OpenSealedJSON(*data)
	if !ok || number != store.SealedCodec {
		return
	}
	e, _ := store.ParseEnvelope(envelope)
	o.put(purpose, namespace, &e, sealedSlot{data: data})
}

// addText lets a text be decoded.
func (o *opening) addText(purpose store.Purpose, namespace string, text *string) {
	envelope, ok := store.OpenSealedText(*text)
	if !ok {
		return
	}
	e, _ := store.ParseEnvelope(envelope)
	o.put(purpose, namespace, &e, sealedSlot{text: text})
}

// addLog lets lines be decoded.
func (o *opening) addLog(namespace string, lines *[]byte) {
	if e, ok := store.ParseEnvelope(*lines); ok {
		o.put(store.PurposeLog, namespace, &e, sealedSlot{data: lines, isLog: true})
	}
}

func (o *opening) put(purpose store.Purpose, namespace string, e *store.Envelope, s sealedSlot) {
	s.Payload = store.Payload{Purpose: purpose, Namespace: e.Namespace, Key: e.Key, Stored: e.Body}
	s.foreign = namespace != "" && e.Namespace != "" && bound(namespace) != e.Namespace
	o.slots = append(o.slots, s)
}

// open decodes the values. What cannot be decoded stays as it is. The error is why the codec has
// failed, if it has said neither that a key is missing nor that a value is damaged.
func (o *opening) open(ctx context.Context) (failed error) {
	if len(o.slots) == 0 {
		return nil
	}
	list := make([]*store.Payload, len(o.slots))
	for i := range o.slots {
		list[i] = &o.slots[i].Payload
	}
	err := guarded(func() error { return o.codec.Decode(ctx, list) })
	failed = err
	for i := range o.slots {
		if own := o.slots[i].Err; err == nil && !isKnown(own) {
			failed = own
		}
		o.slots[i].settle(err)
	}
	return failed
}

// isKnown reports whether an error of a value, or none, is one that its reader is told.
func isKnown(err error) bool {
	_, isMissing := errors.AsType[*store.MissingKeyError](err)
	_, isDamaged := errors.AsType[*store.DamagedError](err)
	return err == nil || isMissing || isDamaged
}

// settle puts the decoded value into its place, or notes that it is damaged. err is that of all
// values.
func (s *sealedSlot) settle(err error) {
	if err == nil {
		err = s.Err
	}
	data, number, ok := s.Plain, 0, true
	if err == nil && s.number != nil {
		data, number, ok = store.CutCodec(s.Plain)
	}
	switch _, isDamaged := errors.AsType[*store.DamagedError](err); {
	case isDamaged || s.foreign || !ok:
		s.damage()
	case err != nil: // the key is missing
	case s.text != nil:
		*s.text = string(data)
	default:
		if *s.data = slices.Clip(data); s.number != nil {
			*s.number = number
		}
	}
}

// damage notes that the value is damaged.
func (s *sealedSlot) damage() {
	switch {
	case s.text != nil, s.isLog: // it says so itself
	case s.number != nil:
		*s.number = store.DamagedCodec
	default:
		*s.data = store.Damaged(*s.data)
	}
}

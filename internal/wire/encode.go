package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
)

// Encode returns a value as JSON. The error is ErrInvalid for what cannot travel: functions,
// channels, and what is nested too deeply.
func Encode(v any) ([]byte, error) {
	e := &encoder{}
	if err := e.value(reflect.ValueOf(v), 0); err != nil {
		return nil, err
	}
	return e.out, nil
}

type encoder struct{ out []byte }

func cannot(t reflect.Type) error {
	return fmt.Errorf("%w: a value of type %s cannot be sent to a server", store.ErrInvalid, t)
}

func (e *encoder) value(v reflect.Value, depth int) error {
	if !v.IsValid() {
		e.add("null")
		return nil
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: the value is nested more than %d deep", store.ErrInvalid, maxDepth)
	}
	t := v.Type()
	switch {
	case t == timeType:
		e.time(v.Interface().(time.Time)) //nolint:errcheck,forcetypeassert // its type is known
		return nil
	case t == idType:
		e.text(v.Interface().(store.ID).String()) //nolint:errcheck,forcetypeassert // its type is known
		return nil
	case t == errorType:
		return e.error(v, depth)
	case isBytes(t):
		return e.bytes(v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		switch {
		case v.IsNil():
			e.add("null")
			return nil
		case canBeNull(v.Type().Elem()) && v.Elem().IsNil():
			e.add(nothing)
			return nil
		}
		return e.value(v.Elem(), depth)
	case reflect.Struct:
		return e.fields(v, depth)
	case reflect.Slice, reflect.Array:
		return e.list(v, depth)
	case reflect.Map:
		return e.pairs(v, depth)
	default:
		return e.scalar(v)
	}
}

// nothing is what a pointer to an empty list, or map, that is nil is sent as: null is a pointer
// that is nil itself, which means that nothing was said.
const nothing = `{"nil":true}`

// canBeNull reports whether there is a value of a type that is sent as null.
func canBeNull(t reflect.Type) bool { return t.Kind() == reflect.Slice || t.Kind() == reflect.Map }

func (e *encoder) scalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case reflect.Int8, reflect.Int16, reflect.Int32:
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case reflect.Int, reflect.Int64:
		e.text(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case reflect.Uint, reflect.Uint64:
		e.text(strconv.FormatUint(v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			e.text(strconv.FormatFloat(f, 'g', -1, 64))
		} else {
			e.out = strconv.AppendFloat(e.out, f, 'g', -1, 64)
		}
	case reflect.String:
		e.text(v.String())
	default:
		return cannot(v.Type())
	}
	return nil
}

func (e *encoder) add(s string) { e.out = append(e.out, s...) }

// text adds a text. Which bytes it has is part of some values: attributes have it in their order.
func (e *encoder) text(s string) {
	if !utf8.ValidString(s) {
		e.add(`{"base64":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}`)
		return
	}
	quoted, _ := json.Marshal(s) //nolint:errchkjson // a text that is UTF-8 always can be
	e.out = append(e.out, quoted...)
}

// time adds a time. One whose year has not four digits is not RFC 3339, and no store takes it,
// which is for the store to say: it is sent as "@SECONDS.NANOSECONDS" since 1970.
func (e *encoder) time(t time.Time) {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		e.text(fmt.Sprintf("@%d.%09d", t.Unix(), t.Nanosecond()))
		return
	}
	e.text(t.Format(time.RFC3339Nano))
}

func (e *encoder) bytes(v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		e.add("null")
		return nil
	}
	raw := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(raw), v)
	e.text(base64.StdEncoding.EncodeToString(raw))
	return nil
}

func (e *encoder) fields(v reflect.Value, depth int) error {
	e.add("{")
	first := true
	for _, f := range fieldsOf(v.Type()) {
		of := v.Field(f.index)
		if of.IsZero() {
			continue
		}
		if !first {
			e.add(",")
		}
		first = false
		e.text(f.name)
		e.add(":")
		if err := e.value(of, depth+1); err != nil {
			return err
		}
	}
	e.add("}")
	return nil
}

func (e *encoder) list(v reflect.Value, depth int) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		e.add("null")
		return nil
	}
	e.add("[")
	for i := range v.Len() {
		if i > 0 {
			e.add(",")
		}
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	e.add("]")
	return nil
}

// pairs adds a map: [[key, value], …], so that keys may be of any type and have any bytes.
func (e *encoder) pairs(v reflect.Value, depth int) error {
	if v.IsNil() {
		e.add("null")
		return nil
	}
	e.add("[")
	for i, pairs := 0, v.MapRange(); pairs.Next(); i++ {
		if i > 0 {
			e.add(",")
		}
		e.add("[")
		if err := e.value(pairs.Key(), depth+2); err != nil {
			return err
		}
		e.add(",")
		if err := e.value(pairs.Value(), depth+2); err != nil {
			return err
		}
		e.add("]")
	}
	e.add("]")
	return nil
}

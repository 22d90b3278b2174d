package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Decode sets what a pointer points to from JSON that Encode has made, of this version or of
// another one. The error is ErrInvalid.
func Decode(data []byte, to any) error {
	if err := bounded(data); err != nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var tree any
	if err := in.Decode(&tree); err != nil {
		return fmt.Errorf("%w: not JSON: %w", store.ErrInvalid, err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something comes after the JSON", store.ErrInvalid)
	}
	target := reflect.ValueOf(to).Elem()
	target.SetZero()
	return (&decoder{}).value(tree, target, 0)
}

type decoder struct{ memory uintptr }

func wrong(from any, t reflect.Type) error {
	return fmt.Errorf("%w: %.60q is no %s", store.ErrInvalid, fmt.Sprint(from), t)
}

// take counts what is about to be made.
func (d *decoder) take(n int, t reflect.Type) error {
	d.memory += uintptr(n) * (t.Size() + 8)
	if d.memory > maxMemory {
		return fmt.Errorf("%w: the value is too large", store.ErrInvalid)
	}
	return nil
}

func (d *decoder) value(from any, to reflect.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: the value is nested more than %d deep", store.ErrInvalid, maxDepth)
	}
	t := to.Type()
	switch {
	case from == nil:
		return nil
	case t == timeType:
		return d.time(from, to)
	case t == idType:
		return d.id(from, to)
	case t == errorType:
		return d.error(from, to, depth)
	case isBytes(t):
		return d.bytes(from, to)
	}
	switch t.Kind() {
	case reflect.Pointer:
		if err := d.take(1, t.Elem()); err != nil {
			return err
		}
		to.Set(reflect.New(t.Elem()))
		if object, ok := from.(map[string]any); ok && canBeNull(t.Elem()) && object["nil"] == true {
			return nil // nothing
		}
		return d.value(from, to.Elem(), depth)
	case reflect.Struct:
		return d.fields(from, to, depth)
	case reflect.Slice, reflect.Array:
		return d.list(from, to, depth)
	case reflect.Map:
		return d.pairs(from, to, depth)
	default:
		return d.scalar(from, to)
	}
}

func (d *decoder) scalar(from any, to reflect.Value) error {
	if flag, ok := from.(bool); ok && to.Kind() == reflect.Bool {
		to.SetBool(flag)
		return nil
	}
	if to.Kind() == reflect.String {
		return d.text(from, to)
	}
	var number string
	switch n := from.(type) {
	case json.Number:
		number = n.String()
	case string:
		number = n
	default:
		return wrong(from, to.Type())
	}
	switch {
	case to.CanInt():
		if n, err := strconv.ParseInt(number, 10, to.Type().Bits()); err == nil {
			to.SetInt(n)
			return nil
		}
	case to.CanUint():
		if n, err := strconv.ParseUint(number, 10, to.Type().Bits()); err == nil {
			to.SetUint(n)
			return nil
		}
	case to.CanFloat():
		if f, err := strconv.ParseFloat(number, to.Type().Bits()); err == nil {
			to.SetFloat(f)
			return nil
		}
	}
	return wrong(from, to.Type())
}

func (d *decoder) text(from any, to reflect.Value) error {
	switch s := from.(type) {
	case string:
		to.SetString(s)
		return nil
	case map[string]any:
		if coded, ok := s["base64"].(string); ok {
			if raw, err := base64.StdEncoding.DecodeString(coded); err == nil {
				to.SetString(string(raw))
				return nil
			}
		}
	}
	return wrong(from, to.Type())
}

func (d *decoder) time(from any, to reflect.Value) error {
	s, _ := from.(string)
	at, err := time.Parse(time.RFC3339Nano, s)
	if seconds, isFar := strings.CutPrefix(s, "@"); isFar {
		at, err = far(seconds)
	}
	if err != nil {
		return wrong(from, to.Type())
	}
	to.Set(reflect.ValueOf(at.UTC()))
	return nil
}

// far is a time as SECONDS.NANOSECONDS since 1970.
func far(text string) (time.Time, error) {
	seconds, nanos, _ := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	n, wrong := strconv.ParseUint(nanos, 10, 30)
	return time.Unix(s, int64(n)), errors.Join(err, wrong)
}

func (d *decoder) id(from any, to reflect.Value) error {
	s, _ := from.(string)
	var id store.ID
	if len(s) != 36 || id.UnmarshalText([]byte(s)) != nil {
		return wrong(from, to.Type())
	}
	to.Set(reflect.ValueOf(id))
	return nil
}

func (d *decoder) bytes(from any, to reflect.Value) error {
	s, ok := from.(string)
	raw, err := base64.StdEncoding.DecodeString(s)
	if !ok || err != nil {
		return wrong(from, to.Type())
	}
	if to.Kind() == reflect.Slice {
		to.SetBytes(raw)
		return nil
	}
	if len(raw) != to.Len() {
		return wrong(from, to.Type())
	}
	reflect.Copy(to, reflect.ValueOf(raw))
	return nil
}

func (d *decoder) fields(from any, to reflect.Value, depth int) error {
	object, ok := from.(map[string]any)
	if !ok {
		return wrong(from, to.Type())
	}
	for _, f := range fieldsOf(to.Type()) {
		of, there := object[f.name]
		if !there {
			continue
		}
		if err := d.value(of, to.Field(f.index), depth+1); err != nil {
			return fmt.Errorf("%w (in %s)", err, f.name)
		}
	}
	return nil
}

func (d *decoder) list(from any, to reflect.Value, depth int) error {
	list, ok := from.([]any)
	if !ok || to.Kind() == reflect.Array && len(list) != to.Len() {
		return wrong(from, to.Type())
	}
	if to.Kind() == reflect.Slice {
		if err := d.take(len(list), to.Type().Elem()); err != nil {
			return err
		}
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
	}
	for i, v := range list {
		if err := d.value(v, to.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) pairs(from any, to reflect.Value, depth int) error {
	list, ok := from.([]any)
	if !ok {
		return wrong(from, to.Type())
	}
	t := to.Type()
	if err := errors.Join(d.take(len(list), t.Key()), d.take(len(list), t.Elem())); err != nil {
		return err
	}
	to.Set(reflect.MakeMap(t))
	for _, entry := range list {
		pair, ok := entry.([]any)
		if !ok || len(pair) != 2 {
			return wrong(entry, t)
		}
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		if err := d.value(pair[0], key, depth+2); err != nil {
			return err
		}
		if err := d.value(pair[1], value, depth+2); err != nil {
			return err
		}
		to.SetMapIndex(key, value)
	}
	return nil
}

package output

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
)

var rawType = reflect.TypeFor[json.RawMessage]()

// hider hides in JSON what people are not to see.
type hider func(json []byte) []byte

func (hide hider) of(v reflect.Value) reflect.Value {
	if v.Type() == rawType {
		if v.Len() == 0 {
			return v
		}
		return reflect.ValueOf(json.RawMessage(hide(v.Bytes())))
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(hide.of(v.Elem()))
		return to
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		return hide.of(v.Elem())
	case reflect.Struct:
		return hide.fields(v)
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			to.Index(i).Set(hide.of(v.Index(i)))
		}
		return to
	default:
		return v
	}
}

func (hide hider) fields(v reflect.Value) reflect.Value {
	to := reflect.New(v.Type()).Elem()
	to.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			to.Field(i).Set(hide.of(v.Field(i)))
		}
	}
	return to
}

type hidingLines struct {
	to     io.Writer
	redact func([]byte) []byte
	line   []byte
	hidden int
}

// Hidden is of how many lines something was hidden.
func (w *hidingLines) Hidden() int { return w.hidden }

func (w *hidingLines) Write(data []byte) (int, error) {
	w.line = append(w.line, data...)
	for {
		end := bytes.IndexByte(w.line, '\n')
		if end < 0 {
			return len(data), nil
		}
		shown := w.redact(w.line[:end])
		if !bytes.Equal(shown, w.line[:end]) {
			w.hidden++
		}
		if _, err := w.to.Write(append(bytes.Clone(shown), '\n')); err != nil {
			return 0, err
		}
		w.line = w.line[end+1:]
	}
}

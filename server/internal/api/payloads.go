package api

import (
	"encoding/json"
	"reflect"
)

// hasPayload reports whether an answer has a payload that can be seen: JSON of the user's own.
func hasPayload(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasPayload(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanInterface() && hasPayload(field) { // what is not exported is not answered
				return true
			}
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			if hasPayload(value) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().ConvertibleTo(reflect.TypeFor[json.RawMessage]()) && v.Type().Elem().Kind() == reflect.Uint8 {
			text := string(v.Convert(reflect.TypeFor[json.RawMessage]()).Bytes())
			return text != "" && text != "null" && text != hidden
		}
		for i := range v.Len() {
			if hasPayload(v.Index(i)) {
				return true
			}
		}
	default: // numbers and texts
	}
	return false
}

package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Field describes a field of the args of a kind for users.
type Field struct {
	Name string
	Help string
}

// argsOf are the args of each built-in kind.
var argsOf = map[string]reflect.Type{
	Exec.Name(): reflect.TypeFor[ExecArgs](),
	HTTP.Name(): reflect.TypeFor[HTTPArgs](),
}

// Fields returns the fields of a kind's args in order, or nil if the kind is not built in.
func Fields(kind string) []Field {
	args := argsOf[kind]
	if args == nil {
		return nil
	}
	var fields []Field
	for f := range args.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields = append(fields, Field{Name: name, Help: f.Tag.Get("help")})
		}
	}
	return fields
}

// CheckArgs returns the error that a built-in kind would fail with for args, or nil for other
// kinds.
func CheckArgs(kind string, data []byte) error {
	switch kind {
	case Exec.Name():
		var args ExecArgs
		if err := json.Unmarshal(data, &args); err != nil {
			return err
		}
		return args.check()
	case HTTP.Name():
		var args HTTPArgs
		if err := json.Unmarshal(data, &args); err != nil {
			return err
		}
		_, _, err := args.request("")
		return err
	}
	return nil
}

// wrongArgs explains to users a decoder's error about valid JSON.
func wrongArgs(kind string, err error) error {
	if err == nil {
		return nil
	}
	names := make([]string, 0, 5)
	for _, f := range Fields(kind) {
		names = append(names, f.Name)
	}
	var wrong *json.UnmarshalTypeError
	switch field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case unknown:
		return fmt.Errorf("the args have the unknown field %s; the fields are %s", field, strings.Join(names, ", "))
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("the args are %s; they must be an object with any of the fields %s", aValue(wrong.Value), strings.Join(names, ", "))
	case errors.As(err, &wrong):
		return fmt.Errorf("the field %q is or contains %s; it must be %s", wrong.Field, aValue(wrong.Value), aType(argsOf[kind], wrong.Field))
	}
	return err
}

// aValue names a JSON value.
func aValue(value string) string {
	switch value, _, _ = strings.Cut(value, " "); value {
	case "array":
		return "an array"
	case "object":
		return "an object"
	}
	return "a " + value
}

// aType describes the type that a field must have.
func aType(args reflect.Type, name string) string {
	name, _, _ = strings.Cut(name, ".") // of an object inside it
	for f := range args.Fields() {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			switch f.Type.Kind() { //nolint:exhaustive // those of the fields
			case reflect.Slice:
				return "an array of strings"
			case reflect.Map:
				return "an object of strings"
			}
		}
	}
	return "a string"
}

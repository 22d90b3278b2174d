package wire

import "reflect"

// Names are the different names of a struct's fields.
func Names(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, f := range fieldsOf(t) {
		names[f.name] = true
	}
	return names
}

// TypedNames are the names of the typed errors that travel.
func TypedNames() map[string]bool {
	names := map[string]bool{}
	for _, t := range typed {
		names[t.Name()] = true
	}
	return names
}

// Typed are the typed errors that travel.
func Typed() []reflect.Type { return typed }

// Classes are the classes of errors that travel.
func Classes() []error {
	var list []error
	for _, c := range classes {
		list = append(list, c.err)
	}
	return list
}

package env

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// comparing says when two values are the same. Metadata, the value of a checkpoint and what a run
// waits for are JSON documents, which a database may write in its own way; Args and Result are
// bytes of a codec, which it may not touch.
var comparing = cmp.Options{
	cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) }),
	cmp.FilterPath(isJSON, cmp.Comparer(SameJSON)),
	cmp.FilterPath(isBytes, cmp.Comparer(bytes.Equal)),
	cmp.FilterPath(func(p cmp.Path) bool { return !isJSON(p) && !isBytes(p) }, cmpopts.EquateEmpty()),
}

func isJSON(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && (field.Name() == "Metadata" || field.Name() == "Value" || field.Name() == "For")
}

func isBytes(p cmp.Path) bool { return p.Last().Type() == bytesType && !isJSON(p) }

var bytesType = reflect.TypeFor[[]byte]()

// Difference is cmp.Diff, which is slow, behind a look that is quick.
func Difference(want, got any, opts ...cmp.Option) string {
	if alike(reflect.ValueOf(want), reflect.ValueOf(got)) {
		return ""
	}
	return cmp.Diff(want, got, append(opts, comparing)...)
}

// alike reports whether two values are the same without a closer look. Those of which it says no
// may be the same all the same.
func alike(a, b reflect.Value) bool {
	switch {
	case !a.IsValid():
		return !b.IsValid() || b.Kind() == reflect.Slice && b.Len() == 0 // a list that is written as nil
	case !b.IsValid(), a.Type() != b.Type():
		return false
	case a.Type() == timeType:
		return a.CanInterface() && a.Interface().(time.Time).Equal(b.Interface().(time.Time)) //nolint:errcheck // that is their type
	case a.Type() == bytesType:
		return bytes.Equal(a.Bytes(), b.Bytes())
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !alike(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !alike(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() && b.IsNil()
		}
		return alike(a.Elem(), b.Elem())
	default:
		return a.Comparable() && b.Comparable() && a.Equal(b)
	}
}

var timeType = reflect.TypeFor[time.Time]()

// SameJSON tells whether two documents say the same.
func SameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, okX := decoded(a)
	y, okY := decoded(b)
	if !okX || !okY {
		return bytes.Equal(a, b)
	}
	return cmp.Equal(x, y)
}

// decoded keeps numbers as they are written: a store that rounds those above 2^53 is to be noticed.
func decoded(data []byte) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil
}

// Counted leaves out the states of which there is nothing.
func Counted(q store.Queue) map[store.State]store.Count {
	var counts map[store.State]store.Count
	for state, count := range q.Counts {
		if count != (store.Count{}) {
			if counts == nil {
				counts = map[store.State]store.Count{}
			}
			counts[state] = count
		}
	}
	return counts
}

// AttemptOf is the record that the outcome of a run must leave.
func AttemptOf(run store.Claimed, o *store.Outcome, ended time.Time) store.Attempt {
	return store.Attempt{
		Number: run.Job.Attempt, LeaseNumber: run.Lease.Number, Node: run.Lease.Node, Build: Build,
		ClaimedAt: run.ClaimedAt, StartedAt: o.StartedAt, EndedAt: ended,
		Outcome: o.Final, Reason: o.Reason, Error: o.Error, Trace: o.Trace,
	}
}

// FinishedLease compares leases of finished jobs, of which only the number and the node are told.
var FinishedLease = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Lease" },
	cmp.Comparer(func(a, b store.Lease) bool { return a.Number == b.Number && a.Node == b.Node }))

package wire_test

import (
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	txType      = reflect.TypeFor[store.Tx]()
	errorType   = reflect.TypeFor[error]()
	timeType    = reflect.TypeFor[time.Time]()
	idType      = reflect.TypeFor[store.ID]()
)

// contract returns the types of all that goes into the contract's methods and comes out of them.
func contract() map[reflect.Type]string {
	types := map[reflect.Type]string{}
	of := reflect.TypeFor[store.Store]()
	for m := range of.Methods() {
		for in := range m.Type.Ins() {
			types[in] = m.Name
		}
		for out := range m.Type.Outs() {
			types[out] = m.Name
		}
	}
	for t := range types {
		if t == contextType || t == txType || t == errorType || t.Kind() == reflect.Func {
			delete(types, t)
		}
	}
	return types
}

// fill sets everything in a value, a few levels of lists deep, to something that is not zero.
func fill(t *testing.T, v reflect.Value, seed *int64, depth int) {
	t.Helper()
	*seed++
	switch v.Type() {
	case timeType:
		v.Set(reflect.ValueOf(time.Unix(1e9+*seed, 123456789).UTC()))
		return
	case errorType:
		v.Set(reflect.ValueOf(store.NoQueue("q")))
		return
	}
	switch {
	case v.CanInt():
		v.SetInt(*seed % 100)
		if v.Kind() == reflect.Int64 {
			v.SetInt(math.MaxInt64 - *seed)
		}
	case v.CanUint():
		v.SetUint(uint64(1 + *seed%100))
	case v.CanFloat():
		v.SetFloat(float64(*seed) + 0.25)
	default:
		fillKind(t, v, seed, depth)
	}
}

func fillKind(t *testing.T, v reflect.Value, seed *int64, depth int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("té\x00<\xff" + string(rune('a'+*seed%26)))
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), seed, depth+1)
		}
	case reflect.Slice:
		if depth < 8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(t, v.Index(0), seed, depth+1)
			fill(t, v.Index(1), seed, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), seed, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, seed, depth+1)
		fill(t, value, seed, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				t.Errorf("%s has the field %s, which does not travel", v.Type(), v.Type().Field(i).Name)
				continue
			}
			fill(t, v.Field(i), seed, depth+1)
		}
	case reflect.Func: // checked by TestFunctionsDoNotTravel
	default:
		t.Errorf("a %s does not travel", v.Type())
	}
}

// plain replaces the errors in a value, after it has looked at them, so that what was sent and what
// was received can be compared.
func plain(t *testing.T, v reflect.Value) {
	t.Helper()
	switch {
	case v.Type() == errorType:
		if !v.IsNil() {
			//nolint:errcheck,forcetypeassert // its type is known
			if got := v.Interface().(error).Error(); got != store.NoQueue("q").Error() {
				t.Errorf("an error says %q", got)
			}
			v.Set(reflect.ValueOf(store.ErrNotFound))
		}
	case v.Type() == timeType || v.Type() == idType:
	case v.Kind() == reflect.Pointer && !v.IsNil():
		plain(t, v.Elem())
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				plain(t, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			plain(t, v.Index(i))
		}
	}
}

// hollow makes what pointers point to nothing: zero, or a list that is nil.
func hollow(v reflect.Value) {
	switch {
	case v.Type() == timeType || v.Type() == idType:
	case v.Kind() == reflect.Pointer && !v.IsNil():
		if to := v.Elem(); to.Kind() != reflect.Struct || to.Type() == timeType {
			to.SetZero()
		}
		hollow(v.Elem())
	case v.Kind() == reflect.Struct:
		for _, f := range v.Fields() {
			hollow(f)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			hollow(v.Index(i))
		}
	}
}

// TestContractTravels: all that goes into the contract's methods and comes out of them arrives as
// it was, and so does what says that something is to be nothing, by a pointer to it.
func TestContractTravels(t *testing.T) {
	types := contract()
	if len(types) < 80 {
		t.Fatalf("the contract has only %d types", len(types))
	}
	for typ, method := range types {
		for _, change := range []func(reflect.Value){func(reflect.Value) {}, hollow} {
			want, got := reflect.New(typ), reflect.New(typ)
			seed := int64(0)
			fill(t, want.Elem(), &seed, 0)
			change(want.Elem())
			data, err := wire.Encode(want.Elem().Interface())
			if err == nil {
				err = wire.Decode(data, got.Interface())
			}
			if err != nil {
				t.Errorf("%s of %s: %v", typ, method, err)
				continue
			}
			plain(t, want.Elem())
			plain(t, got.Elem())
			if !reflect.DeepEqual(want.Elem().Interface(), got.Elem().Interface()) {
				t.Errorf("%s of %s:\nsent     %+v\nreceived %+v\n%s", typ, method, want.Elem(), got.Elem(), data)
			}
		}
	}
}

// TestNamesDiffer: two fields of a type never have one name.
func TestNamesDiffer(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		if seen[typ] || typ == timeType {
			return
		}
		seen[typ] = true
		switch typ.Kind() { //nolint:exhaustive // the others have no parts
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			visit(typ.Elem())
		case reflect.Struct:
			if names := wire.Names(typ); len(names) != typ.NumField() {
				t.Errorf("%s has %d fields, and the names %v", typ, typ.NumField(), names)
			}
			for f := range typ.Fields() {
				visit(f.Type)
			}
		}
	}
	for typ := range contract() {
		visit(typ)
	}
	if len(seen) < 100 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

func TestNilAndEmptyDiffer(t *testing.T) {
	type lists struct {
		Nil, Empty           []string
		NilBytes, EmptyBytes []byte
		NilMap, EmptyMap     map[string]int
		NilPointer, Pointer  *time.Duration
	}
	want := lists{Empty: []string{}, EmptyBytes: []byte{}, EmptyMap: map[string]int{}, Pointer: new(time.Duration)}
	var got lists
	data, err := wire.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Decode(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("sent %#v, received %#v", want, got)
	}
}

func TestForm(t *testing.T) {
	job := store.Job{
		ID: store.ID{15: 1}, Namespace: "a", Args: []byte(`{"x":1}`),
		RunAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)),
	}
	data, err := wire.Encode(job)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"00000000-0000-0000-0000-000000000001","namespace":"a","run_at":"2026-01-02T02:04:05.000000006Z",` +
		`"args":"eyJ4IjoxfQ=="}`
	var a, b map[string]any
	mustJSON(t, data, &a)
	mustJSON(t, []byte(want), &b)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	batch, err := wire.Encode(store.Start{Node: 1 << 60, Seq: 2})
	if err != nil || string(batch) != `{"node":"1152921504606846976","seq":"2"}` {
		t.Errorf("got %s, %v", batch, err)
	}
}

// TestTimes: all of them travel, those too that no store takes.
func TestTimes(t *testing.T) {
	for _, want := range []time.Time{
		{},
		time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC),
		time.Date(10000, 1, 1, 0, 0, 0, 5, time.UTC),
		time.Date(-5, 1, 1, 0, 0, 0, 999999999, time.UTC),
		time.Unix(1<<55, 1),
	} {
		var got struct{ At time.Time }
		data, err := wire.Encode(struct{ At time.Time }{want})
		if err == nil {
			err = wire.Decode(data, &got)
		}
		if err != nil || !got.At.Equal(want) {
			t.Errorf("sent %v, received %v, %v: %s", want, got.At, err, data)
		}
	}
	for _, text := range []string{`"@"`, `"@1"`, `"@x.1"`, `"@1.x"`, `"@1.-5"`} {
		var at time.Time
		if err := wire.Decode([]byte(text), &at); err == nil {
			t.Errorf("%s is %v", text, at)
		}
	}
}

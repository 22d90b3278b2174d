package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

func mustJSON(t *testing.T, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

func send(t *testing.T, err error) error {
	t.Helper()
	type answer struct{ Err error }
	data, failed := wire.Encode(answer{err})
	if failed != nil {
		t.Fatal(failed)
	}
	var got answer
	if err := wire.Decode(data, &got); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return got.Err
}

func TestClassesTravel(t *testing.T) {
	for _, of := range wire.Classes() {
		got := send(t, fmt.Errorf("so: %w", of))
		if got.Error() != "so: "+of.Error() {
			t.Errorf("%v says %q", of, got)
		}
		for _, class := range wire.Classes() {
			if errors.Is(got, class) != errors.Is(of, class) {
				t.Errorf("%v: errors.Is(%v) is %t", of, class, errors.Is(got, class))
			}
		}
	}
	if send(t, nil) != nil {
		t.Error("no error became one")
	}
}

func TestTypedErrorsTravel(t *testing.T) {
	for _, typ := range wire.Typed() {
		want := reflect.New(typ)
		seed := int64(0)
		fill(t, want.Elem(), &seed, 0)
		sent := fmt.Errorf("so: %w", want.Interface().(error)) //nolint:errcheck,forcetypeassert // all of them are errors
		got := send(t, sent)
		if got.Error() != sent.Error() {
			t.Errorf("%s says %q, not %q", typ, got, sent)
		}
		for _, class := range wire.Classes() {
			if errors.Is(got, class) != errors.Is(sent, class) {
				t.Errorf("%s: errors.Is(%v) is %t", typ, class, errors.Is(got, class))
			}
		}
		found := reflect.New(reflect.PointerTo(typ))
		if !errors.As(got, found.Interface()) {
			t.Errorf("%s: errors.As does not find it", typ)
			continue
		}
		plain(t, want)
		plain(t, found.Elem())
		if !reflect.DeepEqual(want.Interface(), found.Elem().Interface()) {
			t.Errorf("%s: sent %+v, received %+v", typ, want.Elem(), found.Elem().Elem())
		}
	}
}

// TestAllErrorsTravel finds the errors in the source of package store.
func TestAllErrorsTravel(t *testing.T) {
	types, vars := declared(t)
	if len(types) < 8 || len(vars) < 12 {
		t.Fatalf("found only %v and %v", types, vars)
	}
	names := wire.TypedNames()
	for name := range types {
		if !names[name] {
			t.Errorf("the error %s does not travel: add it to typed", name)
		}
	}
	// Two of the classes are the context's.
	if known := len(wire.Classes()) - 2; known != len(vars) {
		t.Errorf("package store has the classes %v, and %d of them travel", vars, known)
	}
}

// declared returns the exported types with a method Error, and the variables named Err….
func declared(t *testing.T) (types, vars map[string]bool) {
	t.Helper()
	types, vars = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("../../store/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.Name == "Error" && d.Recv != nil {
					of := d.Recv.List[0].Type
					if star, ok := of.(*ast.StarExpr); ok {
						of = star.X
					}
					if id, ok := of.(*ast.Ident); ok && id.IsExported() {
						types[id.Name] = true
					}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && strings.HasPrefix(v.Names[0].Name, "Err") {
						vars[v.Names[0].Name] = true
					}
				}
			}
		}
	}
	return types, vars
}

func TestFunctionsDoNotTravel(t *testing.T) {
	_, err := wire.Encode(store.RetryParams{Keep: func(store.Journal) (int64, error) { return 0, nil }})
	if !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, text := range []string{
		``, `{`, `[]`, `{"id":1}`, `{"id":"x"}`, `{"args":"*"}`, `{"priority":"x"}`, `{"run_at":"today"}`, `{} {}`,
		`{"id":"urn:uuid:00000000-0000-0000-0000-000000000001"}`, `{"namespace":{"base64":1}}`,
		strings.Repeat("[", 1000), `{"tags":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		`{"tags":[` + strings.Repeat("0,", 5<<20) + `0]}`,
	} {
		var job store.Job
		if err := wire.Decode([]byte(text), &job); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%.80s: got %v", text, err)
		}
	}
	var many []store.Record
	if err := wire.Decode([]byte("["+strings.Repeat("{},", 3<<20)+"{}]"), &many); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a list that takes too much memory: %v", err)
	}
	var job store.Job
	if err := wire.Decode([]byte(`{"namespace":"a","later":[{"x":{}}]}`), &job); err != nil || job.Namespace != "a" {
		t.Errorf("an unknown field: %v, %+v", err, job)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"enqueues":[{"job":{"id":"00000000-0000-0000-0000-000000000001"},"err":{"text":"x","is":["busy"]}}]}`))
	f.Add([]byte(`{"enqueues":[{"err":{"details":{"refused_error":{"first":{"text":"x"}},"encode_error":{}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second store.Batch
		if wire.Decode(data, &first) != nil {
			return
		}
		for _, e := range first.Enqueues {
			if e != nil && e.Err != nil {
				_ = fmt.Sprint(e.Err, errors.Is(e.Err, store.ErrBusy))
			}
		}
		again, err := wire.Encode(first)
		if err != nil {
			t.Fatalf("what was read cannot be sent: %v", err)
		}
		if err := wire.Decode(again, &second); err != nil {
			t.Fatalf("what was sent cannot be read: %v\n%s", err, again)
		}
	})
}

package gateway

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// TestEachMethodIsSomewhere: each method of the contract is in exactly one list, so that a server
// that only reads never has a new one that writes, and that a new one is served.
func TestEachMethodIsSomewhere(t *testing.T) {
	known := map[string]int{}
	for _, name := range slices.Concat(keys(reads), keys(writes), elsewhere) {
		known[name]++
	}
	served := methods()
	for m := range reflect.TypeFor[store.Store]().Methods() {
		if known[m.Name] != 1 {
			t.Errorf("%s is in %d of the lists reads, writes and elsewhere", m.Name, known[m.Name])
		}
		delete(known, m.Name)
		if is := served[wire.Path(m.Name)[len(wire.Prefix):]] != nil; is == slices.Contains(elsewhere, m.Name) {
			t.Errorf("%s: it is %t that it is served", m.Name, is)
		}
	}
	for name := range known {
		t.Errorf("the contract has no method %s", name)
	}
	if len(served) != len(reads)+len(writes) {
		t.Errorf("%d methods have %d paths", len(reads)+len(writes), len(served))
	}
	for _, list := range []map[string]any{reads, writes} {
		for name, method := range list {
			if is := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name(); !strings.HasSuffix(is, "."+name) {
				t.Errorf("%s calls %s", name, is)
			}
		}
	}
}

func keys(of map[string]any) []string { return slices.Collect(maps.Keys(of)) }

// TestPlainMethods: what is called by reflection has a form that travels: a context, at most four
// plain parameters, and at most two answers and an error.
func TestPlainMethods(t *testing.T) {
	tx := reflect.TypeFor[store.Tx]()
	for m := range reflect.TypeFor[store.Store]().Methods() {
		if slices.Contains(elsewhere, m.Name) || special[m.Name] != nil {
			continue
		}
		if n := m.Type.NumIn() - 1; n > len(names) {
			t.Errorf("%s has %d parameters", m.Name, n)
		}
		if n := m.Type.NumOut() - 1; n > 2 || m.Type.Out(n) != reflect.TypeFor[error]() {
			t.Errorf("%s has %d answers, or no error", m.Name, n)
		}
		for in := range m.Type.Ins() {
			if in == tx || in.Kind() == reflect.Pointer || in.Kind() == reflect.Func {
				t.Errorf("%s has a %s: it may set something in it, and needs to be special", m.Name, in)
			}
		}
	}
}

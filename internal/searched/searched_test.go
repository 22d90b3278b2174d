package searched_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/searched"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestCheckReadsWhatItMust: what is declared is read once while it holds, at once for a name that
// is not known, and again after ten seconds.
func TestCheckReadsWhatItMust(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	st := faults.Wrap(model.New(func() time.Time { return now }), nil)
	declare := func(name string, typ store.AttributeType) {
		t.Helper()
		err := st.DeclareAttributes(t.Context(), store.DeclareAttributesParams{
			Namespace: "n", Attributes: []store.DeclaredAttribute{{Name: name, Type: typ}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	declare("a", store.AttributeKeyword)
	declare("n", store.AttributeInt)
	r := searched.New(st)
	check := func(name string, reads int, want error) {
		t.Helper()
		before := st.Calls("DeclaredAttributes")
		err := r.Check(t.Context(), "n", []store.Attribute{{Name: name, Value: store.KeywordValue("x")}}, false)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if got := st.Calls("DeclaredAttributes") - before; got != reads {
			t.Errorf("%s: %d reads, want %d", name, got, reads)
		}
	}
	if err := r.Check(t.Context(), "n", nil, false); err != nil || st.Calls("DeclaredAttributes") != 0 {
		t.Errorf("of nothing: %v", err)
	}
	check("a", 1, nil)
	check("a", 0, nil)
	check("b", 1, store.ErrInvalid)
	declare("b", store.AttributeKeyword)
	check("b", 1, nil)
	if _, err := st.RemoveAttribute(t.Context(), store.RemoveAttributeParams{Namespace: "n", Name: "a", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(9 * time.Second)
	check("a", 0, nil)
	now = now.Add(time.Second)
	check("a", 1, store.ErrInvalid)
	now = now.Add(-time.Hour)
	check("b", 1, nil)
	wrong := []store.Attribute{{Name: "b", Value: store.IntValue(1)}}
	if err := r.Check(t.Context(), "n", wrong, false); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("another type: %v", err)
	}
	if err := r.Check(t.Context(), "n", []store.Attribute{{Name: "b"}}, true); err != nil {
		t.Errorf("one to unset: %v", err)
	}
	for range 2 { // what was read holds, and is looked at before it is read again
		text := []store.Attribute{{Name: "n", Value: store.TextValue("many")}}
		if err := r.Check(t.Context(), "n", text, true); !errors.Is(err, store.ErrInvalid) || text[0].Value != store.TextValue("many") {
			t.Errorf("a text that is no number: %v, %v", text[0].Value, err)
		}
	}
	if err := r.Check(t.Context(), "other", []store.Attribute{{Name: "b"}}, true); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("of another namespace: %v", err)
	}
}

package store_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestAHiddenValueIsRead: JSON of a job in which a value was hidden is still read.
func TestAHiddenValueIsRead(t *testing.T) {
	var r store.Record
	doc := `{"attributes":{"api_token":"[redacted]","n":{"type":"int","text":"7"}}}`
	if err := json.Unmarshal([]byte(doc), &r); err != nil {
		t.Fatal(err)
	}
	want := []store.Attribute{{Name: "api_token", Value: store.KeywordValue("[redacted]")}, {Name: "n", Value: store.IntValue(7)}}
	if !slices.Equal(r.Attributes, want) {
		t.Errorf("%+v", r.Attributes)
	}
}

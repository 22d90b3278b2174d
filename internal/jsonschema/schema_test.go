package jsonschema

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"testing"
	"time"
)

type node struct {
	Name     string           `json:"name"`
	Children []node           `json:"children,omitempty"`
	Parent   *node            `json:"parent,omitzero"`
	ByName   map[string]*node `json:"by_name"`
}

type base struct {
	ID   int64  `json:"id"`
	Note string `json:"note,omitempty"`
}

type Maybe struct {
	Level uint8
}

type mail struct {
	base
	*Maybe

	To       []string           `json:"to" description:"whom it is for"`
	At       time.Time          `json:"at,omitzero"`
	Wait     time.Duration      `json:"wait"`
	Body     []byte             `json:"body"`
	Raw      json.RawMessage    `json:"raw"`
	Any      any                `json:"any"`
	Ratio    float64            `json:",omitempty"` //nolint:tagliatelle // without a name
	Quoted   int                `json:"quoted,string"`
	Hidden   string             `json:"-"`
	Dash     string             `json:"-,"`  //nolint:staticcheck // odd, and allowed
	Odd      string             `json:"a'b"` //nolint:staticcheck // is no name
	Point    [2]float32         `json:"point"`
	Flag     *bool              `json:"flag"`
	Address  netip.Addr         `json:"address"`
	Large    *big.Int           `json:"large"`
	Anything struct{ X, Y int } `json:"anything"`
	secret   string
}

type left struct{ Both, Same, Tagged string }

type right struct {
	Both   int
	Same   string
	Tagged int `json:"Tagged"` //nolint:tagliatelle // that of the other struct
}

type both struct {
	left
	right
	Same bool
}

type list[T any] struct{ Items []T }

// TestOf is the table of what types become.
func TestOf(t *testing.T) {
	const dialect = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	for _, c := range []struct {
		of   any
		want string
	}{
		{true, `{` + dialect + `,"type":"boolean"}`},
		{"", `{` + dialect + `,"type":"string"}`},
		{uint16(0), `{` + dialect + `,"type":"integer","minimum":0}`},
		{[]byte{}, `{` + dialect + `,"type":["string","null"],"contentEncoding":"base64"}`},
		{struct{}{}, `{` + dialect + `,"type":"object"}`},
		{map[string]int{}, `{` + dialect + `,"type":["object","null"],"additionalProperties":{"type":"integer"}}`},
		{time.Time{}, `{` + dialect + `,"type":"string","format":"date-time"}`},
		{json.RawMessage{}, `{` + dialect + `}`},
		{node{}, `{` + dialect + `,"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{` +
			`"by_name":{"type":["object","null"],"additionalProperties":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},` +
			`"children":{"type":["array","null"],"items":{"$ref":"#/$defs/node"}},"name":{"type":"string"},` +
			`"parent":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["by_name","name"]}}}`},
		{both{}, `{` + dialect + `,"$ref":"#/$defs/both","$defs":{"both":{"type":"object","properties":{` +
			`"Same":{"type":"boolean"},"Tagged":{"type":"integer"}},"required":["Same","Tagged"]}}}`},
		{[]list[node]{}, `{` + dialect + `,"type":["array","null"],` +
			`"items":{"$ref":"#/$defs/list_github_com_holdfastdev_holdfast_internal_jsonschema_node_"},` +
			`"$defs":{"list_github_com_holdfastdev_holdfast_internal_jsonschema_node_":{"type":"object","properties":{` +
			`"Items":{"type":["array","null"],"items":{"$ref":"#/$defs/node"}}},"required":["Items"]},"node":{"type":"object","properties":{` +
			`"by_name":{"type":["object","null"],"additionalProperties":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},` +
			`"children":{"type":["array","null"],"items":{"$ref":"#/$defs/node"}},"name":{"type":"string"},` +
			`"parent":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}},"required":["by_name","name"]}}}`},
		{mail{}, `{` + dialect + `,"$ref":"#/$defs/mail","$defs":{"mail":{"type":"object","properties":{` +
			`"-":{"type":"string"},"Level":{"type":"integer","minimum":0},"Odd":{"type":"string"},"Ratio":{"type":"number"},` +
			`"address":{"type":"string"},"any":{},"anything":{"type":"object","properties":{"X":{"type":"integer"},"Y":{"type":"integer"}},` +
			`"required":["X","Y"]},"at":{"type":"string","format":"date-time"},"body":{"type":["string","null"],"contentEncoding":"base64"},` +
			`"flag":{"type":["boolean","null"]},"id":{"type":"integer"},"large":{},"note":{"type":"string"},` +
			`"point":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2},"quoted":{"type":"string"},"raw":{},` +
			`"to":{"type":["array","null"],"items":{"type":"string"},"description":"whom it is for"},"wait":{"type":"integer"}},` +
			`"required":["-","Odd","address","any","anything","body","flag","id","large","point","quoted","raw","to","wait"]}}}`},
	} {
		got, err := json.Marshal(Of(reflect.TypeOf(c.of)))
		if err != nil || string(got) != c.want {
			t.Errorf("%T: %v\n%s\nnot\n%s", c.of, err, got, c.want)
		}
	}
	_ = mail{secret: ""}.secret
}

// TestFieldsAreThoseOfJSON: the fields of a schema are those that encoding/json writes.
func TestFieldsAreThoseOfJSON(t *testing.T) {
	yes := true
	for _, v := range []any{
		mail{Maybe: &Maybe{}, Flag: &yes, Ratio: 1, At: time.Unix(1, 0), base: base{Note: "n"}, Raw: json.RawMessage("1")},
		both{},
		node{Children: []node{{}}, Parent: &node{}},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var written map[string]any
		if err := json.Unmarshal(text, &written); err != nil {
			t.Fatal(err)
		}
		s := Of(reflect.TypeOf(v))
		fields := s.Defs[reflect.TypeOf(v).Name()].Properties
		for name := range written {
			if fields[name] == nil {
				t.Errorf("%T: the schema has no field %q", v, name)
			}
		}
		for name := range fields {
			if _, ok := written[name]; !ok {
				t.Errorf("%T: the schema has a field %q, which is not written", v, name)
			}
		}
	}
}

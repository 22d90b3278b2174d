package lists

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var matchTests = env.Tests{
	"a_path_selects_by_what_is_there":                  matchPaths,
	"the_same_holds_for_metadata":                      matchMetadata,
	"args_that_are_no_JSON_match_nothing":              matchCodecs,
	"several_matches_have_to_fit_with_everything_else": matchAll,
}

// document has what paths may lead to.
const document = `{
	"name": "ada", "none": null, "yes": true, "n": 1, "price": 19.90, "tiny": 1e-9, "huge": 123456789012345678901234567890,
	"far": 1e400, "dotted.name": "d", "a/b": {"~": "s"}, "": "empty",
	"customer": {"city": "Paris", "tags": ["x", "y"], "at": {"lat": 48.85, "lon": 2.35}},
	"items": [{"sku": "a-1", "n": 2}, {"sku": "b-2", "n": [1, [2, 3]]}], "empty": [], "twice": 1, "twice": 2, "text": "\u0041\u00e9"
}`

// matching says which values are at which paths of the document, and which are not.
var matching = []struct {
	path, value string
	fits        bool
}{
	{"name", `"ada"`, true},
	{"name", `"Ada"`, false},
	{"name.first", `"a"`, false},
	{"yes", `true`, true},
	{"yes", `1`, false},
	{"customer.city", `"Paris"`, true},
	{"customer.at", `{"lon": 2.350, "lat": 48.85}`, true},
	{"customer.at", `{"lat": 48.85}`, false},
	{"customer.tags", `["x","y"]`, true},
	{"customer.tags", `["y","x"]`, false},
	{"customer.tags.1", `"y"`, true},
	{"customer.tags.2", `null`, true},
	{"customer.tags.01", `"y"`, false},
	{"items.0.sku", `"a-1"`, true},
	{"items.1.n.1.0", `2`, true},
	{"items.1.n", `[1,[2,3]]`, true},
	{"items.1.n", `[1,[3,2]]`, false},
	{"items.-1.sku", `"b-2"`, false},
	{"items.sku", `"a-1"`, false},
	{"empty", `[]`, true},
	{"empty", `{}`, false},
	{"text", `"A\u00E9"`, true},
	{"twice", `2`, true},
	{"twice", `1`, false},
	// Numbers are what they say, however they are written, and however large they are.
	{"n", `1.0`, true},
	{"n", `10e-1`, true},
	{"n", `"1"`, false},
	{"price", `19.9`, true},
	{"price", `19.900000000000002`, false},
	{"tiny", `0.000000001`, true},
	{"huge", `123456789012345678901234567890`, true},
	{"huge", `1.23456789012345678901234567890e29`, true},
	{"huge", `123456789012345678901234567891`, false},
	{"far", `10E+399`, true},
	{"far", `1e401`, false},
	{"far", `1e9999999999999999999999`, false},
	{"n", `-1`, false},
	// What is missing counts as null.
	{"missing", `null`, true},
	{"missing.deeper", `null`, true},
	{"missing", `0`, false},
	{"none", `null`, true},
	{"none", `false`, false},
	{"name", `null`, false},
	// Pointers are for names that contain dots.
	{"/dotted.name", `"d"`, true},
	{"dotted.name", `"d"`, false},
	{"/a~1b/~0", `"s"`, true},
	{"/items/1/sku", `"b-2"`, true},
	{"/", `"empty"`, true},
}

func matchPaths(e *env.Env) {
	id := e.Add(func(q *store.Enqueue) { q.Job.Args = []byte(document) })
	for _, c := range matching {
		var want []store.ID
		if c.fits {
			want = []store.ID{id}
		}
		wantListed(e, c.path+" = "+c.value, store.Filter{Args: []store.Match{{Path: c.path, Value: []byte(c.value)}}}, want...)
	}
}

// matchMetadata: a database may write metadata in its own way, which is none of the matches'
// business.
func matchMetadata(e *env.Env) {
	id := e.Add(func(q *store.Enqueue) { q.Job.Metadata = []byte(document) })
	bare := e.Add()
	for _, c := range matching {
		var want []store.ID
		if c.fits {
			want = append(want, id)
		}
		if c.value == "null" {
			want = append(want, bare)
		}
		wantListed(e, c.path+" = "+c.value, store.Filter{Metadata: []store.Match{{Path: c.path, Value: []byte(c.value)}}}, want...)
	}
}

func matchCodecs(e *env.Env) {
	e.Add(func(q *store.Enqueue) { q.Job.Args, q.Job.Codec = []byte(`{"a":1}`), 3 })
	e.Add(func(q *store.Enqueue) { q.Job.Args = []byte(`{"a":1`) })
	e.Add(func(q *store.Enqueue) { q.Job.Args = []byte("\xff\x00") })
	list := e.Add(func(q *store.Enqueue) { q.Job.Args = []byte(`[7]`) })
	word := e.Add(func(q *store.Enqueue) { q.Job.Args = []byte(`"a"`) })
	match := func(path, value string) store.Filter {
		return store.Filter{Args: []store.Match{{Path: path, Value: []byte(value)}}}
	}
	wantListed(e, "a field", match("a", "1"))
	wantListed(e, "a field that is missing", match("b", "null"), list, word)
	wantListed(e, "an element", match("0", "7"), list)
}

func matchAll(e *env.Env) {
	var ids []store.ID
	for i := range 6 {
		ids = append(ids, e.Add(env.Queue([]string{"mail", "b"}[i%2]), func(q *store.Enqueue) {
			q.Job.Args = []byte(`{"i":` + string(rune('0'+i%3)) + `}`)
			if i < 3 {
				q.Job.Metadata = []byte(`{"tenant":"acme","n":` + string(rune('0'+i)) + `}`)
			}
		}))
	}
	acme := store.Match{Path: "tenant", Value: []byte(`"acme"`)}
	wantListed(e, "metadata", store.Filter{Metadata: []store.Match{acme}}, ids[:3]...)
	wantListed(e, "twice metadata", store.Filter{Metadata: []store.Match{acme, {Path: "n", Value: []byte("1")}}}, ids[1])
	wantListed(e, "args too", store.Filter{Metadata: []store.Match{acme}, Args: []store.Match{{Path: "i", Value: []byte("2.0")}}}, ids[2])
	wantListed(e, "in a queue", store.Filter{Args: []store.Match{{Path: "i", Value: []byte("0")}}, Queues: []string{"b"}}, ids[3])
	wantListed(e, "in a state", store.Filter{
		Args: []store.Match{{Path: "i", Value: []byte("0")}}, States: []store.State{store.Available},
	}, ids[0], ids[3])
}

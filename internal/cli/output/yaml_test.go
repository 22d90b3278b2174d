package output

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestYAML: values as they are printed. What PyYAML, which knows YAML 1.1, reads from these is the
// JSON that they were made of.
func TestYAML(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{}`:                   "{}\n",
		`[]`:                   "[]\n",
		`null`:                 "null\n",
		`true`:                 "true\n",
		`"x"`:                  "x\n",
		`"a\nb"`:               `"a\nb"` + "\n",
		`[1,[2,[]],{"a":[3]}]`: "- 1\n- - 2\n  - []\n- a:\n    - 3\n",
		`{"b":1,"a":{"c":null,"d":{}},"l":[{"x":1,"z":2},{"x":3}]}`: "b: 1\na:\n  c: null\n  d: {}\nl:\n  - x: 1\n    z: 2\n  - x: 3\n",
		`[1e5,1E+2,-0.5e-7,12345678901234567890,-0,1.5]`:            "- 1.0e+5\n- 1.0e+2\n- -0.5e-7\n- 12345678901234567890\n- -0\n- 1.5\n",
		`["yes","No","null","~","y","e5","1e5","0x1","1:30","2026-01-31","","-"]`: "- \"yes\"\n- \"No\"\n- \"null\"\n- \"~\"\n" +
			"- \"y\"\n- \"e5\"\n- \"1e5\"\n- \"0x1\"\n- \"1:30\"\n- \"2026-01-31\"\n- \"\"\n- \"-\"\n",
		`["a b","a: b","a #b","#a","&a","*a","!a","%a","@a","- a","a/b","[a]"]`: "- a b\n- \"a: b\"\n- \"a #b\"\n- \"#a\"\n" +
			"- \"&a\"\n- \"*a\"\n- \"!a\"\n- \"%a\"\n- \"@a\"\n- \"- a\"\n- a/b\n- \"[a]\"\n",
		`{"on":1,"a b":2,"":3,"7":4}`:            "\"on\": 1\na b: 2\n\"\": 3\n\"7\": 4\n",
		`{"t":"a\nb"}`:                           "t: |-\n  a\n  b\n",
		`{"t":"a\n  b\n"}`:                       "t: |\n  a\n    b\n",
		`{"t":"a\n\nb\n\n\n","u":1}`:             "t: |+\n  a\n\n  b\n\n\nu: 1\n",
		`{"t":"\n a\nb"}`:                        "t: \"\\n a\\nb\"\n",
		`{"t":"a \nb"}`:                          "t: \"a \\nb\"\n",
		`{"t":"a\r\nb"}`:                         "t: \"a\\r\\nb\"\n",
		`{"t":"\n\n"}`:                           "t: \"\\n\\n\"\n",
		`["goroutine 1:\n\tmain.go:7 +0x1"]`:     "- |-\n  goroutine 1:\n  \tmain.go:7 +0x1\n",
		`["\u001b[31m","\u009b","\u202e","\ta"]`: "- \"\\u001b[31m\"\n- \"\\u009b\"\n- \"\\u202e\"\n- \"\\ta\"\n",
		`["é","日本","😀","\udb40\udc41","\\\""]`:   "- \"é\"\n- \"日本\"\n- \"😀\"\n- \"\\U000e0041\"\n- \"\\\\\\\"\"\n",
	} {
		got, err := yamlOf([]byte(in))
		if err != nil || got != want {
			t.Errorf("%s is\n%s, %v, want\n%s", in, got, err, want)
		}
	}
	long := bytes.Repeat([]byte("k"), 2000)
	got, err := yamlOf([]byte(`{"a":{"` + string(long) + `":[1]}}`))
	if want := "a:\n  ? " + string(long) + "\n  :\n    - 1\n"; err != nil || got != want {
		t.Errorf("a long name is %.40q, %v", got, err)
	}
}

// TestYAMLOfListsAndObjects: a list is one document, an empty one too, and one that breaks off
// cannot be read.
func TestYAMLOfListsAndObjects(t *testing.T) {
	t.Parallel()
	type item struct {
		ID   int      `json:"id"`
		Tags []string `json:"tags"`
	}
	for _, test := range []struct {
		items []item
		ends  func(*List) error
		want  string
	}{
		{nil, (*List).End, "[]\n"},
		{[]item{{1, []string{"a"}}, {2, nil}}, (*List).End, "- id: 1\n  tags:\n    - a\n- id: 2\n  tags: null\n"},
		{[]item{{1, []string{}}}, func(l *List) error { _ = l.BreakOff(nil); return nil }, "- id: 1\n  tags: []\n[\n"},
		{nil, func(l *List) error { _ = l.BreakOff(nil); return nil }, "[\n"},
	} {
		var out bytes.Buffer
		p := NewPrinter(&out, false)
		p.Asked = FormatYAML
		l := p.NewList()
		for _, i := range test.items {
			if err := l.Add(i, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := test.ends(l); err != nil {
			t.Fatal(err)
		}
		if _ = p.Flush(); out.String() != test.want {
			t.Errorf("%v is\n%s, want\n%s", test.items, out.String(), test.want)
		}
	}
	var out bytes.Buffer
	p := NewPrinter(&out, false)
	p.Asked = FormatYAML
	if err := p.Object(map[string]json.RawMessage{"a": json.RawMessage(`{"b": 1}`)}, nil); err != nil {
		t.Fatal(err)
	}
	if _ = p.Flush(); out.String() != "a:\n  b: 1\n" {
		t.Errorf("an object is %q", out.String())
	}
}

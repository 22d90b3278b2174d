package builtin

import (
	"strings"
	"testing"
)

func TestArgsInWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, args, want string }{
		{"exec", `{"command":["true"],"dir":"/","env":{"A":"b"},"stdin":"x"}`, ""},
		{"exec", `{}`, `exec: the args have no command; write them like {"command":["gzip","-kf","big.log"]}`},
		{"exec", `null`, "exec: the args have no command"},
		{"exec", `{"cmd":["true"]}`, `exec: the args have the unknown field "cmd"; the fields are command, dir, env, stdin`},
		{"exec", `{"command":"true"}`, `exec: the field "command" is or contains a string; it must be an array of strings`},
		{"exec", `{"command":["sleep",5]}`, `exec: the field "command" is or contains a number; it must be an array of strings`},
		{"exec", `{"command":["true"],"env":{"A":1}}`, `it must be an object of strings`},
		{"exec", `{"command":["true"],"dir":[]}`, `exec: the field "dir" is or contains an array; it must be a string`},
		{"exec", `["true"]`, "exec: the args are an array; they must be an object with any of the fields command, dir, env, stdin"},
		{"exec", `"true"`, "exec: the args are a string; they must be an object"},
		{"http", `{"url":"https://example.com"}`, ""},
		{"http", `{"uri":"https://example.com"}`, `the args have the unknown field "uri"; the fields are method, url, headers, body, timeout`},
		{"http", `{}`, `the args have no url; write them like {"url":"https://example.com/"}`},
		{"http", `{"url":"https://example.com","timeout":10}`, `the field "timeout" is or contains a number; it must be a string`},
		{"http", `{"url":"https://example.com","headers":[]}`, `it must be an object of strings`},
		{"mail", `{"what":"ever"}`, ""},
	} {
		err := CheckArgs(test.kind, []byte(test.args))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s %s: %v, want %q", test.kind, test.args, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), "json") || strings.Contains(err.Error(), "Go ")) {
			t.Errorf("%s %s: not for people: %v", test.kind, test.args, err)
		}
	}
}

// TestFields: each field of the args is described.
func TestFields(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]int{"exec": 4, "http": 5, "mail": 0} {
		fields := Fields(kind)
		if len(fields) != want {
			t.Errorf("%s has the fields %v", kind, fields)
		}
		for _, f := range fields {
			if f.Help == "" {
				t.Errorf("%s of %s says nothing", f.Name, kind)
			}
		}
	}
}

package subprocess

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse: whatever a process writes is understood as one message or refused with a reason, and
// what is understood is about a run.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		`{"type":"progress","run":"1","percent":1e308,"message":"x"}`, `{"type":"heartbeat","run":"1"}`,
		`{"type":"log","run":"1","level":"warn","message":"m","attrs":{"a":[1,{"b":null}]}}`,
		`{"type":"result","run":"1","result":{"a":"\u0000"}}`, `{"type":"error","run":"1","error":"x","permanent":true}`,
		`{"type":"error","run":"1","retry_after":"1m"}`, `{"type":"snooze","run":"1","for":"1s"}`, `{"type":"snooze","run":"1","for":"-1s"}`,
		`{"type":"result","run":"1"} {}`, `null`, `[]`, `"x"`, ``, `{`, "\xff", `{"type":"result","run":"1","RESULT":1,"result":2}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err != nil {
			if text := wrongLine(line, err).Error(); !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Errorf("the error is no text: %q", text)
			}
			return
		}
		if m.run == "" || !json.Valid(line) {
			t.Errorf("%q was understood", line)
		}
		switch is := m.is.(type) {
		case *failure:
			if is.after < 0 {
				t.Errorf("after %v", is.after)
			}
		case *snooze:
			if is.wait < 0 {
				t.Errorf("for %v", is.wait)
			}
		}
	})
}

// TestLinesAreLines: whatever the args of a job hold, they are one line.
func TestLinesAreLines(t *testing.T) {
	t.Parallel()
	line, err := encode(runLine{Args: json.RawMessage("{\n\"a\": \"\\n\u2028\"\n}"), Tags: []string{"a\nb"}})
	if err != nil || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
		t.Errorf("%q, %v", line, err)
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`resize=python3 resize.py`:    {"resize", "python3", "resize.py"},
		" a = x  \t y ":               {"a", "x", "y"},
		`a='x y' "z w"u`:              {"a", "x y", "z wu"},
		`a=x '' ""`:                   {"a", "x", "", ""},
		`a=x\ y "\"" '\'`:             {"a", "x y", `"`, `\`},
		`a=env A=b sh -c 'echo "$A"'`: {"a", "env", "A=b", "sh", "-c", `echo "$A"`},
		"a=x\n\"y\nz\"":               {"a", "x", "y\nz"},
		`resize`:                      nil,
		`=x`:                          nil,
		`a=`:                          nil,
		`a='' x`:                      nil,
		`a=x 'y`:                      nil,
		`a=x "y\"`:                    nil,
		`a=x \`:                       nil,
		"a=x\x00":                     nil,
	} {
		c, err := Parse(text)
		if (err == nil) != (want != nil) || err == nil && !slices.Equal(append([]string{c.Kind}, c.Command...), want) {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// TestLongErrorLines are cut.
func TestLongErrorLines(t *testing.T) {
	t.Parallel()
	var log lockedText
	s := newStderr(nil, discard())
	s.run = textLog(&log)
	for range 3 {
		s.took([]byte(strings.Repeat("x", maxErrorLine)))
	}
	s.took([]byte("\nü\xff\r\n\nend"))
	s.flush()
	want := "msg=" + strings.Repeat("x", maxErrorLine) + "…\nmsg=\"ü\uFFFD\"\nmsg=end\n"
	if got := strings.ReplaceAll(log.String(), "level=INFO ", ""); got != want {
		t.Errorf("%d bytes: %.100q … %q", len(got), got, got[max(len(got)-60, 0):])
	}
	if got := text(s.quoted); len(s.quoted) != maxQuote || !strings.HasSuffix(got, "end") {
		t.Errorf("%d bytes: %q", len(s.quoted), got)
	}
}

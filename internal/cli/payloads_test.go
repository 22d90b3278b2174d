package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile makes a file with new keys of those names.
func keyFile(t *testing.T, s *shell, names ...string) string {
	t.Helper()
	var lines []string
	for _, name := range names {
		line := strings.TrimSpace(s.ok("codec", "new-key", name))
		if !strings.HasPrefix(line, name+":") {
			t.Fatalf("the key %s is %q", name, line)
		}
		lines = append(lines, line)
	}
	path := filepath.Join(t.TempDir(), "codec.keys")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEncryptedPayloads: what is enqueued with keys is shown with them, and without them it is said
// with which one it is encrypted.
func TestEncryptedPayloads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		keys := keyFile(t, s, "k2", "k1")
		id := strings.TrimSpace(s.ok("job", "enqueue", "mail", "--args", `{"to":"ada"}`, "--codec-keys", keys, "-q"))
		for name, c := range map[string]struct {
			args []string
			want string
		}{
			"with the keys":             {[]string{"-o", "json", "--codec-keys", keys}, `"to": "ada"`},
			"as a table":                {[]string{"-o", "table", "--codec-keys", keys}, `{"to":"ada"}`},
			"without a key":             {[]string{"-o", "json"}, `"encrypted_with": "k2"`},
			"without a key, as a table": {[]string{"-o", "table"}, `encrypted with key "k2"`},
		} {
			if text := s.ok(append([]string{"job", "get", id}, c.args...)...); !strings.Contains(text, c.want) {
				t.Errorf("%s: %q is missing in\n%s", name, c.want, text)
			}
		}
		if text := s.ok("job", "list", "-o", "jsonl"); strings.Contains(text, `"to"`) || !strings.Contains(text, `{"encrypted_with":"k2"}`) {
			t.Errorf("the list:\n%s", text)
		}
		if o := s.run("job", "list", "--args", "to=ada", "--codec-keys", keys); o.code == 0 ||
			!strings.Contains(o.stderr, "not found by their args") {
			t.Errorf("by args: %+v", o)
		}
		bad := filepath.Join(t.TempDir(), "bad.keys")
		if err := os.WriteFile(bad, []byte("k1:c2VjcmV0"), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := s.run("job", "get", id, "--codec-keys", bad); o.code != 64 || !strings.Contains(o.stderr, "--codec-keys") ||
			strings.Contains(o.stderr, "c2VjcmV0") {
			t.Errorf("a key that is too short: %+v", o)
		}
	})
}

// TestRedactedOutput: what is secret is hidden in each format, unless --redact says otherwise; what
// is stored, and started over, is not.
func TestRedactedOutput(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		id := strings.TrimSpace(s.ok("job", "enqueue", "mail", "--args", `{"to":"zoe","api_key":"hunter2"}`, "--metadata",
			`{"token":"hunter2"}`, "-q"))
		for _, format := range []string{"table", "json", "jsonl", "yaml"} {
			text := s.ok("job", "get", id, "-o", format)
			if strings.Contains(text, "hunter2") || strings.Count(text, "[redacted]") != 2 || !strings.Contains(text, "zoe") {
				t.Errorf("get as %s:\n%s", format, text)
			}
			if text := s.ok("job", "get", id, "-o", format, "--redact", "none"); strings.Count(text, "hunter2") != 2 {
				t.Errorf("get of all as %s:\n%s", format, text)
			}
			text = s.ok("job", "list", "-o", format, "--columns", "id,args", "--redact", "default,to")
			if strings.Contains(text, "hunter2") || strings.Contains(text, "zoe") || !strings.Contains(text, "[redacted]") {
				t.Errorf("list as %s:\n%s", format, text)
			}
		}
		if o := s.run("job", "get", id, "--redact", "a..b"); o.code != 64 || !strings.Contains(o.stderr, "--redact") {
			t.Errorf("a wrong rule: %+v", o)
		}
	})
}

// TestExportSaysWhatItHides: who purges afterwards would have lost it.
func TestExportSaysWhatItHides(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	node := s.start("dev")
	for _, args := range []string{`{"command":["false"],"env":{"API_KEY":"hunter2"}}`, `{"command":["false"]}`} {
		s.expect(s.run("job", "wait", s.enqueue("exec", args, "--max-attempts", "1")), 1)
	}
	node.stop(t)
	const note = "Values of 1 of them are hidden, and not in the file; with --redact none all are written."
	hidden := s.run("dead", "export", "--all")
	if hidden.code != 0 || strings.Contains(hidden.stdout, "hunter2") || !strings.Contains(hidden.stderr, note) {
		t.Errorf("%+v", hidden)
	}
	whole := s.run("dead", "export", "--all", "--redact", "none")
	if whole.code != 0 || !strings.Contains(whole.stdout, "hunter2") || strings.Contains(whole.stderr, "hidden") {
		t.Errorf("%+v", whole)
	}
}

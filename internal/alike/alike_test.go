package alike_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/internal/alike"
)

var update = flag.Bool("update", false, "write what the rules make of the errors of testdata/errors.txt now")

const golden = "testdata/errors.txt"

// errors are pairs of lines: an error, and what is left of it behind an arrow.
func errors(tb testing.TB) (pairs [][2]string) {
	tb.Helper()
	f, err := os.Open(golden)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch text, arrow := strings.CutPrefix(line, "    -> "); {
		case arrow:
			pairs[len(pairs)-1][1] = text
		case line != "" && !strings.HasPrefix(line, "#"):
			pairs = append(pairs, [2]string{line, ""})
		}
	}
	return pairs
}

// TestErrors: what the rules make of errors as programs have them. A line that changes is another
// Version of the rules.
func TestErrors(t *testing.T) {
	t.Parallel()
	pairs := errors(t)
	if *update {
		var out strings.Builder
		fmt.Fprintf(&out, "# What the rules of version %d make of errors: written by go test ./internal/alike -update.\n", alike.Version)
		for _, p := range pairs {
			fmt.Fprintf(&out, "\n%s\n    -> %s\n", p[0], alike.Text(p[0]))
		}
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(pairs) < 60 {
		t.Fatalf("only %d errors", len(pairs))
	}
	head, err := os.ReadFile(golden)
	if want := fmt.Sprintf("# What the rules of version %d ", alike.Version); err != nil || !strings.HasPrefix(string(head), want) {
		t.Errorf("the errors are not those of version %d: %v", alike.Version, err)
	}
	for _, p := range pairs {
		if got := alike.Text(p[0]); got != p[1] {
			t.Errorf("%s\n\tis  %s\n\tnot %s", p[0], got, p[1])
		}
		if got := alike.Text(p[1]); got != p[1] {
			t.Errorf("%s\n\tbecomes %s", p[1], got)
		}
	}
}

// TestAlike: errors of one kind of failure are alike, and those of two are not.
func TestAlike(t *testing.T) {
	t.Parallel()
	groups := [][]string{
		{"order 17: not found", "order 4711: not found", "\n  order   5: not found\nand a second line"},
		{"dial tcp 10.0.0.7:443: connect: connection refused", "dial tcp [fe80::1%eth0]:443: connect: connection refused"},
		{"dial tcp 10.0.0.7:443: i/o timeout"},
		{"status 404", "\tstatus 404 "},
		{"status 500"},
		{`duplicate key value violates unique constraint "users_email_key" (SQLSTATE 23505)`},
		{`duplicate key value violates unique constraint "users_name_key" (SQLSTATE 23505)`},
		{"job 01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64 has ended", "job 0193aaaa-7c2a-7b51-9a0e-3f1d5c8e2b65 has ended"},
		{""},
	}
	seen := map[string]int{}
	for i, group := range groups {
		for _, text := range group {
			is := alike.Text(text)
			if of, has := seen[is]; has && of != i {
				t.Errorf("%q and %q are alike: %s", text, groups[of][0], is)
			}
			if seen[is] = i; is != alike.Text(group[0]) {
				t.Errorf("%q and %q are not alike: %s", text, group[0], is)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	for _, p := range errors(f) {
		f.Add(p[0])
		f.Add(p[1])
	}
	for _, text := range []string{
		"\xff\x00\"", "``'''\"\"", strings.Repeat("1:", 3000), strings.Repeat("ä ", 3000), strings.Repeat("'", 5000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := alike.Text(text)
		if again := alike.Text(once); again != once {
			t.Fatalf("%q becomes %q and then %q", text, once, again)
		}
		if len(once) > alike.MaxBytes || !utf8.ValidString(once) || strings.ContainsAny(once, "\r\n\t") {
			t.Fatalf("%q becomes %q of %d bytes", text, once, len(once))
		}
	})
}

func BenchmarkText(b *testing.B) {
	pairs := errors(b)
	for i := 0; b.Loop(); i++ {
		alike.Text(pairs[i%len(pairs)][0])
	}
}

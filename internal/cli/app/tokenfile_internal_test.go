package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTokenFile: a token that was renewed is used at once, and the one of before while the file
// cannot be read.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	f := &tokenFile{path: filepath.Join(t.TempDir(), "token")}
	if _, err := f.token(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("without a file: %v", err)
	}
	at := time.Now()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Second) // as if it had been written then
		if err := os.Chtimes(f.path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(" \n")
	if _, err := f.token(); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("of an empty file: %v", err)
	}
	is := func(want string) {
		t.Helper()
		if got, err := f.token(); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	write("first\n")
	is("first")
	write("other\n") // as long
	is("other")
	write("")
	is("other")
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	is("other")
	write("third")
	is("third")
}

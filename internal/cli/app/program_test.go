package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramIsCalledAgain: as it was called, or by a shorter name if that is enough.
func TestProgramIsCalledAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	installed := filepath.Join(dir, "holdfast")
	if err := os.WriteFile(installed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "holdfast")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inPath := func(string) (string, error) { return installed, nil }
	nowhere := func(string) (string, error) { return "", errors.New("it is not in the path") }
	hash := strings.Repeat("0123456789abcdef", 4)
	run := GoRun + packageOf()
	for _, test := range []struct {
		called string
		look   func(string) (string, error)
		want   string
	}{
		{"holdfast", inPath, "holdfast"},
		{installed, inPath, "holdfast"},
		{installed, nowhere, installed},
		{other, inPath, other},
		{"./holdfast", nowhere, "./holdfast"},
		{"/with space/holdfast", nowhere, "'/with space/holdfast'"},
		{"/tmp/go-build808313448/b001/exe/holdfast", nowhere, run},
		{"/home/me/.cache/go-build/3c/" + hash + "-d/holdfast", nowhere, run},
		{"/elsewhere/3c/" + hash + "-d/holdfast", nowhere, run},
	} {
		if got := ProgramOf(test.called, test.look); got != test.want {
			t.Errorf("%s is called %s, not %s", test.called, got, test.want)
		}
	}
}

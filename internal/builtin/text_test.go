package builtin

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestTail compares the tail with the end of everything that was written.
func TestTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		writes := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 30)).Draw(t, "writes")
		kept, all := newTail(limit), []byte(nil)
		for _, w := range writes {
			if n, err := kept.Write(w); n != len(w) || err != nil {
				t.Fatalf("Write: %d, %v", n, err)
			}
			all = append(all, w...)
		}
		want := all[max(len(all)-limit, 0):]
		if string(kept.kept) != string(want) {
			t.Fatalf("kept %q of %q, want %q", kept.kept, all, want)
		}
		if kept.cut != (len(all) > limit) {
			t.Fatalf("cut is %t after %d bytes", kept.cut, len(all))
		}
		if s := kept.String(); !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Fatalf("%q is not printable", s)
		}
	})
}

func TestTailBeginsWithARune(t *testing.T) {
	t.Parallel()
	kept := newTail(4)
	_, _ = kept.Write([]byte("aé€b")) // 1, 2, 3 and 1 bytes
	if got := kept.String(); got != "€b" {
		t.Errorf("%q", got)
	}
	kept = newTail(3)
	_, _ = kept.Write([]byte("aé€b"))
	if got := kept.String(); got != "b" {
		t.Errorf("%q", got)
	}
	if got := last("  aé€b\n", 3); got != "…b" {
		t.Errorf("%q", got)
	}
}

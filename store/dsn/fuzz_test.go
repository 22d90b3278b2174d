package dsn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// FuzzParse checks that no text causes a panic, and that all errors are ErrInvalid.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "holdfast.db", "sqlite:x?poll=1s", "postgres://u:p@h:1,g:2/db?schema=x", "host=h user='a b' password=\\", "C:\\x", "::", "a?=&",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source, err := dsn.Parse(text)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		_ = source.String()
	})
}

// FuzzPassword checks that no part of a password is shown or taken for a file name, however
// malformed the text is. between are characters that people put into passwords.
func FuzzPassword(f *testing.F) {
	for _, between := range []string{"", "/", "?", "#", "@", ":", "%", "%zz", " ", "'", `\`, "&", "[", "\n", "é"} {
		f.Add("postgres://u", between, "h/db", false)
		f.Add("postgres://u@h?x=", between, "h", false)
		f.Add("my_app", between, "h:5432/db?sslmode=no", false)
		f.Add("host=h port=x user=u", between, "", true)
	}
	f.Add("h.00=0 ", "0", "=", false)
	f.Add("a=0 b", "", "=1 c", false)
	const first, second = "SECRET1", "SECRET2"
	f.Fuzz(func(t *testing.T, before, between, after string, keywords bool) {
		password := first + between + second
		text := before + ":" + password + "@" + after
		if keywords {
			text = before + " password=" + password + " " + after
		}
		ends := "=" // a keyword
		if strings.Contains(before, "=") {
			ends += " \t\n\r\v\f" // a value
		}
		if !strings.Contains(before, "://") && (strings.ContainsAny(between, ends) || strings.ContainsAny(before+after, `'\`)) {
			t.Skip() // then the rest may be the value of another keyword
		}
		if isFile(strings.TrimSpace(text)) {
			t.Skip()
		}
		source, err := dsn.Parse(text)
		if err != nil {
			hides(t, text, err.Error())
			return
		}
		config, ok := source.(postgres.Config)
		if !ok {
			t.Fatalf("%q is taken for a file: %s", text, source)
		}
		hides(t, text, config.String())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if st, err := config.Open(ctx); err != nil {
			hides(t, text, err.Error())
		} else {
			_ = st.Close()
		}
	})
}

// isFile reports whether a text is explicitly a file.
func isFile(text string) bool {
	return strings.HasPrefix(text, "/") || strings.HasPrefix(text, ".") || strings.HasPrefix(strings.ToLower(text), "sqlite:") ||
		len(text) > 2 && text[1] == ':'
}

func hides(t *testing.T, text, shown string) {
	t.Helper()
	if strings.Contains(shown, "SECRET") {
		t.Errorf("of %q is shown: %s", text, shown)
	}
}

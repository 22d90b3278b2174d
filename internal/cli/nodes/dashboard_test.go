package nodes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/server"
)

// TestLogo: a picture is read up to what one may have, however much there is.
func TestLogo(t *testing.T) {
	t.Parallel()
	file := func(size int64) string {
		name := filepath.Join(t.TempDir(), "logo.svg")
		if err := os.WriteFile(name, []byte("<svg/>"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil { // what is not written takes no place
			t.Fatal(err)
		}
		return name
	}
	for _, c := range []struct{ logo, words string }{
		{file(6), ""},
		{file(64 << 10), ""},
		{file(64<<10 + 1), "65537 bytes, more than 65536"},
		{file(1 << 40), "1099511627776 bytes, more than 65536"},
		{"/dev/zero", "more than 65536"},
		{t.TempDir(), "is a directory"},
		{"/no/such/file", "no such file"},
	} {
		var o server.Options
		f := dashboardFlags{dashboard: true, logo: c.logo}
		err := verbs{&app.App{}}.readDashboard(&f, &o)
		if (err == nil) != (c.words == "") || err != nil && (!strings.Contains(err.Error(), c.words) || !strings.Contains(err.Error(), "logo")) {
			t.Errorf("%s: %v, want %q", c.logo, err, c.words)
		}
		if len(f.look.Logo) > 64<<10+1 {
			t.Errorf("%s: %d bytes were read", c.logo, len(f.look.Logo))
		}
	}
}

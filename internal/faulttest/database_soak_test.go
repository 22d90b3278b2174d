//go:build soak

package faulttest

import (
	"net/url"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// with returns an address with one more setting.
func with(t *testing.T, address, key, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	settings := u.Query()
	settings.Set(key, value)
	u.RawQuery = settings.Encode()
	return u.String()
}
